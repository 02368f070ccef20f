// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.Transaction;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.Limits;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The rule that is for a descriptor or a request, and what it charges. Nothing has been charged
 * yet. Immutable and thread-safe.
 *
 * @param line where the rule starts in the file, from 1
 * @param verdict whether the limits decide
 * @param charges the limits in the order of the rule; those in shadow are charged apart, so that a
 *     trial cannot refuse what the others let through. Empty also where every limit is skipped
 * @param replaces the names of limits that other descriptors of the request are not charged
 */
public record RuleMatch(
    int line, Verdict verdict, List<RuleCharge> charges, List<String> replaces) {

  /** What a rule does with what it is for. */
  public enum Verdict {
    /** Its limits decide. */
    CHARGES,
    /** Everything passes, and nothing is charged. */
    UNLIMITED,
    /** Nothing passes, and nothing is charged. */
    DENIES
  }

  /**
   * Makes a match.
   *
   * @param line from 1
   * @param verdict whether the limits decide
   * @param charges copied
   * @param replaces copied
   */
  public RuleMatch {
    charges = List.copyOf(charges);
    replaces = List.copyOf(replaces);
  }

  /** Joined with the rule that another reading of the same request finds: the stricter one wins. */
  RuleMatch with(RuleMatch other) {
    Verdict both = verdict == other.verdict ? verdict : Verdict.CHARGES;
    boolean denies = verdict == Verdict.DENIES || other.verdict == Verdict.DENIES;
    List<RuleCharge> all =
        Stream.concat(charges.stream(), other.charges.stream()).distinct().toList();
    return new RuleMatch(line, denies ? Verdict.DENIES : both, denies ? List.of() : all, replaces);
  }

  /**
   * Returns what is charged together, all or nothing: one transaction for each bucket, at the
   * highest cost where two limits of the rule meet.
   *
   * @param limits the limits from which the rule book came
   * @param hits how often the request counts, not negative
   * @return the transactions of the limits that are not in shadow
   * @throws dev.sluice.limit.InvalidRequestException as {@link RuleCharge#transaction(Limits,
   *     long)}
   */
  public List<Transaction> enforced(Limits limits, long hits) {
    return transactions(limits, hits, false);
  }

  /**
   * Returns what is charged in shadow, each separately. A trial refuses nobody, so one that cannot
   * be charged (its cost is above the burst, its id is not valid) is left out.
   *
   * @param limits the limits from which the rule book came
   * @param hits as above
   * @return the transactions of the limits in shadow
   */
  public List<Transaction> trials(Limits limits, long hits) {
    return transactions(limits, hits, true);
  }

  private List<Transaction> transactions(Limits limits, long hits, boolean shadow) {
    Map<String, Transaction> byBucket = new LinkedHashMap<>();
    for (RuleCharge charge : charges) {
      if (charge.shadow() == shadow) {
        Transaction transaction;
        try {
          transaction = charge.transaction(limits, hits);
        } catch (InvalidRequestException e) {
          if (shadow) {
            continue;
          }
          throw e;
        }
        byBucket.merge(
            transaction.bucketKey(),
            transaction,
            (one, two) -> two.cost() > one.cost() ? two : one);
      }
    }
    return List.copyOf(byBucket.values());
  }
}
