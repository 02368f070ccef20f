// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/*
 * A penalty makes a bucket count as empty until an instant (docs/decisions/014). The instant is
 * compared with the store's clock. So if a transaction of a plan (see Plan) has a penalty, the plan
 * first makes a call to the store that changes no bucket and returns the store's time. If a penalty
 * denies the plan, no further call is made, and no bucket of the batch has changed. Otherwise the
 * plan continues like any other. A penalty that was in force at the first call applies until the
 * end of the plan: its transaction spends nothing.
 *
 * Nearly all plans have no penalty; they only need one look-up in an empty map.
 */

/**
 * The penalties on the transactions of a plan.
 *
 * @param byPlace the penalty of each transaction, null for none; empty if no transaction has one
 * @param areInForce true if the store's time showed that the penalties are in force; otherwise the
 *     time given to {@link #at} determines whether they are
 */
record Penalties(List<@Nullable Penalty> byPlace, boolean areInForce) {

  static final Penalties NONE = new Penalties(List.of(), false);

  /** Returns the penalties on the transactions of an operation, none for a reset. */
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

  /** Returns the penalty of a transaction; trials have no penalty. */
  static @Nullable Penalty of(Limits limits, Transaction transaction) {
    return Plan.limiting(transaction) == null || transaction.isShadow()
        ? null
        : limits.penaltyFor(transaction.name(), transaction.id());
  }

  boolean isEmpty() {
    return byPlace.isEmpty();
  }

  /** Returns the penalty that is in force for a transaction at a time, null if there is none. */
  @Nullable Penalty at(int place, long nowNanos) {
    Penalty penalty = isEmpty() ? null : byPlace.get(place);
    return penalty != null && (areInForce || penalty.holdsAt(nowNanos)) ? penalty : null;
  }

  /** Returns whether a penalty on a transaction denies its batch. A cost of 0 is always allowed. */
  static boolean denies(Transaction transaction) {
    return transaction.cost() > 0 && transaction.kind() != Transaction.Kind.SPEND_ONLY;
  }
}
