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
import dev.sluice.store.TimeSource;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * Takes plans to the store and back, on the caller's thread or without it; what {@link Limiter} and
 * {@link AsyncLimiter} are two views of. Thread-safe.
 */
final class Engine {

  static final LimiterObserver NOBODY = new LimiterObserver() {};

  private final CurrentLimits limits;
  private final Ledger ledger;
  private final LimiterObserver observer;
  private final FailureRules onFailure;

  Engine(
      CurrentLimits limits,
      BucketStore store,
      LimiterObserver observer,
      FailureRules onFailure,
      TimeSource time) {
    this.limits = limits;
    this.ledger = new Ledger(store, observer, time);
    this.observer = observer;
    this.onFailure = onFailure;
  }

  private Plan plan(Act act, List<Transaction> transactions) {
    for (Transaction transaction : transactions) {
      if (transaction.terms().ofCaller()) {
        limits.get().catalogue().requireNoClash(transaction.name());
      }
    }
    return Plan.of(act, transactions);
  }

  Decision decide(Act act, Transaction transaction) {
    Plan plan = plan(act, List.of(transaction));
    long start = ledger.start();
    return observed(plan, decided(plan), start).get(0);
  }

  /** A spend or a check of one id, on the shortest way. */
  Decision decide(Act act, Buckets buckets, Terms terms, IdBytes bytes, String id, long cost) {
    Quota quota = terms.quota();
    if (isObserved() || quota == null || cost < 0 || cost > quota.burst()) {
      return decide(act, Transaction.of(terms, id).withCost(cost));
    }
    Charge.Act chargeAct = act == Act.SPEND ? Charge.Act.SPEND : Charge.Act.CHECK;
    Decision decision;
    try {
      decision =
          buckets.charge(
              bytes,
              id,
              chargeAct,
              quota.incrementNanos(cost),
              quota.offsetNanos(),
              terms.decision());
    } catch (StoreException e) {
      return onFailure(act, Transaction.of(terms, id).withCost(cost), e);
    }
    boolean inDebt = decision.denied() && decision.resetInNanos() > quota.offsetNanos();
    return inDebt && act == Act.SPEND
        ? decide(act, Transaction.of(terms, id).withCost(cost)) // which may forgive it
        : decision;
  }

  Decision onFailure(Act act, Transaction transaction, StoreException failure) {
    return onFailure.decide(Plan.of(act, List.of(transaction)), failure).get(0);
  }

  Buckets buckets(LimitName name) {
    return ledger.buckets(name.number() + ":");
  }

  /** Whether decisions can't be left to the store alone: somebody watches, or a rule stands by. */
  boolean mayAnswerForTheStore() {
    return isObserved() || !onFailure.alwaysFail();
  }

  boolean isObserved() {
    return observer != NOBODY;
  }

  Decision decide(Act act, List<Transaction> transactions) {
    Plan plan = plan(act, transactions);
    long start = ledger.start();
    return plan.strictest(observed(plan, decided(plan), start));
  }

  CompletionStage<Decision> decideAsync(Act act, Transaction transaction) {
    Plan plan = plan(act, List.of(transaction));
    long start = ledger.start();
    return decidedAsync(plan, decisions -> observed(plan, decisions, start).get(0));
  }

  CompletionStage<Decision> decideAsync(Act act, List<Transaction> transactions) {
    Plan plan = plan(act, transactions);
    long start = ledger.start();
    return decidedAsync(plan, decisions -> plan.strictest(observed(plan, decisions, start)));
  }

  private List<Decision> decided(Plan plan) {
    try {
      return plan.decide(ledger.charge(plan.act(), plan.charges(), plan.isAlone()));
    } catch (StoreException e) {
      return onFailure.decide(plan, e);
    }
  }

  private CompletionStage<Decision> decidedAsync(
      Plan plan, Function<List<Decision>, Decision> verdict) {
    return ledger.chargeAsync(
        plan.act(),
        plan.charges(),
        plan.isAlone(),
        (readings, failure) ->
            verdict.apply(
                failure == null
                    ? plan.decide(readings)
                    : onFailure.decide(plan, storeException(failure))));
  }

  /** The store's own failure, for a rule; anything else is a mistake, and is thrown on. */
  private static StoreException storeException(Throwable failure) {
    Throwable cause = Ledger.unwrapped(failure);
    if (cause instanceof StoreException e) {
      return e;
    }
    throw failure instanceof CompletionException e ? e : new CompletionException(cause);
  }

  void reset(List<Transaction> transactions) {
    Plan plan = plan(Act.RESET, transactions);
    var unused = ledger.charge(Act.RESET, plan.charges());
  }

  CompletionStage<Void> resetAsync(List<Transaction> transactions) {
    Plan plan = plan(Act.RESET, transactions);
    return ledger.chargeAsync(Act.RESET, plan.charges());
  }

  Reservation reserve(List<Transaction> transactions) {
    Plan plan = plan(Act.SPEND, transactions);
    List<Stretch> stretches = ledger.outstanding().open(plan.charges());
    long start = ledger.start();
    try {
      List<Reading> readings = ledger.charge(Act.SPEND, plan.charges(), plan.isAlone());
      return reserved(plan, readings, stretches, start);
    } catch (StoreException e) {
      ledger.outstanding().close(stretches);
      return degraded(plan, e, start);
    } catch (RuntimeException e) {
      ledger.outstanding().close(stretches);
      throw e;
    }
  }

  CompletionStage<Reservation> reserveAsync(List<Transaction> transactions) {
    Plan plan = plan(Act.SPEND, transactions);
    List<Stretch> stretches = ledger.outstanding().open(plan.charges());
    long start = ledger.start();
    return ledger.chargeAsync(
        Act.SPEND,
        plan.charges(),
        plan.isAlone(),
        (readings, failure) -> {
          boolean made = false;
          try {
            if (failure != null) {
              return degraded(plan, storeException(failure), start);
            }
            Reservation reservation = reserved(plan, readings, stretches, start);
            made = true;
            return reservation;
          } finally {
            if (!made) {
              ledger.outstanding().close(stretches);
            }
          }
        });
  }

  private Reservation reserved(
      Plan plan, List<Reading> readings, List<Stretch> stretches, long start) {
    Decision decision = plan.strictest(observed(plan, plan.decide(readings), start));
    List<Reservation.Asked> asked =
        Reservation.Asked.all(
            plan.transactions(), Plan::limiting, plan.charges(), readings, stretches);
    return Reservation.of(ledger, t -> t.quotaIn(limits.get()), decision, asked);
  }

  /** What it took from the rules' memory goes back there, and nothing to the store. */
  private Reservation degraded(Plan plan, StoreException e, long start) {
    return onFailure.reserve(
        limits, plan, e, decisions -> plan.strictest(observed(plan, decisions, start)));
  }

  Ledger ledger() {
    return ledger;
  }

  private List<Decision> observed(Plan plan, List<Decision> decisions, long start) {
    if (observer != NOBODY) {
      long elapsedNanos = System.nanoTime() - start;
      Decision whole = plan.strictest(decisions);
      decisions.forEach(part -> observer.decided(plan.actOn(part, whole), part, elapsedNanos));
    }
    return decisions;
  }
}
