// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/*
 * A penalty says that a bucket counts as empty until an instant (docs/decisions/014). The instant
 * is compared with the store's clock, so a plan with a penalized transaction first looks at its
 * buckets: a call that changes nothing and brings the time. Where a penalty denies, the look is the
 * whole answer, and no bucket of the batch was touched. Otherwise the plan goes on as any other
 * one. What was in force then holds to the end of the plan: its part asked the store for nothing.
 *
 * Plans without a penalty, which are nearly all, pay for one look at an empty map.
 */

/**
 * The penalties on the transactions of a plan. Immutable.
 *
 * @param byPlace the penalty of each transaction, null for none; empty if there is none at all
 * @param areInForce whether a look found them in force; else the time decides
 */
record Penalties(List<@Nullable Penalty> byPlace, boolean areInForce) {

  static final Penalties NONE = new Penalties(List.of(), false);

  /** The penalties that an act meets. A reset meets none: it has no answer to tell them in. */
  static Penalties of(Limits limits, Act act, List<Transaction> transactions) {
    if (!limits.hasPenalties() || act == Act.RESET) {
      return NONE;
    }
    List<@Nullable Penalty> byPlace = new ArrayList<>(transactions.size());
    boolean any = false;
    for (Transaction transaction : transactions) {
      Penalty penalty = of(limits, transaction);
      any |= penalty != null;
      byPlace.add(penalty);
    }
    return any ? new Penalties(byPlace, false) : NONE;
  }

  /** A trial has a bucket of its own, and a quota of the caller a name of its own. */
  static @Nullable Penalty of(Limits limits, Transaction transaction) {
    return Plan.limiting(transaction) == null
            || transaction.isShadow()
            || transaction.terms().ofCaller()
        ? null
        : limits.penaltyFor(transaction.name(), transaction.id());
  }

  boolean isEmpty() {
    return byPlace.isEmpty();
  }

  /** The penalty that a transaction meets at a time, null for none. */
  @Nullable Penalty at(int place, long nowNanos) {
    Penalty penalty = isEmpty() ? null : byPlace.get(place);
    return penalty != null && (areInForce || penalty.holdsAt(nowNanos)) ? penalty : null;
  }

  /** Whether a transaction that meets a penalty denies its batch; a cost of 0 passes any bucket. */
  static boolean denies(Transaction transaction) {
    return transaction.cost() > 0 && transaction.kind() != Transaction.Kind.SPEND_ONLY;
  }
}
