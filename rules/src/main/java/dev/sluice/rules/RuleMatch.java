// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.Transaction;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleMatch.Excess;
import dev.sluice.rules.RuleMatch.RuleCharge;
import dev.sluice.rules.RuleMatch.Verdict;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

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

  /**
   * The fate of a cost that does not fit, where the work is done already: a proxy that charges when
   * the response has ended cannot take the response back.
   */
  public enum Excess {
    /** The request is denied and charged nothing: the usual. */
    REJECT,
    /** The request is denied, and takes what is left of the bucket. */
    DRAIN,
    /**
     * The whole cost is charged, as far as the limit's {@code debt} allows; the bucket is in debt
     * until it has refilled.
     */
    DEBT
  }

  /**
   * One limit that a matching rule charges. Immutable and thread-safe.
   *
   * @param limit the limit's name
   * @param parts the text of each part of the id
   * @param fixedCost tokens; null where the cost is the number of hits that came with the request
   * @param shadow whether a denial refuses nobody
   * @param excess what happens with a cost that does not fit
   */
  public record RuleCharge(
      String limit, List<String> parts, @Nullable Long fixedCost, boolean shadow, Excess excess) {

    /**
     * Makes a charge.
     *
     * @param limit the limit's name
     * @param parts copied
     * @param fixedCost tokens; null where the cost is the number of hits
     * @param shadow whether a denial refuses nobody
     * @param excess what happens with a cost that does not fit
     */
    public RuleCharge {
      parts = List.copyOf(parts);
    }

    /**
     * Returns what a request costs here.
     *
     * @param hits how often it counts, not negative; 0 for one that only asks
     * @return tokens; 0 for 0 hits, whatever the rule says
     */
    public long cost(long hits) {
      return fixedCost == null || hits == 0 ? hits : fixedCost;
    }

    /**
     * Returns the transaction at a cost of 1, in shadow where the rule says so: for doors that
     * treat a cost above the burst by {@link #excess}.
     *
     * @param limits the limits from which the rule book came
     * @return the transaction
     * @throws dev.sluice.limit.InvalidIdException if a value makes no id of this limit
     */
    public Transaction transaction(Limits limits) {
      LimitName name = limits.catalogue().get(limit);
      String id = name.id().join(parts, Strictness.LENIENT);
      Transaction transaction = Transaction.of(limits, limit, id);
      return shadow ? transaction.inShadow() : transaction;
    }

    /**
     * Returns the transaction at its {@linkplain #cost cost}.
     *
     * @param limits the limits from which the rule book came
     * @param hits as above
     * @return the transaction
     * @throws InvalidRequestException if a value makes no id of this limit, or the cost is above
     *     its burst
     */
    public Transaction transaction(Limits limits, long hits) {
      return transaction(limits).withCost(cost(hits));
    }
  }

  /**
   * The charges of a rule, whatever it is for. Immutable and thread-safe.
   *
   * @param line where the rule starts
   * @param verdict whether its limits decide
   * @param limits in order
   * @param <C> what ids and costs are taken from
   */
  record RuleCharging<C>(int line, Verdict verdict, List<Charged<C>> limits) {

    /** The cost of a request. */
    interface Cost<C> {

      /** Tokens; null for as many as there were hits. */
      @Nullable Long of(C context);
    }

    /** One limit. */
    record Charged<C>(String limit, Template<C> id, Cost<C> cost, boolean shadow, Excess excess) {}

    RuleMatch match(C context) {
      List<RuleCharge> charges = new ArrayList<>(limits.size());
      for (Charged<C> charged : limits) {
        List<String> parts = charged.id.parts(context);
        if (parts != null) {
          charges.add(
              new RuleCharge(
                  charged.limit, parts, charged.cost.of(context), charged.shadow, charged.excess));
        }
      }
      return new RuleMatch(line, verdict, charges, List.of());
    }
  }
}
