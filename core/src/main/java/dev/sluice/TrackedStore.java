// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.OpenReservations.GiveBack;
import dev.sluice.OpenReservations.Stretch;
import dev.sluice.Reservation.Settlement;
import dev.sluice.internal.async.Retries;
import dev.sluice.internal.async.Stages;
import dev.sluice.internal.direct.DirectStore;
import dev.sluice.internal.direct.DirectStore.Buckets;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A store, with the state that this process keeps for the store's buckets: open reservations,
 * waiting callers and forgiven debts. Thread-safe.
 */
final class TrackedStore {

  private final BucketStore store;
  private final LimiterObserver observer;
  private final OpenReservations reservations;
  private final WaitQueues waitQueues;
  private final Debts debts;
  private final Retries settlements;

  TrackedStore(BucketStore store, LimiterObserver observer, TimeSource time) {
    this.store = store;
    this.observer = observer;
    this.reservations =
        new OpenReservations(time, store::nowNanos, OpenReservations.MOST, observer::settledEarly);
    this.waitQueues =
        new WaitQueues(time, store::nowNanos, this::withdraw, reservations::isLowering);
    this.debts = new Debts(this::asked, this::forgive, store::clockSkewNanos);
    this.settlements = new Retries(time::nanos, time::alarm);
  }

  /** Returns the queues of callers that wait until the tokens that they took refill. */
  WaitQueues waitQueues() {
    return waitQueues;
  }

  OpenReservations reservations() {
    return reservations;
  }

  /** Returns the store's fast view of a limit's buckets, null if the store has no such view. */
  @Nullable Buckets buckets(String prefix) {
    return store instanceof DirectStore direct ? direct.buckets(prefix) : null;
  }

  /**
   * Returns a view of the store for one operation of the limiter; all charges through the view
   * share one time-out.
   */
  BucketStore oneCall() {
    return store.forOneCall();
  }

  /**
   * Returns a view of the store for one operation that is allowed to block. Each charge is finished
   * when the view's method returns. All stages that follow a charge therefore run on the caller's
   * thread, and {@link #result} need not wait.
   */
  BucketStore blockingCall() {
    return blocking(oneCall());
  }

  static BucketStore blocking(BucketStore call) {
    return call instanceof DirectStore direct && direct.answersAtOnce() ? call : new Blocking(call);
  }

  private record Blocking(BucketStore store) implements BucketStore {
    @Override
    public List<Reading> charge(List<Charge> charges) {
      return store.charge(charges);
    }

    @Override
    public List<Reading> charge(List<Charge> charges, Tentative tentative) {
      return store.charge(charges, tentative);
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges, Tentative tentative) {
      return CompletableFuture.completedFuture(charge(charges, tentative));
    }
  }

  /**
   * Returns the result of stages that {@link #blockingCall} has completed, or throws the failure.
   */
  @CanIgnoreReturnValue
  static <T> T result(CompletionStage<T> done) {
    CompletableFuture<T> future = done.toCompletableFuture();
    try {
      return future.join();
    } catch (CompletionException e) {
      throw thrown(Stages.cause(e));
    }
  }

  /** Charges the store like {@link #charge}, and returns the readings or throws the failure. */
  @CanIgnoreReturnValue
  List<Reading> readings(Act act, List<Charge> charges, Debts.Depths depths) {
    return result(
        charge(
            blockingCall(),
            act,
            charges,
            depths,
            (readings, failure) -> {
              orThrow(readings, failure);
              return readings;
            }));
  }

  /** Charges the store for a refund or a reset; completes when the store has answered. */
  CompletionStage<Void> charge(BucketStore call, Act act, List<Charge> charges) {
    return charge(call, act, charges, Debts.NEVER_FORGIVES, TrackedStore::orThrow);
  }

  /**
   * Charges the store. Refunds and resets count as in flight until the store has answered.
   *
   * @param call the caller's view of the store, from {@link #oneCall} or {@link #blockingCall}
   * @param depths how far ahead of now each TAT can lie without a debt; {@link
   *     Debts#NEVER_FORGIVES} for a batch
   * @param then a function that computes the result from the readings or a failure; called even
   *     after a cancellation
   */
  <T> CompletionStage<T> charge(
      BucketStore call,
      Act act,
      List<Charge> charges,
      Debts.Depths depths,
      BiFunction<List<Reading>, @Nullable Throwable, T> then) {
    if (charges.isEmpty()) {
      return Stages.handle(CompletableFuture.completedFuture(List.of()), then);
    }
    if (act == Act.REFUND || act == Act.RESET) {
      return lower(call, act, reservations.send(charges), then);
    }
    long start = start();
    CompletionStage<List<Reading>> charged = asked(call, charges);
    CompletionStage<List<Reading>> settled = debts.settled(call, charges, charged, depths);
    List<Reading> known = Stages.value(settled);
    if (known == null) {
      return Stages.cancelling(
          charged,
          settled.handle(
              (readings, failure) -> {
                stored(act, charges.size(), failure, start);
                return passingOn(then, readings, failure);
              }));
    }
    // A memory store has answered already; this branch avoids creating one stage per decision.
    stored(act, charges.size(), null, start);
    try {
      return CompletableFuture.completedFuture(then.apply(known, null));
    } catch (RuntimeException | Error e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private CompletionStage<List<Reading>> asked(BucketStore call, List<Charge> charges) {
    return asked(call, charges, charges.size() == 1 ? null : TakenInVain::new);
  }

  /** Charges a store; if the store throws, returns a failed stage instead. */
  private static CompletionStage<List<Reading>> asked(
      BucketStore call, List<Charge> charges, BucketStore.@Nullable Tentative tentative) {
    try {
      return tentative == null ? call.chargeAsync(charges) : call.chargeAsync(charges, tentative);
    } catch (RuntimeException | Error e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Rethrows a failure unchanged: if many calls fail, new exceptions would cost much time. */
  private static <T> T passingOn(
      BiFunction<List<Reading>, @Nullable Throwable, T> then,
      List<Reading> readings,
      @Nullable Throwable failure) {
    try {
      return then.apply(readings, failure);
    } catch (StoreException e) {
      if (failure instanceof CompletionException known && known.getCause() == e) {
        throw known;
      }
      throw e;
    }
  }

  /** Sends charges that lower TATs; each charge is in flight until its result is known. */
  private <T> CompletionStage<T> lower(
      BucketStore call,
      Act act,
      List<GiveBack> giveBacks,
      BiFunction<List<Reading>, @Nullable Throwable, T> then) {
    long start = start();
    List<Charge> charges = GiveBack.charges(giveBacks);
    CompletionStage<List<Reading>> charged = asked(call, charges, null);
    return Stages.cancelling(
        charged,
        Stages.handle(
            charged,
            (readings, failure) -> {
              settled(giveBacks, readings, failure);
              stored(act, charges.size(), failure, start);
              return then.apply(readings, failure);
            }));
  }

  static @Nullable Void orThrow(List<Reading> readings, @Nullable Throwable failure) {
    if (failure != null) {
      throw new CompletionException(Stages.cause(failure));
    }
    return null;
  }

  /** Forgives a debt, and closes the bucket's open reservations, which then give no tokens back. */
  private CompletionStage<List<Reading>> forgive(BucketStore call, Charge charge) {
    List<GiveBack> giveBacks = reservations.send(List.of(charge));
    return asked(call, GiveBack.charges(giveBacks), null)
        .whenComplete((found, failure) -> settled(giveBacks, found, failure));
  }

  /** Sends the give-backs, if any; completes when the store has answered. */
  CompletionStage<Void> giveBack(BucketStore call, List<GiveBack> giveBacks) {
    return giveBack(call, giveBacks, TrackedStore::orThrow);
  }

  /**
   * Sends the give-backs, if any.
   *
   * @param then a function that computes the result from the readings or a failure
   */
  <T> CompletionStage<T> giveBack(
      BucketStore call,
      List<GiveBack> giveBacks,
      BiFunction<List<Reading>, @Nullable Throwable, T> then) {
    return giveBacks.isEmpty()
        ? Stages.handle(CompletableFuture.completedFuture(List.of()), then)
        : lower(call, Act.REFUND, giveBacks, then);
  }

  /**
   * The result of the charges for a reservation or a lease.
   *
   * @param readings the reading for each charge
   * @param stretches the tokens that each charge took and can give back, null for none
   */
  record Holding(List<Reading> readings, List<@Nullable Stretch> stretches) {}

  /**
   * Spends, and tracks the spent tokens until they are given back or left spent.
   *
   * @param call the caller's view of the store
   * @param depths see {@link #charge(BucketStore, Act, List, Debts.Depths, BiFunction)}
   * @param then a function that computes the result; if the function throws, all spent tokens stay
   *     spent
   * @param otherwise a function that computes the result from a failure
   */
  <T> CompletionStage<T> hold(
      BucketStore call,
      List<Charge> charges,
      Debts.Depths depths,
      Function<Holding, T> then,
      Function<Throwable, T> otherwise) {
    List<Stretch> opened = reservations.open(charges);
    return charge(
        call,
        Act.SPEND,
        charges,
        depths,
        (readings, failure) -> {
          boolean held = false;
          try {
            T result =
                failure == null
                    ? then.apply(held(charges, readings, opened))
                    : otherwise.apply(failure);
            held = failure == null;
            return result;
          } finally {
            if (!held) {
              reservations.close(opened);
            }
          }
        });
  }

  /** Returns the TATs after a batch, computed from the batch's readings. */
  static long[] tatsAfterNanos(List<Charge> charges, List<Reading> found) {
    boolean passes = true;
    for (int i = 0; i < charges.size(); i++) {
      passes &= charges.get(i).passes(found.get(i).nowNanos(), found.get(i).tatNanos());
    }
    long[] afterNanos = new long[charges.size()];
    for (int i = 0; i < afterNanos.length; i++) {
      Reading before = found.get(i);
      afterNanos[i] = charges.get(i).tatAfterNanos(before.nowNanos(), before.tatNanos(), passes);
    }
    return afterNanos;
  }

  /** Retries a call of a settlement while the store cannot be reached; see {@link Retries#add}. */
  boolean later(Supplier<CompletionStage<Boolean>> call, Runnable onLost) {
    return settlements.add(call, onLost);
  }

  /** Returns whether a settlement waits until the store can be reached. */
  boolean settlesLater() {
    return !settlements.isIdle();
  }

  void settlementLost() {
    observer.settlementLost();
  }

  void settled(Settlement.Part part, long estimate, long cost) {
    observer.settled(part, estimate, cost);
  }

  /** Records when the tokens of each charge refill, and forgets the charges that took no tokens. */
  private Holding held(List<Charge> charges, List<Reading> readings, List<Stretch> opened) {
    long[] afterNanos = tatsAfterNanos(charges, readings);
    List<@Nullable Stretch> stretches = new ArrayList<>(opened.size());
    for (int i = 0; i < charges.size(); i++) {
      Reading found = readings.get(i);
      Stretch stretch = opened.get(i);
      boolean spent = afterNanos[i] != found.tatNanos();
      if (spent) {
        reservations.place(stretch, found, afterNanos[i]);
      } else {
        reservations.close(stretch);
      }
      stretches.add(spent ? stretch : null);
    }
    return new Holding(readings, stretches);
  }

  /**
   * Closes the reservation of a lease's tokens.
   *
   * @return the give-back to send, null if no tokens are left to give back
   */
  @Nullable GiveBack leave(Stretch stretch, long worthNanos, long offsetNanos) {
    GiveBack giveBack = reservations.giveBack(stretch, worthNanos, offsetNanos);
    reservations.close(stretch);
    return giveBack;
  }

  private void settled(
      List<GiveBack> giveBacks, @Nullable List<Reading> found, @Nullable Throwable failure) {
    boolean isAnswered = found != null && failure == null;
    boolean isUndone = !isAnswered && failure != null && chargedNothing(failure);
    boolean isUnknown = !isAnswered && !isUndone;
    // lowered() precedes undone() and ended(), after which isLowering() returns false.
    for (GiveBack one : giveBacks) {
      waitQueues.lowered(one.charge().key(), isUnknown ? one.lateNanos() : 0);
    }
    if (isUndone) {
      reservations.undone(giveBacks);
    } else {
      reservations.ended(giveBacks, isUnknown);
    }
  }

  /** Sends charges that revert spends, and reports these charges to the observer as a refund. */
  private void withdraw(List<Charge> withdrawals) {
    long start = start();
    withdrawals.forEach(reservations::withdraw);
    Stages.onEnd(
        store.chargeAsync(withdrawals),
        (readings, failure) -> stored(Act.REFUND, withdrawals.size(), failure, start));
  }

  /**
   * A spend in a batch over several servers, which is cancelled if another server denies its part
   * of the batch.
   */
  private final class TakenInVain implements BucketStore.Tentative.Part {
    private final Charge charge;
    private final List<Stretch> stretches;
    private List<GiveBack> sent = List.of();

    TakenInVain(Charge charge) {
      this.charge = charge;
      this.stretches = reservations.open(List.of(charge));
    }

    @Override
    public @Nullable Charge giveBack(Reading found) {
      Stretch stretch = stretches.get(0);
      long afterNanos = charge.tatAfterNanos(found.nowNanos(), found.tatNanos(), true);
      reservations.place(stretch, found, afterNanos);
      GiveBack giveBack =
          reservations.giveBack(stretch, charge.incrementNanos(), charge.offsetNanos());
      if (giveBack == null) {
        return null;
      }
      sent = List.of(giveBack);
      return giveBack.charge();
    }

    @Override
    public void gaveBack(@Nullable Reading found) {
      for (GiveBack one : sent) {
        waitQueues.lowered(one.charge().key(), found == null ? one.lateNanos() : 0);
      }
      reservations.ended(sent, found == null);
    }

    @Override
    public void kept() {
      reservations.close(stretches);
    }
  }

  void stored(Act act, int charges, @Nullable Throwable failure, long start) {
    if (observer != Engine.NOBODY) {
      Throwable cause = failure == null ? null : Stages.cause(failure);
      observer.stored(act, charges, cause, System.nanoTime() - start);
    }
  }

  /** Returns the time; 0 without an observer, as reading the clock costs as much as a decision. */
  long start() {
    return observer == Engine.NOBODY ? 0 : System.nanoTime();
  }

  /** Returns the exception to throw to a caller that waited for a failed stage. */
  static RuntimeException thrown(@Nullable Throwable failure) {
    if (failure instanceof Error error) {
      throw error;
    }
    return failure instanceof RuntimeException e ? e : new CompletionException(failure);
  }

  static boolean chargedNothing(Throwable failure) {
    return Stages.cause(failure) instanceof StoreException its && its.chargedNothing();
  }
}
