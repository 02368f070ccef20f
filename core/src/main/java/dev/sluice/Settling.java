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
import dev.sluice.internal.async.Stages;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/*
 * A settlement replaces the estimated cost of a reservation with the true cost.
 *
 * If the true cost is lower, the difference is given back by the rules of OpenReservations. If the
 * true cost is higher, a further spend moves the TAT by as many whole tokens as fit before now + τ
 * · (1 + debt). This spend never forgives a debt.
 *
 * Higher costs are charged before any tokens are given back. If the process ends in between, no
 * call is overcharged by more than its unsettled reservation would overcharge it. Each bucket has
 * its own store call, so that an unreachable server does not delay the buckets of other servers.
 *
 * If the store certainly charged nothing, the settlement of the bucket is retried later, and the
 * reservation stays open until then. If the answer was lost, the store may have charged the
 * difference, so the charge is not retried. A bucket that keeps its estimate is only read. If this
 * read fails, the result of the settlement has no part for that bucket, but the settlement
 * succeeds.
 */

/** A settlement of one reservation. The methods of this class must not be called concurrently. */
final class Settling {

  private static final Comparator<Settlement.Part> STRICTER =
      Comparator.comparingLong(Settlement.Part::cut).thenComparingLong(Settlement.Part::owed);

  private final TrackedStore store;
  private final List<Due> due;
  private final Runnable onEnd;
  private final Settlement.@Nullable Part[] parts;
  private final boolean[] tried; // whether the bucket is settled, or the store's answer was lost
  // The failure of the first charge or give-back whose answer was lost.
  private @Nullable Throwable lost;
  // The failure of a call that certainly changed nothing in the store.
  private @Nullable Throwable away;

  /**
   * Creates a settlement.
   *
   * @param onEnd a callback for when all buckets are settled, or the rest of the settlement is lost
   */
  Settling(TrackedStore store, List<Due> due, Runnable onEnd) {
    this.store = store;
    this.due = due;
    this.onEnd = onEnd;
    this.parts = new Settlement.@Nullable Part[due.size()];
    this.tried = new boolean[due.size()];
  }

  /**
   * The tokens that one transaction has taken.
   *
   * @param intervalNanos the emission interval of the spend; {@link #UNCHARGED} if no limit applied
   * @param leaving a function that gives back some of the tokens under the current quota
   */
  record Held(Transaction transaction, long tokens, long intervalNanos, Leaving leaving) {

    static final long UNCHARGED = 0;

    boolean isUncharged() {
      return intervalNanos == UNCHARGED;
    }
  }

  /** Gives back some of the tokens that a transaction has taken. */
  interface Leaving {
    /** Returns the give-back to send, null if no tokens are left to give back. */
    @Nullable GiveBack leave(long tokens, Quota now);
  }

  /**
   * The true cost or the estimate of a transaction, and the current quota and debt of its bucket.
   *
   * @param isTrue true if the cost is the true cost, false if the estimate is kept
   */
  record Due(Held held, long cost, boolean isTrue, Present now) {

    private boolean isHigher() {
      return cost > held.tokens;
    }

    /**
     * Returns a charge of the tokens above the reserved cost, at most the burst plus the declared
     * debt.
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

    /** Returns what a charge of the settlement did to its bucket, from the store's reading. */
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

  /**
   * Settles the buckets. The stage completes after the first attempt, with the state of the
   * settlement.
   */
  CompletionStage<Settlement> settle(BucketStore call) {
    return attempt(call)
        .handle(
            (isDone, failure) -> {
              boolean waits = failure == null && !isDone && store.later(this::repeat, this::lose);
              Throwable why = waits ? null : failure != null ? failure : isDone ? null : away;
              if (why != null) {
                lose();
                throw new CompletionException(Stages.cause(why));
              }
              return new Settlement(!waits, waits, known());
            });
  }

  private List<Settlement.Part> known() {
    List<Settlement.Part> known = new ArrayList<>(parts.length);
    for (Settlement.Part part : parts) {
      if (part != null) {
        known.add(part);
      }
    }
    return known;
  }

  private CompletionStage<Boolean> repeat() {
    return attempt(store.oneCall());
  }

  private void lose() {
    end();
    store.settlementLost();
  }

  /**
   * Tries to settle the remaining buckets. The stage completes with false if the store could not be
   * reached for one of the buckets. If the answer to a charge or a give-back was lost in any
   * attempt, the stage fails once no bucket is left to retry.
   */
  private CompletionStage<Boolean> attempt(BucketStore call) {
    return each(call, true)
        .thenCompose(charged -> each(call, false).thenApply(rest -> ended(charged && rest)));
  }

  private CompletionStage<Boolean> each(BucketStore call, boolean higher) {
    CompletionStage<Boolean> all = CompletableFuture.completedFuture(true);
    for (int i = 0; i < tried.length; i++) {
      if (!tried[i] && due.get(i).isHigher() == higher) {
        all = all.thenCombine(one(call, i), (others, its) -> others && its);
      }
    }
    return all;
  }

  private boolean ended(boolean isDone) {
    if (isDone && lost != null) {
      throw new CompletionException(Stages.cause(lost));
    }
    if (isDone) {
      end();
    }
    return isDone;
  }

  private void end() {
    for (int i = 0; i < parts.length; i++) {
      Due one = due.get(i);
      if (one.isTrue && one.held.transaction.furtherPeriod() == null) {
        Settlement.Part part = strictest(i);
        if (part != null) {
          store.settled(part, one.held.tokens, one.cost);
        }
      }
    }
    onEnd.run();
  }

  /**
   * Returns the part with the most cut tokens, or else the largest debt, among the parts of one
   * limit and id; the parts of shorter periods follow the part of the longest period.
   */
  private Settlement.@Nullable Part strictest(int longest) {
    String bucketKey = due.get(longest).held.transaction.bucketKey();
    Settlement.Part strictest = parts[longest];
    for (int i = longest + 1; i < parts.length; i++) {
      Transaction further = due.get(i).held.transaction;
      if (further.furtherPeriod() == null || !further.whole().bucketKey().equals(bucketKey)) {
        break;
      }
      Settlement.Part part = parts[i];
      if (part != null && (strictest == null || STRICTER.compare(part, strictest) > 0)) {
        strictest = part;
      }
    }
    return strictest;
  }

  private CompletionStage<Boolean> one(BucketStore call, int at) {
    Due one = due.get(at);
    GiveBack giveBack = one.giveBack();
    Charge charge =
        giveBack != null ? giveBack.charge() : one.isHigher() ? one.charge() : one.look();
    BiFunction<List<Reading>, @Nullable Throwable, Boolean> then =
        (readings, failure) -> answered(at, charge, readings, failure);
    return giveBack != null
        ? store.giveBack(call, List.of(giveBack), then)
        : store.charge(
            call,
            charge.op() == Op.CHECK ? Act.CHECK : Act.SPEND,
            List.of(charge),
            Debts.NEVER_FORGIVES,
            then);
  }

  /** Keeps the result of a store call; returns false if the store has certainly changed nothing. */
  private synchronized boolean answered(
      int at, Charge charge, List<Reading> readings, @Nullable Throwable failure) {
    boolean isLook = charge.op() == Op.CHECK;
    if (failure != null && !isLook && TrackedStore.chargedNothing(failure)) {
      away = failure;
      return false;
    }
    tried[at] = true;
    if (failure == null) {
      parts[at] = due.get(at).part(charge, readings.get(0));
    } else if (!isLook && lost == null) {
      lost = failure;
    }
    return true;
  }
}
