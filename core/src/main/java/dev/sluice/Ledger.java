package dev.sluice;

import dev.sluice.LimiterObserver.Act;
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

  List<Reading> charge(Act act, List<Charge> charges) {
    if (charges.isEmpty()) {
      return List.of();
    }
    long start = start();
    try {
      List<Reading> readings = store.charge(charges);
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
   * @param then what comes of the readings, or of the failure; called even if nobody waits for it
   */
  <T> CompletionStage<T> chargeAsync(
      Act act, List<Charge> charges, BiFunction<List<Reading>, @Nullable Throwable, T> then) {
    if (charges.isEmpty()) {
      return CompletableFuture.completedFuture(charges)
          .thenApply(none -> then.apply(List.of(), null));
    }
    long start = start();
    CompletionStage<List<Reading>> charged = store.chargeAsync(charges);
    CompletionStage<T> done =
        charged.handle(
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
            (readings, failure) -> {
              if (failure != null) {
                throw new CompletionException(unwrapped(failure));
              }
              return true;
            });
    return GivingUp.reaches(done, done.thenAccept(value -> {}));
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
