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
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/*
 * A settlement replaces an estimate, which a reservation took, by the true cost.
 *
 * A lower cost is a cancellation of the difference, by the rules of OpenReservations. For a
 * higher cost, a further spend moves the TAT: by as many whole tokens as fit before
 * now + τ · (1 + debt). It never forgives a debt.
 *
 * Higher costs are charged before anything is given back. So if the process ends in between, the
 * call was charged more than its true cost in no other way than by a reservation that nobody
 * settles. Each bucket has a call of its own, so that a server that is away holds up no bucket of
 * another server.
 *
 * If the store certainly charged nothing, the bucket waits and is tried again; its reservation is
 * open until then. If the answer was lost, the difference may have been charged, and is not charged
 * a second time. A bucket whose cost is the estimate is only read. If this fails, nothing is lost
 * but the numbers.
 */

/** One settlement. A call of it must have ended before the next one begins. */
final class Settling {

  private final TrackedStore store;
  private final List<Due> due;
  private final Runnable onEnd;
  private final Settlement.@Nullable Part[] parts;
  private final boolean[] tried; // whether the part was settled, or its answer was lost
  private @Nullable Throwable lost; // the first lost answer of a charge or give-back
  private @Nullable Throwable away; // why the store has certainly done nothing

  /**
   * Creates a settlement.
   *
   * @param onEnd called when nothing is left to settle, or the rest is lost
   */
  Settling(TrackedStore store, List<Due> due, Runnable onEnd) {
    this.store = store;
    this.due = due;
    this.onEnd = onEnd;
    this.parts = new Settlement.@Nullable Part[due.size()];
    this.tried = new boolean[due.size()];
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

  /**
   * The cost of what a transaction holds, and the current terms of its bucket.
   *
   * @param isTrue whether the cost is the true one; otherwise it is the estimate, which is kept
   */
  record Due(Held held, long cost, boolean isTrue, Present now) {

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

  /** Settles what is due; completes with what is known of it after this call. */
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
              return new Settlement(
                  !waits, waits, Arrays.stream(parts).filter(Objects::nonNull).toList());
            });
  }

  private CompletionStage<Boolean> repeat() {
    return attempt(store.oneCall());
  }

  private void lose() {
    onEnd.run();
    store.settlementLost();
  }

  /**
   * Tries what was not tried yet; completes with false if the store was away. Fails if all was
   * tried, and an answer was lost.
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
      onEnd.run();
    }
    return isDone;
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

  /** Keeps what the store has done; returns false if it has certainly done nothing. */
  private synchronized boolean answered(
      int at, Charge charge, List<Reading> readings, @Nullable Throwable failure) {
    boolean isLook = charge.op() == Op.CHECK;
    if (failure != null && !isLook && TrackedStore.chargedNothing(failure)) {
      away = failure;
      return false;
    }
    tried[at] = true;
    if (failure == null) {
      Due one = due.get(at);
      Settlement.Part part = one.part(charge, readings.get(0));
      parts[at] = part;
      if (one.isTrue && one.held.transaction.furtherPeriod() == null) {
        store.settled(part, one.held.tokens, one.cost);
      }
    } else if (!isLook && lost == null) {
      lost = failure;
    }
    return true;
  }
}
