package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.gcra.Gcra;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Buckets;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * A store, with the reservations that can still give something back to it: whatever is taken from a
 * store is given back to the same one. Thread-safe.
 */
final class Ledger {

  private final BucketStore store;
  private final LimiterObserver observer;
  private final Outstanding outstanding = new Outstanding();
  private final Forgiven forgiven = new Forgiven();

  Ledger(BucketStore store, LimiterObserver observer) {
    this.store = store;
    this.observer = observer;
  }

  Outstanding outstanding() {
    return outstanding;
  }

  Buckets buckets(String prefix) {
    return store.buckets(prefix);
  }

  /** Charges for a refund or a reset. */
  List<Reading> charge(Act act, List<Charge> charges) {
    return charge(act, charges, false);
  }

  /**
   * Charges.
   *
   * @param alone whether one transaction was asked for, and no batch: a debt may be forgiven then
   */
  List<Reading> charge(Act act, List<Charge> charges, boolean alone) {
    if (charges.isEmpty()) {
      return List.of();
    }
    long start = start();
    try {
      List<Reading> readings = store.charge(charges);
      if (alone && mayForgive(act, charges, readings)) {
        outstanding.lapse(charges);
        readings = afterForgiving(charges, store.charge(forgiving(charges)));
      }
      lowered(act, charges, readings);
      stored(act, charges, null, start);
      return readings;
    } catch (RuntimeException e) {
      stored(act, charges, e, start);
      throw e;
    }
  }

  /**
   * Charges without blocking.
   *
   * @param alone as above
   * @param then what comes of the readings, or of the failure; called even if nobody waits for it
   */
  <T> CompletionStage<T> chargeAsync(
      Act act,
      List<Charge> charges,
      boolean alone,
      BiFunction<List<Reading>, @Nullable Throwable, T> then) {
    if (charges.isEmpty()) {
      return CompletableFuture.completedFuture(charges)
          .thenApply(none -> then.apply(List.of(), null));
    }
    long start = start();
    CompletionStage<List<Reading>> charged = store.chargeAsync(charges);
    CompletionStage<T> done =
        (alone ? forgivenAsync(act, charges, charged) : charged)
            .handle(
                (readings, failure) -> {
                  if (failure == null) {
                    lowered(act, charges, readings);
                  }
                  stored(act, charges, failure == null ? null : unwrapped(failure), start);
                  return then.apply(readings, failure);
                });
    return GivingUp.reaches(charged, done.thenApply(value -> value));
  }

  /** Charges without blocking; done when the store has answered. */
  CompletionStage<Void> chargeAsync(Act act, List<Charge> charges) {
    CompletionStage<Boolean> done =
        chargeAsync(
            act,
            charges,
            false,
            (readings, failure) -> {
              if (failure != null) {
                throw new CompletionException(unwrapped(failure));
              }
              return true;
            });
    return GivingUp.reaches(done, done.thenAccept(value -> {}));
  }

  private CompletionStage<List<Reading>> forgivenAsync(
      Act act, List<Charge> charges, CompletionStage<List<Reading>> charged) {
    return act != Act.SPEND
        ? charged
        : charged.thenCompose(
            readings -> {
              if (!mayForgive(act, charges, readings)) {
                return CompletableFuture.completedFuture(readings);
              }
              outstanding.lapse(charges);
              return store
                  .chargeAsync(forgiving(charges))
                  .thenApply(found -> afterForgiving(charges, found));
            });
  }

  /** A single spend that found a debt: neither a check nor a batch ever changes what it denies. */
  private boolean mayForgive(Act act, List<Charge> charges, List<Reading> readings) {
    if (act != Act.SPEND || charges.get(0).act() != Charge.Act.SPEND) {
      return false;
    }
    Charge charge = charges.get(0);
    Reading found = readings.get(0);
    return charge.incrementNanos() > 0
        && Gcra.aheadNanos(found.nowNanos(), found.tatNanos()) - store.clockSkewNanos()
            > charge.offsetNanos()
        && forgiven.tryForgive(charge.key(), charge.offsetNanos(), found.nowNanos());
  }

  private static List<Charge> forgiving(List<Charge> charges) {
    Charge charge = charges.get(0);
    return List.of(
        new Charge(
            charge.key(),
            Charge.Act.FORGIVE,
            charge.incrementNanos(),
            charge.offsetNanos(),
            Charge.NO_END));
  }

  /** What a spend finds after the debt is forgiven. */
  private static List<Reading> afterForgiving(List<Charge> charges, List<Reading> found) {
    Reading before = found.get(0);
    long offsetNanos = charges.get(0).offsetNanos();
    return Gcra.isInDebt(before.nowNanos(), before.tatNanos(), offsetNanos)
        ? List.of(new Reading(before.nowNanos(), before.nowNanos() + offsetNanos))
        : found;
  }

  private void lowered(Act act, List<Charge> charges, List<Reading> readings) {
    if (act == Act.REFUND || act == Act.RESET) {
      outstanding.lowered(charges, readings);
    }
  }

  private void stored(Act act, List<Charge> charges, @Nullable Throwable failure, long start) {
    if (observer != Engine.NOBODY) {
      observer.stored(act, charges.size(), failure, System.nanoTime() - start);
    }
  }

  /** Nobody watching, nothing timed: reading a clock costs as much as a decision. */
  long start() {
    return observer == Engine.NOBODY ? 0 : System.nanoTime();
  }

  static Throwable unwrapped(Throwable failure) {
    Throwable cause = failure.getCause();
    return failure instanceof CompletionException && cause != null ? cause : failure;
  }
}
