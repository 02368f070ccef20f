// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.OpenReservations.GiveBack;
import dev.sluice.Reservation.Present;
import dev.sluice.Reservation.Settlement;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/*
 * A settlement replaces an estimate, which a reservation took, by the true cost.
 *
 * A lower cost is a cancellation of the difference, by the rules of OpenReservations. A higher cost
 * is a further spend at the end of the time line. It takes as many whole tokens as fit before
 * now + τ · (1 + debt), and never forgives a debt.
 *
 * Higher costs are charged before anything is given back. So if the store fails in between, the
 * call was charged more than its true cost in no other way than by a reservation that nobody
 * settles. A store charges up to a number of tokens only in a batch of one; all other buckets share
 * one batch, which also reads those whose cost is the estimate.
 */

/** Settles one reservation within one call to the store. */
final class Settling {

  private final TrackedStore store;
  private final BucketStore call;

  Settling(TrackedStore store, BucketStore call) {
    this.store = store;
    this.call = call;
  }

  /**
   * The tokens that one transaction holds.
   *
   * @param intervalNanos the emission interval of the spend; {@link #UNCHARGED} if no limit applied
   * @param leaving gives back some of the tokens under the current quota
   */
  record Held(Transaction transaction, long tokens, long intervalNanos, Leaving leaving) {

    static final long UNCHARGED = 0;

    boolean isUncharged() {
      return intervalNanos == UNCHARGED;
    }
  }

  /** Gives back a part of what a transaction holds. */
  interface Leaving {
    /** Returns the give-back to send, null if nothing is left to give back. */
    @Nullable GiveBack leave(long tokens, Quota now);
  }

  /** The true cost of what a transaction holds, and the current terms of its bucket. */
  record Due(Held held, long cost, Present now) {

    private boolean isHigher() {
      return cost > held.tokens;
    }

    /**
     * Returns a charge of the difference, of as many tokens as the bucket can ever hold and owe.
     */
    private Charge charge() {
      long mostNanos = Debts.withDebtNanos(now.quota(), now.debt());
      long tokens = Math.min(cost - held.tokens, mostNanos / held.intervalNanos);
      return tokens == 0
          ? look()
          : new Charge(
              held.transaction.bucketKey(),
              Op.SPEND_UP_TO,
              tokens * held.intervalNanos,
              mostNanos,
              held.intervalNanos);
    }

    private Charge look() {
      return new Charge(
          held.transaction.bucketKey(), Effect.of(Op.CHECK, 0, now.quota().offsetNanos()));
    }

    private @Nullable GiveBack giveBack() {
      return cost < held.tokens ? held.leaving.leave(held.tokens - cost, now.quota()) : null;
    }

    /** Returns what a charge has done, of which the store returned a reading. */
    private Settlement.Part part(Charge charge, Reading found) {
      long beforeNanos = Gcra.aheadNanos(found.nowNanos(), found.tatNanos());
      boolean passes = charge.passes(found.nowNanos(), found.tatNanos());
      long afterNanos =
          Gcra.aheadNanos(
              found.nowNanos(), charge.tatAfterNanos(found.nowNanos(), found.tatNanos(), passes));
      Quota quota = now.quota();
      long more = Math.max(afterNanos - beforeNanos, 0) / held.intervalNanos;
      long givenBack =
          Math.max(beforeNanos - afterNanos, 0)
              / Math.min(held.intervalNanos, quota.intervalNanos());
      long charged = held.tokens + more - givenBack;
      return new Settlement.Part(
          held.transaction.described(),
          charged,
          givenBack,
          Gcra.owed(afterNanos, quota.intervalNanos(), quota.offsetNanos()),
          Math.max(cost - charged, 0),
          Gcra.remaining(afterNanos, quota.intervalNanos(), quota.offsetNanos()));
    }
  }

  /** Settles what is due; completes with what each bucket was charged. */
  CompletionStage<Settlement> settle(List<Due> due) {
    Settlement.@Nullable Part[] parts = new Settlement.Part[due.size()];
    CompletionStage<Void> done = CompletableFuture.completedFuture(null);
    for (int i = 0; i < parts.length; i++) {
      Due one = due.get(i);
      int at = i;
      if (one.isHigher()) {
        done = done.thenCompose(before -> charge(one, parts, at));
      }
    }
    return done.thenCompose(before -> giveBack(due, parts))
        .thenApply(
            all -> {
              List<Settlement.Part> list = new ArrayList<>(parts.length);
              for (Settlement.Part part : parts) {
                list.add(Objects.requireNonNull(part));
              }
              return new Settlement(true, list);
            });
  }

  private CompletionStage<Void> charge(Due due, Settlement.@Nullable Part[] parts, int at) {
    Charge charge = due.charge();
    return store.charge(
        call,
        charge.op() == Op.CHECK ? Act.CHECK : Act.SPEND,
        List.of(charge),
        Debts.NEVER_FORGIVES,
        (readings, failure) -> {
          TrackedStore.orThrow(readings, failure);
          parts[at] = due.part(charge, readings.get(0));
          return null;
        });
  }

  /** Gives back what was held too much, and reads the other buckets, in one batch. */
  private CompletionStage<Void> giveBack(List<Due> due, Settlement.@Nullable Part[] parts) {
    List<GiveBack> giveBacks = new ArrayList<>();
    List<Charge> looks = new ArrayList<>();
    List<Integer> places = new ArrayList<>();
    for (int i = 0; i < parts.length; i++) {
      GiveBack giveBack = parts[i] == null ? due.get(i).giveBack() : null;
      if (giveBack != null) {
        places.add(giveBacks.size(), i);
        giveBacks.add(giveBack);
      } else if (parts[i] == null) {
        places.add(i);
        looks.add(due.get(i).look());
      }
    }
    List<Charge> charges = new ArrayList<>(GiveBack.charges(giveBacks));
    charges.addAll(looks);
    return store.giveBack(
        call,
        giveBacks,
        looks,
        (readings, failure) -> {
          TrackedStore.orThrow(readings, failure);
          for (int i = 0; i < charges.size(); i++) {
            int at = places.get(i);
            parts[at] = due.get(at).part(charges.get(i), readings.get(i));
          }
          return null;
        });
  }
}
