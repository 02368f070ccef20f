// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.Transaction;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleMatch.Excess;
import dev.sluice.rules.RuleMatch.RuleCharge;
import dev.sluice.rules.RuleMatch.Verdict;
import dev.sluice.web.UnusableRequestException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The rule that matches a descriptor or a request, with the rule's charges. The charges have not
 * yet been sent to a store.
 *
 * @param line where the rule starts in the file, from 1
 * @param verdict whether the rule's limits decide, or the rule admits or denies every request
 * @param charges the charges in the order of the rule. The list is empty if each limit is skipped
 *     because the request lacks a value. A limit in shadow mode is charged in a separate call, so
 *     that the limit cannot deny a request that the enforced limits admit
 * @param replaces the names of limits that are not charged for any other descriptor of the request
 */
public record RuleMatch(
    int line, Verdict verdict, List<RuleCharge> charges, List<String> replaces) {

  /** What a rule does with a request or descriptor that it matches. */
  public enum Verdict {
    /** The rule's limits decide whether the request is admitted. */
    CHARGES,
    /** The request is admitted, and nothing is charged. */
    UNLIMITED,
    /** The request is denied, and nothing is charged. */
    DENIES
  }

  /**
   * Makes a match.
   *
   * @param line where the rule starts in the file, from 1
   * @param verdict whether the rule's limits decide, or the rule admits or denies every request
   * @param charges the charges in the order of the rule; copied
   * @param replaces the names of limits that are not charged for any other descriptor of the
   *     request; copied
   */
  public RuleMatch {
    charges = List.copyOf(charges);
    replaces = List.copyOf(replaces);
  }

  /** Joins two interpretations' matches into one match, which gets the stricter verdict. */
  RuleMatch with(RuleMatch other) {
    Verdict both = verdict == other.verdict ? verdict : Verdict.CHARGES;
    boolean denies = verdict == Verdict.DENIES || other.verdict == Verdict.DENIES;
    List<RuleCharge> all =
        Stream.concat(charges.stream(), other.charges.stream()).distinct().toList();
    return new RuleMatch(line, denies ? Verdict.DENIES : both, denies ? List.of() : all, replaces);
  }

  /**
   * Returns the transactions of the enforced limits, to be charged as one atomic batch. Several
   * charges of one bucket become one transaction with the highest of their costs.
   *
   * @param limits the limits with which the rule book was loaded
   * @param hits the number of hits for which the request counts, not negative
   * @return the transactions of the limits that are not in shadow mode
   * @throws dev.sluice.limit.InvalidRequestException under the conditions of {@link
   *     RuleCharge#transaction(Limits, long)}
   */
  public List<Transaction> enforced(Limits limits, long hits) {
    return transactions(limits, hits, false);
  }

  /**
   * Returns the transactions of the limits in shadow mode, to be charged one by one. A transaction
   * with a cost above the burst or with an invalid id is left out, since a limit in shadow mode
   * must not deny a request.
   *
   * @param limits the limits with which the rule book was loaded
   * @param hits the number of hits for which the request counts, not negative
   * @return the transactions of the limits in shadow mode
   */
  public List<Transaction> trials(Limits limits, long hits) {
    return transactions(limits, hits, true);
  }

  /**
   * Returns the exception for the client if {@link #enforced} throws an {@link InvalidIdException},
   * whose message quotes the value. The client must not receive the value, which can come from a
   * proxy.
   *
   * @return the exception, without the value
   */
  public UnusableRequestException unusableId() {
    return new UnusableRequestException(
        "the request has an unusable value for the id that the rule on line %s needs"
            .formatted(line));
  }

  private List<Transaction> transactions(Limits limits, long hits, boolean shadow) {
    List<Transaction> all = new ArrayList<>(charges.size());
    for (RuleCharge charge : charges) {
      if (charge.shadow() == shadow) {
        try {
          all.add(charge.transaction(limits, hits));
        } catch (InvalidRequestException e) {
          if (!shadow) {
            throw e;
          }
        }
      }
    }
    return onePerBucket(all);
  }

  /**
   * Returns one transaction for each bucket: the first one with the bucket's highest cost.
   *
   * @param transactions the transactions of one request
   * @return the transactions, in the order in which their buckets come first
   */
  public static List<Transaction> onePerBucket(List<Transaction> transactions) {
    Map<String, Transaction> byBucket = new LinkedHashMap<>();
    for (Transaction transaction : transactions) {
      byBucket.merge(
          transaction.bucketKey(), transaction, (one, two) -> two.cost() > one.cost() ? two : one);
    }
    return List.copyOf(byBucket.values());
  }

  /**
   * The treatment of a cost that exceeds the tokens in the bucket, for costs that are charged after
   * the work is done. For example, a proxy that charges at the end of a response can no longer
   * withhold the response.
   */
  public enum Excess {
    /** The request is denied and nothing is charged. {@code REJECT} is the default. */
    REJECT,
    /** The request is denied, and the remaining tokens of the bucket are spent. */
    DRAIN,
    /**
     * The whole cost is charged. The bucket owes the tokens that it lacks, at most the {@code debt}
     * of the limit, and requests are denied until the refill has paid them.
     */
    DEBT,
    /**
     * The cost replaces the tokens that the request {@linkplain RuleCharge#call reserved}. Without
     * a reservation, the whole cost is charged as with {@link #DEBT}.
     */
    SETTLE
  }

  /**
   * One limit that a matching rule charges.
   *
   * @param limit the limit's name
   * @param parts the text of each part of the id
   * @param fixedCost the cost in tokens; null if the cost is the number of hits of the request
   * @param shadow whether the limit is in shadow mode: its denials are counted, not enforced
   * @param excess what happens if the cost exceeds the tokens in the bucket
   * @param call the id of the request, with which a later charge settles the cost; null if the
   *     charge reserves nothing
   */
  public record RuleCharge(
      String limit,
      List<String> parts,
      @Nullable Long fixedCost,
      boolean shadow,
      Excess excess,
      @Nullable String call) {

    /**
     * Makes a charge.
     *
     * @param limit the limit's name
     * @param parts the text of each part of the id; copied
     * @param fixedCost the cost in tokens; null if the cost is the number of hits
     * @param shadow whether the limit is in shadow mode
     * @param excess what happens if the cost exceeds the tokens in the bucket
     * @param call the id of the request; null if the charge reserves nothing
     */
    public RuleCharge {
      parts = List.copyOf(parts);
    }

    /**
     * Returns a copy of this charge with a fixed cost.
     *
     * @param tokens the cost
     * @return a new charge
     */
    public RuleCharge costing(long tokens) {
      return new RuleCharge(limit, parts, tokens, shadow, excess, call);
    }

    /**
     * Returns the cost of a request.
     *
     * @param hits the number of hits, not negative; 0 for a request that only checks
     * @return the cost in tokens; always 0 for 0 hits, even if the rule has a fixed cost
     */
    public long cost(long hits) {
      return fixedCost == null || hits == 0 ? hits : fixedCost;
    }

    /**
     * Returns the transaction of this charge with a cost of 1. The transaction is in shadow mode if
     * the charge is in shadow mode. Use this method to set the cost yourself, for example to drain
     * a bucket if the cost exceeds the burst (see {@link #excess}).
     *
     * @param limits the limits with which the rule book was loaded
     * @return the transaction, with a cost of 1
     * @throws dev.sluice.limit.InvalidRequestException.InvalidIdException if the values form no
     *     valid id of this limit
     */
    public Transaction transaction(Limits limits) {
      LimitName name = limits.catalogue().get(limit);
      String id = name.id().join(parts, Strictness.LENIENT);
      Transaction transaction = Transaction.of(limits, limit, id);
      return shadow ? transaction.inShadow() : transaction;
    }

    /**
     * Returns the transaction of this charge with the {@linkplain #cost cost} for a request.
     *
     * @param limits the limits with which the rule book was loaded
     * @param hits the number of hits, not negative; 0 for a request that only checks
     * @return the transaction, with the cost for the given hits
     * @throws InvalidRequestException if the values form no valid id of this limit, or the cost is
     *     above the limit's burst
     */
    public Transaction transaction(Limits limits, long hits) {
      return transaction(limits).withCost(cost(hits));
    }
  }

  /**
   * The charges of a rule, before the rule is applied to a descriptor or a request.
   *
   * @param line where the rule starts in the file, from 1
   * @param verdict whether the rule's limits decide, or the rule admits or denies every request
   * @param limits the limits that the rule charges, in order
   * @param <C> the source of ids and costs
   */
  record RuleCharging<C>(int line, Verdict verdict, List<Charged<C>> limits) {

    /** Computes the cost of a request. */
    interface Cost<C> {

      /** Returns the cost in tokens; null for one token per hit. */
      @Nullable Long of(C context);

      /** Returns the header from which the cost is read; empty for a cost without a header. */
      default String header() {
        return "";
      }
    }

    /**
     * A limit of a rule, with the id template and the cost.
     *
     * @param by the template of the request id; null if the rule reserves no tokens
     */
    record Charged<C>(
        String limit,
        Template<C> id,
        Cost<C> cost,
        boolean shadow,
        Excess excess,
        @Nullable Template<C> by) {

      /** Returns the charge of a request; null if the limit is skipped. */
      @Nullable RuleCharge charge(C context) {
        List<String> texts = id.parts(context);
        return texts == null
            ? null
            : new RuleCharge(limit, texts, cost.of(context), shadow, excess, call(context));
      }

      private @Nullable String call(C context) {
        List<String> parts = by == null ? null : by.parts(context);
        return parts == null ? null : parts.get(0);
      }
    }

    /** Whether every enforced limit, at least one, is skipped for IPv4 clients. */
    boolean skipsIpv4() {
      List<Charged<C>> enforced = limits.stream().filter(one -> !one.shadow()).toList();
      return !enforced.isEmpty() && enforced.stream().allMatch(one -> one.id().skipsIpv4());
    }

    RuleMatch match(C context) {
      List<RuleCharge> charges = new ArrayList<>(limits.size());
      for (Charged<C> charged : limits) {
        RuleCharge charge = charged.charge(context);
        if (charge != null) {
          charges.add(charge);
        }
      }
      return new RuleMatch(line, verdict, charges, List.of());
    }
  }
}
