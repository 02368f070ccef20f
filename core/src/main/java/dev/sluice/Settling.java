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
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/*
 * A settlement replaces an estimate, which a reservation took, by the true cost.
 *
 * A lower cost is a cancellation of the difference, by the rules of OpenReservations. For a
 * higher cost, a further spend moves the TAT: by as many whole tokens as fit before
 * now + τ · (1 + debt). It never forgives a debt.
 *
 * Higher costs are charged before anything is given back. So if the store fails in between, the
 * call was charged more than its true cost in no other way than by a reservation that nobody
 * settles. A store charges up to a number of tokens only in a batch of one; all other buckets share
 * one batch, which also reads those whose cost is the estimate.
 *
 * If the store certainly charged nothing, the rest of the settlement waits and is tried again. If
 * the answer was lost, the difference may have been charged, and is not charged a second time.
 */

/** One settlement. A call of it must have ended before the next one begins. */
final class Settling {

  private final TrackedStore store;
  private final List<Due> due;
  private final Runnable onEnd;
  private final Settlement.@Nullable Part[] parts;
  private final boolean[] tried; // done, or the answer was lost
  private final @Nullable Charge[] refunds; // those that the store did not take
  private @Nullable Throwable lost; // the first lost answer
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
    this.refunds = new @Nullable Charge[due.size()];
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

  /** Settles what is due; completes with what is known of it after this call. */
  CompletionStage<Settlement> settle(BucketStore call) {
    return attempt(call)
        .handle(
            (isDone, failure) -> {
              boolean waits = failure == null && !isDone && store.later(this::repeat, this::lose);
              Throwable why = waits ? null : failure != null ? failure : isDone ? null : away;
              if (why != null) {
                lose();
                throw new CompletionException(TrackedStore.unwrapped(why));
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
    CompletionStage<Boolean> answers = CompletableFuture.completedFuture(true);
    for (int i = 0; i < tried.length; i++) {
      int at = i;
      if (!tried[i] && due.get(i).isHigher()) {
        answers = ifSo(answers, () -> charge(call, at));
      }
    }
    return ifSo(answers, () -> giveBack(call)).thenApply(this::ended);
  }

  private boolean ended(boolean isDone) {
    if (isDone && lost != null) {
      throw new CompletionException(TrackedStore.unwrapped(lost));
    }
    if (isDone) {
      onEnd.run();
    }
    return isDone;
  }

  private static CompletionStage<Boolean> ifSo(
      CompletionStage<Boolean> first, Supplier<CompletionStage<Boolean>> then) {
    return first.thenCompose(isSo -> isSo ? then.get() : CompletableFuture.completedFuture(false));
  }

  private CompletionStage<Boolean> charge(BucketStore call, int at) {
    Charge charge = due.get(at).charge();
    return store.charge(
        call,
        charge.op() == Op.CHECK ? Act.CHECK : Act.SPEND,
        List.of(charge),
        Debts.NEVER_FORGIVES,
        (readings, failure) -> answered(List.of(at), List.of(charge), readings, failure));
  }

  /** Gives back what was held too much, and reads the other buckets, in one batch. */
  private CompletionStage<Boolean> giveBack(BucketStore call) {
    List<GiveBack> giveBacks = new ArrayList<>();
    List<Charge> looks = new ArrayList<>();
    List<Integer> places = new ArrayList<>();
    for (int i = 0; i < tried.length; i++) {
      GiveBack giveBack = tried[i] ? null : giveBack(i);
      if (giveBack != null) {
        places.add(giveBacks.size(), i);
        giveBacks.add(giveBack);
      } else if (!tried[i]) {
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
          boolean isAnswered = answered(places, charges, readings, failure);
          for (int i = 0; !isAnswered && i < giveBacks.size(); i++) {
            refunds[places.get(i)] = charges.get(i);
          }
          return isAnswered;
        });
  }

  /** Returns the give-back to send, which is again the refund that the store has not taken. */
  private @Nullable GiveBack giveBack(int at) {
    Charge refund = refunds[at];
    return refund == null
        ? due.get(at).giveBack()
        : store.reservations().send(List.of(refund)).get(0);
  }

  /** Keeps what the store has done; returns false if it has certainly done nothing. */
  private boolean answered(
      List<Integer> places,
      List<Charge> charges,
      List<Reading> readings,
      @Nullable Throwable failure) {
    if (failure != null && TrackedStore.chargedNothing(failure)) {
      away = failure;
      return false;
    }
    for (int i = 0; i < charges.size(); i++) {
      int at = places.get(i);
      tried[at] = true;
      if (failure == null) {
        parts[at] = due.get(at).part(charges.get(i), readings.get(i));
      }
    }
    lost = lost == null ? failure : lost;
    return true;
  }
}
