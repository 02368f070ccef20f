// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.OpenReservations.GiveBack;
import dev.sluice.OpenReservations.Stretch;
import dev.sluice.async.Stages;
import dev.sluice.direct.Buckets;
import dev.sluice.direct.DirectStore;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
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
 * Charges a store, and keeps the reservations, waiting callers and debts of this process that
 * belong to it. Thread-safe.
 */
final class Ledger {

  private final BucketStore store;
  private final LimiterObserver observer;
  private final OpenReservations reservations;
  private final WaitingRoom waitingRoom;
  private final Debts debts;

  Ledger(BucketStore store, LimiterObserver observer, TimeSource time) {
    this.store = store;
    this.observer = observer;
    this.reservations =
        new OpenReservations(time, store::nowNanos, OpenReservations.MOST, observer::settledEarly);
    this.waitingRoom =
        new WaitingRoom(time, store::nowNanos, this::withdraw, reservations::isLowering);
    this.debts = new Debts(new Forgiving(), store::clockSkewNanos);
  }

  /** Returns the callers that wait for tokens taken before they refilled. */
  WaitingRoom waitingRoom() {
    return waitingRoom;
  }

  OpenReservations reservations() {
    return reservations;
  }

  /** Whether the store always answers at once, so that no call needs a stage. */
  boolean answersAtOnce() {
    return store instanceof DirectStore direct && direct.answersAtOnce();
  }

  /** Returns the store's direct view of a limit's buckets, null if it charges batches only. */
  @Nullable Buckets buckets(String prefix) {
    return store instanceof DirectStore direct ? direct.buckets(prefix) : null;
  }

  /** Returns the store for one caller's call, whose charges share one time-out. */
  BucketStore oneCall() {
    return store.forOneCall();
  }

  /** Charges for a refund or a reset. */
  @CanIgnoreReturnValue
  List<Reading> charge(Act act, List<Charge> charges) {
    return charge(oneCall(), act, charges, Debts.NEVER_FORGIVES);
  }

  /**
   * Charges the store, and registers refunds and resets as in flight until they are answered.
   *
   * @param call the caller's call, from {@link #oneCall}
   * @param depthNanos how far ahead of now the TAT of the only bucket may lie: a debt beyond it may
   *     be forgiven; {@link Debts#NEVER_FORGIVES} for a batch
   */
  List<Reading> charge(BucketStore call, Act act, List<Charge> charges, long depthNanos) {
    if (charges.isEmpty()) {
      return List.of();
    }
    if (act == Act.REFUND || act == Act.RESET) {
      return lower(call, act, reservations.send(charges));
    }
    long start = start();
    try {
      List<Reading> readings =
          charges.size() == 1 ? call.charge(charges) : call.charge(charges, TakenInVain::new);
      readings = debts.settled(call, charges, readings, depthNanos);
      stored(act, charges.size(), null, start);
      return readings;
    } catch (RuntimeException e) {
      stored(act, charges.size(), e, start);
      throw e;
    }
  }

  /**
   * The result of the charges for a reservation or a lease.
   *
   * @param readings the reading of each charge
   * @param stretches the tokens that each charge took and can give back, null if it took none
   */
  record Holding(List<Reading> readings, List<@Nullable Stretch> stretches) {}

  /**
   * Spends, and tracks the tokens taken until they are given back or left spent.
   *
   * @param call as above
   * @param depthNanos as above
   * @param then computes the result; if it throws, all tokens taken stay spent
   */
  <T> T hold(BucketStore call, List<Charge> charges, long depthNanos, Function<Holding, T> then) {
    List<Stretch> opened = reservations.open(charges);
    return orClosed(
        opened,
        () -> then.apply(held(charges, charge(call, Act.SPEND, charges, depthNanos), opened)));
  }

  /**
   * Spends without blocking, and tracks the tokens taken until they are given back or left spent.
   *
   * @param call as above
   * @param depthNanos as above
   * @param then as above
   * @param otherwise computes the result of a failure
   */
  <T> CompletionStage<T> holdAsync(
      BucketStore call,
      List<Charge> charges,
      long depthNanos,
      Function<Holding, T> then,
      Function<Throwable, T> otherwise) {
    List<Stretch> opened = reservations.open(charges);
    return orClosed(
        opened,
        () ->
            chargeAsync(
                call,
                Act.SPEND,
                charges,
                depthNanos,
                (readings, failure) -> {
                  if (failure != null) {
                    reservations.close(opened);
                    return otherwise.apply(failure);
                  }
                  return orClosed(opened, () -> then.apply(held(charges, readings, opened)));
                }));
  }

  private <T> T orClosed(List<Stretch> opened, Supplier<T> then) {
    boolean done = false;
    try {
      T result = then.get();
      done = true;
      return result;
    } finally {
      if (!done) {
        reservations.close(opened);
      }
    }
  }

  /** Returns the TATs after a batch, computed from its readings. */
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

  /** Records where on the time line tokens were taken, and closes the charges that took none. */
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
   * Closes a stretch of a reservation or a lease.
   *
   * @return the give-back to send, null if nothing is left to give back
   */
  @Nullable GiveBack leave(Stretch stretch, long worthNanos, long offsetNanos) {
    return reservations.giveBack(stretch, worthNanos, offsetNanos);
  }

  /** Sends give-backs. */
  void giveBack(BucketStore call, List<GiveBack> refunds) {
    lower(call, Act.REFUND, refunds);
  }

  /** Sends give-backs without blocking; completes when the store has answered. */
  CompletionStage<Void> giveBackAsync(List<GiveBack> refunds) {
    return done(lowerAsync(oneCall(), Act.REFUND, refunds, Ledger::orThrow));
  }

  /** Sends give-backs, if there are any, and reports the call to the observer. */
  @CanIgnoreReturnValue
  private List<Reading> lower(BucketStore call, Act act, List<GiveBack> giveBacks) {
    if (giveBacks.isEmpty()) {
      return List.of();
    }
    long start = start();
    List<Reading> readings;
    try {
      readings = sent(call, giveBacks);
    } catch (RuntimeException | Error e) {
      stored(act, giveBacks.size(), e, start);
      throw e;
    }
    stored(act, giveBacks.size(), null, start);
    return readings;
  }

  /** Sends charges that lower buckets; each is in flight until its outcome is known. */
  private List<Reading> sent(BucketStore call, List<GiveBack> giveBacks) {
    List<Reading> readings;
    try {
      readings = call.charge(GiveBack.charges(giveBacks));
    } catch (RuntimeException | Error e) {
      settled(giveBacks, null, e);
      throw e;
    }
    settled(giveBacks, readings, null);
    return readings;
  }

  /** Like {@link #sent} without blocking; the caller reports the answer to {@link #settled}. */
  private CompletionStage<List<Reading>> sentAsync(BucketStore call, List<GiveBack> giveBacks) {
    try {
      return call.chargeAsync(GiveBack.charges(giveBacks));
    } catch (RuntimeException | Error e) {
      settled(giveBacks, null, e);
      throw e;
    }
  }

  private <T> CompletionStage<T> lowerAsync(
      BucketStore call,
      Act act,
      List<GiveBack> giveBacks,
      BiFunction<List<Reading>, @Nullable Throwable, T> then) {
    if (giveBacks.isEmpty()) {
      return CompletableFuture.completedFuture(giveBacks)
          .thenApply(none -> then.apply(List.of(), null));
    }
    long start = start();
    CompletionStage<List<Reading>> charged = sentAsync(call, giveBacks);
    CompletionStage<T> done =
        charged.handle(
            (readings, failure) -> {
              settled(giveBacks, readings, failure);
              stored(act, giveBacks.size(), failure == null ? null : unwrapped(failure), start);
              return then.apply(readings, failure);
            });
    return Cancellation.reaching(charged, done.thenApply(value -> value));
  }

  private static boolean orThrow(List<Reading> readings, @Nullable Throwable failure) {
    if (failure != null) {
      throw new CompletionException(unwrapped(failure));
    }
    return true;
  }

  private static CompletionStage<Void> done(CompletionStage<Boolean> charged) {
    return Cancellation.reaching(charged, charged.thenAccept(value -> {}));
  }

  /**
   * Charges without blocking.
   *
   * @param call as above
   * @param depthNanos as above
   * @param then computes the result from readings or failure; called even if nobody waits for it
   */
  <T> CompletionStage<T> chargeAsync(
      BucketStore call,
      Act act,
      List<Charge> charges,
      long depthNanos,
      BiFunction<List<Reading>, @Nullable Throwable, T> then) {
    if (charges.isEmpty()) {
      return CompletableFuture.completedFuture(charges)
          .thenApply(none -> then.apply(List.of(), null));
    }
    if (act == Act.REFUND || act == Act.RESET) {
      return lowerAsync(call, act, reservations.send(charges), then);
    }
    long start = start();
    CompletionStage<List<Reading>> charged =
        charges.size() == 1
            ? call.chargeAsync(charges)
            : call.chargeAsync(charges, TakenInVain::new);
    CompletionStage<T> done =
        debts
            .settledAsync(call, charges, charged, depthNanos)
            .handle(
                (readings, failure) -> {
                  stored(act, charges.size(), failure == null ? null : unwrapped(failure), start);
                  return passingOn(then, readings, failure);
                });
    return Cancellation.reaching(charged, done.thenApply(value -> value));
  }

  /** Passes a failure on unchanged: if many calls fail, new exceptions would take long. */
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

  /** Charges without blocking; completes when the store has answered. */
  CompletionStage<Void> chargeAsync(Act act, List<Charge> charges) {
    return done(chargeAsync(oneCall(), act, charges, Debts.NEVER_FORGIVES, Ledger::orThrow));
  }

  /** Forgives debts; like a reset, this closes open reservations, which then give nothing back. */
  private final class Forgiving implements Debts.Lowering {
    @Override
    public List<Reading> lower(BucketStore call, Charge charge) {
      return sent(call, reservations.send(List.of(charge)));
    }

    @Override
    public CompletionStage<List<Reading>> lowerAsync(BucketStore call, Charge charge) {
      List<GiveBack> giveBacks = reservations.send(List.of(charge));
      return sentAsync(call, giveBacks)
          .whenComplete((found, failure) -> settled(giveBacks, found, failure));
    }
  }

  private void settled(
      List<GiveBack> giveBacks, @Nullable List<Reading> found, @Nullable Throwable failure) {
    boolean isAnswered = found != null && failure == null;
    boolean isUnknown = !isAnswered && !(failure != null && chargedNothing(failure));
    for (GiveBack one : giveBacks) { // before ended(): until then isLowering() is true
      waitingRoom.lowered(one.charge().key(), isUnknown ? one.lateNanos() : 0);
    }
    reservations.ended(giveBacks, isUnknown);
  }

  /** Takes back spends that no other spend has followed; observed as a refund. */
  private void withdraw(List<Charge> withdrawals) {
    long start = start();
    withdrawals.forEach(reservations::withdraw);
    Stages.onEnd(
        store.chargeAsync(withdrawals),
        (readings, failure) ->
            stored(
                Act.REFUND,
                withdrawals.size(),
                failure == null ? null : unwrapped(failure),
                start));
  }

  /** A spend of a batch over several servers; it is cancelled if another server denies its part. */
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
        waitingRoom.lowered(one.charge().key(), found == null ? one.lateNanos() : 0);
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
      observer.stored(act, charges, failure, System.nanoTime() - start);
    }
  }

  /** Reads the clock only for an observer, since that costs as much as a decision. */
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

  private static boolean chargedNothing(Throwable failure) {
    return unwrapped(failure) instanceof StoreException its && its.chargedNothing();
  }

  static Throwable unwrapped(Throwable failure) {
    Throwable cause = failure.getCause();
    return failure instanceof CompletionException && cause != null ? cause : failure;
  }
}
