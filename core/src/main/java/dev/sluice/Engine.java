package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.Outstanding.Stretch;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Buckets;
import dev.sluice.store.Charge;
import dev.sluice.store.IdBytes;
import dev.sluice.store.Reading;
import dev.sluice.store.StoreException;
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
  private final FailureRules onFailure;
  private final Outstanding outstanding = new Outstanding();

  Engine(BucketStore store, LimiterObserver observer, FailureRules onFailure) {
    this.store = store;
    this.observer = observer;
    this.onFailure = onFailure;
  }

  Decision decide(Act act, Transaction transaction) {
    Plan plan = Plan.of(act, List.of(transaction));
    long start = start();
    return observed(plan, decided(plan), start).get(0);
  }

  /** A spend or a check of one id, on the shortest way. */
  Decision decide(Act act, Buckets buckets, Terms terms, IdBytes bytes, String id, long cost) {
    Quota quota = terms.quota();
    if (isObserved() || quota == null || cost < 0 || cost > quota.burst()) {
      return decide(act, Transaction.of(terms, id).withCost(cost));
    }
    Charge.Act chargeAct = act == Act.SPEND ? Charge.Act.SPEND : Charge.Act.CHECK;
    try {
      return buckets.charge(
          bytes, id, chargeAct, quota.incrementNanos(cost), quota.offsetNanos(), terms.decision());
    } catch (StoreException e) {
      return onFailure(act, terms, id, cost, e);
    }
  }

  Decision onFailure(Act act, Terms terms, String id, long cost, StoreException failure) {
    Plan plan = Plan.of(act, List.of(Transaction.of(terms, id).withCost(cost)));
    return onFailure.decide(plan, failure).get(0);
  }

  Buckets buckets(LimitName name) {
    return store.buckets(name.number() + ":");
  }

  /** Whether decisions can't be left to the store alone: somebody watches, or a rule stands by. */
  boolean mayAnswerForTheStore() {
    return isObserved() || !onFailure.alwaysFail();
  }

  boolean isObserved() {
    return observer != NOBODY;
  }

  Decision decide(Act act, List<Transaction> transactions) {
    Plan plan = Plan.of(act, transactions);
    long start = start();
    return plan.strictest(observed(plan, decided(plan), start));
  }

  CompletionStage<Decision> decideAsync(Act act, Transaction transaction) {
    Plan plan = Plan.of(act, List.of(transaction));
    long start = start();
    return decidedAsync(plan).thenApply(decisions -> observed(plan, decisions, start).get(0));
  }

  CompletionStage<Decision> decideAsync(Act act, List<Transaction> transactions) {
    Plan plan = Plan.of(act, transactions);
    long start = start();
    return decidedAsync(plan)
        .thenApply(decisions -> plan.strictest(observed(plan, decisions, start)));
  }

  private List<Decision> decided(Plan plan) {
    try {
      return plan.decide(charge(plan.act(), plan.charges()));
    } catch (StoreException e) {
      return onFailure.decide(plan, e);
    }
  }

  private CompletionStage<List<Decision>> decidedAsync(Plan plan) {
    return chargeAsync(plan.act(), plan.charges())
        .handle(
            (readings, failure) ->
                failure == null
                    ? plan.decide(readings)
                    : onFailure.decide(plan, storeException(failure)));
  }

  /** The store's own failure, for a rule; anything else is a mistake, and is thrown on. */
  private static StoreException storeException(Throwable failure) {
    Throwable cause = unwrapped(failure);
    if (cause instanceof StoreException e) {
      return e;
    }
    throw failure instanceof CompletionException e ? e : new CompletionException(cause);
  }

  private static Throwable unwrapped(Throwable failure) {
    Throwable cause = failure.getCause();
    return failure instanceof CompletionException && cause != null ? cause : failure;
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
    long start = start();
    try {
      List<Reading> readings = charge(Act.SPEND, plan.charges());
      Decision decision = plan.strictest(observed(plan, plan.decide(readings), start));
      return Reservation.of(this, limits, decision, plan, readings, stretches);
    } catch (StoreException e) {
      outstanding.close(stretches);
      return degraded(limits, plan, e, start);
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
        .handle(
            (readings, failure) -> {
              if (failure != null) {
                outstanding.close(stretches);
                return degraded(limits, plan, storeException(failure), start);
              }
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

  /** A reservation that took nothing from the store, and has nothing to give back to it. */
  private Reservation degraded(CurrentLimits limits, Plan plan, StoreException e, long start) {
    Decision decision = plan.strictest(observed(plan, onFailure.decide(plan, e), start));
    return Reservation.ofNothing(this, limits, decision);
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
              stored(act, charges, failure == null ? null : unwrapped(failure), start);
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
