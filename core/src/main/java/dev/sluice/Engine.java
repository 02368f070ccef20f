// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.LimiterObserver.Ending;
import dev.sluice.LimiterObserver.Spent;
import dev.sluice.PendingAcquire.Parking;
import dev.sluice.Plan.Looked;
import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Present;
import dev.sluice.Reservation.Receipt;
import dev.sluice.Reservation.Settlement;
import dev.sluice.Settling.Due;
import dev.sluice.Settling.Held;
import dev.sluice.TrackedStore.Holding;
import dev.sluice.internal.async.Stages;
import dev.sluice.internal.direct.DirectStore.Buckets;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.Field;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Makes all decisions, blocking or not: plans requests, charges the store, and applies failure
 * rules. {@link Limiter} and {@link AsyncLimiter} are public views of this class. Thread-safe.
 */
final class Engine {

  static final LimiterObserver NOBODY = new LimiterObserver() {};

  // More than 64 concurrent charges could overflow the bounded queue of a store.
  private static final int MOST_AT_ONCE = 64;
  private static final int MOST_TRIES = 8; // two tries are enough if no other caller interferes
  private static final String ASKS = "a request";

  private final CurrentLimits limits;
  private final TrackedStore store;
  private final LimiterObserver observer;
  private final FailureRules onFailure;
  private final MissingDefault onMissing;
  private final Parking parking;
  private final int mostWaiting;
  // Names of limits whose missing default has been registered.
  private final Set<String> missing = ConcurrentHashMap.newKeySet();

  Engine(
      CurrentLimits limits,
      BucketStore store,
      LimiterObserver observer,
      FailureRules onFailure,
      MissingDefault onMissing,
      TimeSource time,
      Parking parking,
      int mostWaiting) {
    this.limits = limits;
    this.store = new TrackedStore(store, observer, time);
    this.observer = observer;
    this.onFailure = onFailure;
    this.onMissing = onMissing;
    this.parking = parking;
    this.mostWaiting = mostWaiting;
  }

  private Plan plan(Act act, List<Transaction> transactions) {
    requireUsable(transactions);
    return Plan.of(limits.get(), act, transactions);
  }

  /** Returns an immutable batch of one transaction, so {@link Plan} need not copy the batch. */
  static List<Transaction> alone(Transaction transaction) {
    return List.of(Objects.requireNonNull(transaction, "transaction"));
  }

  /**
   * Throws an exception if a limit's name clashes with the catalogue, if its quota is missing, or
   * if a transaction of a standalone limit is not for this engine.
   */
  void requireUsable(List<Transaction> transactions) {
    boolean open = false;
    for (Transaction transaction : Objects.requireNonNull(transactions, "transactions")) {
      if (Objects.requireNonNull(transaction, "transaction").effective().ofCaller()) {
        requireOwn(transaction.name());
      }
      open |= transaction.coverage().isMissing();
    }
    if (open) {
      meetMissing(
          transactions.stream()
              .filter(transaction -> transaction.coverage().isMissing())
              .map(Transaction::name)
              .toList());
    }
  }

  @SuppressWarnings("ReferenceEquality") // an application can have an equal name
  private void requireOwn(LimitName name) {
    Catalogue catalogue = limits.get().catalogue();
    // All standalone limits have one name, so in the store of a limiter they would share buckets.
    if (name == Limit.ALONE && catalogue.find(name.name()) != name) {
      throw new InvalidRequestException(
          Field.LIMIT,
          "found a transaction of Limit.of(…), whose buckets are in its own memory; for a batch, give the limit a name: limiter.limit(LimitName, Quota)");
    }
    catalogue.requireNoClash(name);
  }

  /** Throws an exception for a limit that has neither a default nor an override. */
  void requireConfigured(LimitName name) {
    if (limits.get().coverage(name) == Coverage.NOT_CONFIGURED) {
      meetMissing(List.of(name));
    }
  }

  /**
   * Registers that requests need a default of these limits, so that a missing default is counted,
   * and logged if the policy is WARN. Never registers the policy REFUSE, so that limits without the
   * default can still be loaded.
   */
  private void meetMissing(List<LimitName> names) {
    boolean warns = onMissing == MissingDefault.WARN;
    MissingDefault told = warns ? MissingDefault.WARN : MissingDefault.ALLOW;
    for (LimitName name : names) {
      if (missing.add(name.name())
          && limits.unmet(limits.get()).stream()
              .noneMatch(one -> one.limit().equals(name.name()))) {
        limits.require(List.of(new Requirement(name.name(), ASKS, told)));
      }
    }
    if (onMissing == MissingDefault.REFUSE) {
      throw MissingDefaultException.of(names);
    }
  }

  MissingDefault onMissing() {
    return onMissing;
  }

  Decision onFailure(Act act, Transaction transaction, StoreException failure) {
    Plan plan = Plan.unpenalized(limits.get(), act, transaction);
    return onFailure.now().decide(plan, failure).get(0);
  }

  @Nullable Buckets buckets(LimitName name) {
    return store.buckets(name.bucketKey(""));
  }

  /** Returns whether an observer must be told of decisions, or a failure rule can decide. */
  boolean mayAnswerForTheStore() {
    return isObserved() || !onFailure.alwaysFail();
  }

  LimiterObserver observer() {
    return observer;
  }

  boolean isObserved() {
    return observer != NOBODY;
  }

  Decision decide(Act act, Transaction transaction) {
    return decideWithin(store.blockingCall(), act, transaction);
  }

  /**
   * Decides on one transaction within a blocking call, which may already have charged the store.
   */
  Decision decideWithin(BucketStore call, Act act, Transaction transaction) {
    return TrackedStore.result(answer(call, plan(act, alone(transaction)), Plan::only));
  }

  CompletionStage<Decision> decideAsync(Act act, Transaction transaction) {
    return answer(store.oneCall(), plan(act, alone(transaction)), Plan::only);
  }

  Decision decideBatch(Act act, List<Transaction> transactions) {
    return TrackedStore.result(
        answer(store.blockingCall(), plan(act, transactions), Plan::strictest));
  }

  CompletionStage<Decision> decideBatchAsync(Act act, List<Transaction> transactions) {
    return answer(store.oneCall(), plan(act, transactions), Plan::strictest);
  }

  /**
   * Decides on independent spends for one caller, up to 64 spends concurrently. The first spend is
   * made alone on the caller's thread, since a store can refuse a caller whose thread is not
   * allowed to block.
   *
   * @throws StoreException the first failure for which no failure rule decides, thrown when no
   *     spend is in flight. After an interrupt, the caller no longer waits for the spends in flight
   */
  List<Decision> decideEach(List<Transaction> spends) {
    BucketStore call = store.oneCall();
    List<Decision> decisions = new ArrayList<>(spends.size());
    for (Transaction first : spends.subList(0, Math.min(1, spends.size()))) {
      decisions.add(decideWithin(TrackedStore.blocking(call), Act.SPEND, first));
    }
    for (int from = 1; from < spends.size(); from += MOST_AT_ONCE) {
      int to = Math.min(from + MOST_AT_ONCE, spends.size());
      List<CompletableFuture<Decision>> underWay =
          spends.subList(from, to).stream()
              .map(spend -> answer(call, plan(Act.SPEND, List.of(spend)), Plan::only))
              .map(CompletionStage::toCompletableFuture)
              .toList();
      CompletableFuture<Void> all =
          CompletableFuture.allOf(underWay.toArray(new CompletableFuture<?>[0]));
      try {
        parking.await(all);
      } catch (InterruptedException e) {
        underWay.forEach(decided -> decided.cancel(false));
        Thread.currentThread().interrupt();
        StoreException failure =
            new StoreException(
                "interrupted while the store decided on several ids; some ids may have been charged",
                e);
        for (int i = from; i < spends.size(); i++) {
          CompletableFuture<Decision> asked = i < to ? underWay.get(i - from) : null;
          decisions.add(
              asked != null && !asked.isCompletedExceptionally()
                  ? asked.join()
                  : undecided(spends.get(i), failure));
        }
        return decisions;
      } catch (ExecutionException e) {
        throw amongOthers(TrackedStore.thrown(e.getCause()));
      }
      underWay.forEach(decided -> decisions.add(decided.join()));
    }
    return decisions;
  }

  /** Returns the failure of one of several ids, which does not say that nothing was charged. */
  static RuntimeException amongOthers(RuntimeException failure) {
    return TrackedStore.chargedNothing(failure)
        ? new StoreException(
            "one of several ids failed, and others may have been charged: "
                + String.valueOf(failure.getMessage()).replace("; nothing was charged", ""),
            failure)
        : failure;
  }

  private Decision undecided(Transaction spend, StoreException failure) {
    Plan plan = plan(Act.SPEND, List.of(spend));
    return plan.only(observed(plan, onFailure.now().decide(plan, failure), store.start()));
  }

  /** Makes a decision. All decisions on transactions come from {@code answer}. */
  private CompletionStage<Decision> answer(
      BucketStore call, Plan plan, BiFunction<Plan, List<Decision>, Decision> verdict) {
    long start = store.start();
    if (!plan.isPenalized()) {
      return charged(call, plan, verdict, start);
    }
    return afterLook(
        call,
        plan,
        decisions -> verdict.apply(plan, observed(plan, decisions, start)),
        e -> verdict.apply(plan, observed(plan, onFailure.now().decide(plan, e), start)),
        rest -> charged(call, rest, verdict, start));
  }

  private CompletionStage<Decision> charged(
      BucketStore call, Plan plan, BiFunction<Plan, List<Decision>, Decision> verdict, long start) {
    if (plan.isUpToOfSeveral()) {
      return chargedUpTo(call, plan, verdict, start, MOST_TRIES);
    }
    return store.charge(
        call,
        plan.act(),
        plan.charges(),
        plan.depths(),
        (readings, failure) -> {
          List<Decision> decisions =
              failure == null
                  ? plan.decide(readings)
                  : onFailure.now().decide(plan, storeException(failure));
          return verdict.apply(plan, observed(plan, decisions, start));
        });
  }

  /**
   * Spends as many tokens as the buckets have: retries with fewer tokens until a spend is allowed;
   * the last try is for one token.
   */
  private CompletionStage<Decision> chargedUpTo(
      BucketStore call,
      Plan plan,
      BiFunction<Plan, List<Decision>, Decision> verdict,
      long start,
      int tries) {
    Plan tried = tries == 1 ? plan.upTo(1) : plan;
    CompletionStage<CompletionStage<Decision>> charged =
        store.charge(
            call,
            tried.act(),
            tried.charges(),
            tried.depths(),
            (readings, failure) -> {
              List<Decision> decisions =
                  failure == null
                      ? tried.decide(readings)
                      : onFailure.now().decide(tried, storeException(failure));
              Plan next = failure == null ? tried.withWhatFits(decisions) : null;
              return next == null
                  ? CompletableFuture.completedFuture(
                      verdict.apply(tried, observed(tried, decisions, start)))
                  : chargedUpTo(call, next, verdict, start, tries - 1);
            });
    return Stages.flat(charged);
  }

  /**
   * Reads the buckets to find out which penalties of a plan are in force, and continues with the
   * rest of the plan.
   *
   * @param done a function that computes the result of a check, or of a plan that a penalty denies
   * @param otherwise a function that computes the result of a store failure
   * @param then a function that charges the store for the rest of the plan
   */
  private <T> CompletionStage<T> afterLook(
      BucketStore call,
      Plan plan,
      Function<List<Decision>, T> done,
      Function<StoreException, T> otherwise,
      Function<Plan, CompletionStage<T>> then) {
    if (!plan.isPenalized()) {
      return then.apply(plan);
    }
    CompletionStage<CompletionStage<T>> looked =
        store.charge(
            call,
            Act.CHECK,
            plan.looks(),
            Debts.NEVER_FORGIVES,
            (readings, failure) -> {
              if (failure != null) {
                return CompletableFuture.completedFuture(otherwise.apply(storeException(failure)));
              }
              Looked found = plan.looked(readings);
              return found.decisions() == null
                  ? then.apply(found.plan())
                  : CompletableFuture.completedFuture(done.apply(found.decisions()));
            });
    return Stages.flat(looked);
  }

  /** Returns a store's failure, for which failure rules decide; rethrows any other failure. */
  static StoreException storeException(Throwable failure) {
    Throwable cause = Stages.cause(failure);
    if (cause instanceof StoreException e) {
      return e;
    }
    throw failure instanceof CompletionException e ? e : new CompletionException(cause);
  }

  void reset(List<Transaction> transactions) {
    TrackedStore.result(reset(store.blockingCall(), transactions));
  }

  CompletionStage<Void> resetAsync(List<Transaction> transactions) {
    return reset(store.oneCall(), transactions);
  }

  private CompletionStage<Void> reset(BucketStore call, List<Transaction> transactions) {
    return store.charge(call, Act.RESET, plan(Act.RESET, transactions).charges());
  }

  Reservation reserve(List<Transaction> transactions) {
    return TrackedStore.result(reserve(store.blockingCall(), transactions));
  }

  CompletionStage<Reservation> reserveAsync(List<Transaction> transactions) {
    return reserve(store.oneCall(), transactions);
  }

  private CompletionStage<Reservation> reserve(BucketStore call, List<Transaction> transactions) {
    Plan plan = plan(Act.SPEND, transactions);
    long start = store.start();
    return afterLook(
        call,
        plan,
        decisions -> unreserved(plan, decisions, start),
        e -> degraded(plan, e, start),
        rest ->
            store.hold(
                call,
                rest.charges(),
                rest.depths(),
                holding -> reserved(rest, holding, start),
                failure -> degraded(rest, storeException(failure), start)));
  }

  void cancel(Receipt receipt) {
    TrackedStore.result(cancel(store.blockingCall(), receipt));
  }

  CompletionStage<Void> cancelAsync(Receipt receipt) {
    return cancel(store.oneCall(), receipt);
  }

  private CompletionStage<Void> cancel(BucketStore call, Receipt receipt) {
    return store.charge(call, Act.REFUND, receipt.refunds(t -> Present.of(limits.get(), t)));
  }

  Settlement settle(Receipt receipt, Costs costs) {
    return TrackedStore.result(settle(store.blockingCall(), receipt, costs));
  }

  CompletionStage<Settlement> settleAsync(Receipt receipt, Costs costs) {
    return settle(store.oneCall(), receipt, costs);
  }

  private CompletionStage<Settlement> settle(BucketStore call, Receipt receipt, Costs costs) {
    List<Held> helds = receipt.held(store);
    List<Due> due = Costs.due(helds, costs.trueCosts(helds), t -> Present.of(limits.get(), t));
    return new Settling(store, due, () -> {}).settle(call);
  }

  private Reservation reserved(Plan plan, Holding holding, long start) {
    Decision decision = plan.strictest(observed(plan, plan.decide(holding.readings()), start));
    return new Reservation(
        store,
        t -> Present.of(limits.get(), t),
        decision,
        Reservation.Taken.all(plan.transactions(), Plan::limiting, holding));
  }

  /** Returns a reservation that a penalty denied, and which has no tokens. */
  private Reservation unreserved(Plan plan, List<Decision> decisions, long start) {
    Decision decision = plan.strictest(observed(plan, decisions, start));
    return new Reservation(store, t -> Present.of(limits.get(), t), decision, List.of());
  }

  /** Returns a reservation made by the failure rules, with tokens from the rules' own store. */
  private Reservation degraded(Plan plan, StoreException e, long start) {
    return onFailure
        .now()
        .reserve(limits, plan, e, decisions -> plan.strictest(observed(plan, decisions, start)));
  }

  /** Spends tokens, and blocks the caller's thread until the tokens have refilled. */
  Decision acquire(List<Transaction> transactions, Duration maxWait) throws InterruptedException {
    PendingAcquire.requireNotInterrupted();
    Plan plan = acquirePlan(transactions, maxWait);
    CompletableFuture<PendingAcquire> asked =
        grant(plan, maxWait, store.start()).toCompletableFuture();
    PendingAcquire grant;
    try {
      grant = parking.await(asked);
    } catch (InterruptedException e) {
      Stages.onSuccess(asked, PendingAcquire::giveUp);
      throw new InterruptedException(
          "interrupted while the store decided; tokens that the store took are given back when its answer arrives");
    } catch (ExecutionException e) {
      throw TrackedStore.thrown(e.getCause());
    }
    grant.await(parking);
    return grant.decision();
  }

  /** Spends tokens; the stage completes when they have refilled. The wait occupies no thread. */
  CompletionStage<Decision> acquireAsync(List<Transaction> transactions, Duration maxWait) {
    Plan plan = acquirePlan(transactions, maxWait);
    CompletableFuture<Decision> answer = new CompletableFuture<>();
    // The store call is not cancelled: without its answer, spent tokens could not be given back.
    Stages.onEnd(
        grant(plan, maxWait, store.start()).thenAccept(grant -> grant.complete(answer)),
        (entered, failure) -> {
          if (failure != null) {
            answer.completeExceptionally(Stages.cause(failure));
          }
        });
    return answer;
  }

  /**
   * Spends tokens from the store, or by the failure rules if the store failed; does not wait for
   * the tokens.
   */
  private CompletionStage<PendingAcquire> grant(Plan plan, Duration maxWait, long start) {
    BucketStore call = store.oneCall();
    long askedNanos = store.waitQueues().asks();
    Function<List<Decision>, Decision> verdict =
        decisions -> plan.strictest(refused(plan, maxWait, observed(plan, decisions, start)));
    return afterLook(
        call,
        plan,
        decisions ->
            new PendingAcquire(
                verdict.apply(decisions), store.waitQueues(), List.of(), askedNanos, observer),
        e -> onFailure.now().acquire(plan, e, verdict, observer),
        rest ->
            store.charge(
                call,
                Act.SPEND,
                rest.charges(),
                rest.depths(),
                (readings, failure) ->
                    failure == null
                        ? new PendingAcquire(
                            verdict.apply(rest.decide(readings)),
                            store.waitQueues(),
                            rest.taken(rest.charges(), readings, Plan::limiting),
                            askedNanos,
                            observer)
                        : onFailure
                            .now()
                            .acquire(plan, storeException(failure), verdict, observer)));
  }

  /** Reports to the observer that the limiter denied a caller who was willing to wait. */
  private List<Decision> refused(Plan plan, Duration maxWait, List<Decision> decisions) {
    if (observer != NOBODY && !maxWait.isZero() && plan.strictest(decisions).denied()) {
      plan.denying(decisions).forEach(limit -> observer.waited(limit, Ending.REFUSED, 0));
    }
    return decisions;
  }

  private Plan acquirePlan(List<Transaction> transactions, Duration maxWait) {
    requireUsable(transactions);
    Limits now = limits.get();
    Plan plan = Plan.ofAcquire(now, transactions, maxWait);
    return waiting() >= mostWaiting ? Plan.of(now, Act.SPEND, transactions) : plan;
  }

  TrackedStore store() {
    return store;
  }

  /** Returns how many callers wait for tokens, counting a caller once per bucket. */
  int waiting() {
    return store.waitQueues().size() + onFailure.waiting();
  }

  void observed(Decision decision, long start) {
    if (observer != NOBODY) {
      observer.decided(Act.SPEND, decision, System.nanoTime() - start);
    }
  }

  /** Reports spends to the observer; creates decisions only if the observer requests them. */
  void observed(LimitName limit, Spent spends, long elapsedNanos) {
    if (observer != NOBODY) {
      observer.spent(limit, spends, elapsedNanos);
    }
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
