package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.Outstanding.Stretch;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Takes plans to the store and back, on the caller's thread or without it; what {@link Limiter} and
 * {@link AsyncLimiter} are two views of. Thread-safe.
 */
final class Engine {

  static final LimiterObserver NOBODY = new LimiterObserver() {};

  private final BucketStore store;
  private final LimiterObserver observer;
  private final Outstanding outstanding = new Outstanding();

  Engine(BucketStore store, LimiterObserver observer) {
    this.store = store;
    this.observer = observer;
  }

  Decision decide(Act act, Transaction transaction) {
    Plan plan = Plan.of(act, List.of(transaction));
    long start = start();
    return observed(plan, plan.decide(charge(act, plan.charges())), start).get(0);
  }

  Decision decide(Act act, List<Transaction> transactions) {
    Plan plan = Plan.of(act, transactions);
    long start = start();
    return plan.strictest(observed(plan, plan.decide(charge(act, plan.charges())), start));
  }

  CompletionStage<Decision> decideAsync(Act act, Transaction transaction) {
    Plan plan = Plan.of(act, List.of(transaction));
    long start = start();
    return chargeAsync(act, plan.charges())
        .thenApply(readings -> observed(plan, plan.decide(readings), start).get(0));
  }

  CompletionStage<Decision> decideAsync(Act act, List<Transaction> transactions) {
    Plan plan = Plan.of(act, transactions);
    long start = start();
    return chargeAsync(act, plan.charges())
        .thenApply(readings -> plan.strictest(observed(plan, plan.decide(readings), start)));
  }

  void reset(List<Transaction> transactions) {
    Plan plan = Plan.of(Act.RESET, transactions);
    outstanding.lapse(plan.charges());
    var unused = charge(Act.RESET, plan.charges());
  }

  CompletionStage<Void> resetAsync(List<Transaction> transactions) {
    Plan plan = Plan.of(Act.RESET, transactions);
    outstanding.lapse(plan.charges());
    return chargeAsync(Act.RESET, plan.charges()).thenAccept(readings -> {});
  }

  Reservation reserve(CurrentLimits limits, List<Transaction> transactions) {
    Plan plan = Plan.of(Act.SPEND, transactions);
    List<Stretch> stretches = outstanding.open(plan.charges());
    try {
      long start = start();
      List<Reading> readings = charge(Act.SPEND, plan.charges());
      Decision decision = plan.strictest(observed(plan, plan.decide(readings), start));
      return Reservation.of(this, limits, decision, plan, readings, stretches);
    } catch (RuntimeException e) {
      outstanding.close(stretches);
      throw e;
    }
  }

  CompletionStage<Reservation> reserveAsync(CurrentLimits limits, List<Transaction> transactions) {
    Plan plan = Plan.of(Act.SPEND, transactions);
    List<Stretch> stretches = outstanding.open(plan.charges());
    long start = start();
    return chargeAsync(Act.SPEND, plan.charges())
        .thenApply(
            readings -> {
              Decision decision = plan.strictest(observed(plan, plan.decide(readings), start));
              return Reservation.of(this, limits, decision, plan, readings, stretches);
            })
        .whenComplete(
            (reservation, failure) -> {
              if (failure != null) {
                outstanding.close(stretches);
              }
            });
  }

  Outstanding outstanding() {
    return outstanding;
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

  CompletionStage<List<Reading>> chargeAsync(Act act, List<Charge> charges) {
    if (charges.isEmpty()) {
      return CompletableFuture.completedFuture(List.of());
    }
    long start = start();
    return store
        .chargeAsync(charges)
        .whenComplete(
            (readings, failure) -> {
              if (failure == null) {
                lowered(act, charges, readings);
              }
              boolean wrapped =
                  failure instanceof CompletionException && failure.getCause() != null;
              stored(act, charges, wrapped ? failure.getCause() : failure, start);
            });
  }

  private void lowered(Act act, List<Charge> charges, List<Reading> readings) {
    if (act == Act.REFUND || act == Act.RESET) {
      outstanding.lowered(charges, readings);
    }
  }

  private void stored(Act act, List<Charge> charges, @Nullable Throwable failure, long start) {
    if (observer != NOBODY) {
      observer.stored(act, charges.size(), failure, System.nanoTime() - start);
    }
  }

  private List<Decision> observed(Plan plan, List<Decision> decisions, long start) {
    if (observer != NOBODY) {
      long elapsedNanos = System.nanoTime() - start;
      decisions.forEach(decision -> observer.decided(plan.act(), decision, elapsedNanos));
    }
    return decisions;
  }

  /** Nobody watching, nothing timed: reading a clock costs as much as a decision. */
  private long start() {
    return observer == NOBODY ? 0 : System.nanoTime();
  }
}
