// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.FailureRule;
import dev.sluice.Insides;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.postgres.Durability;
import dev.sluice.postgres.PostgresStore;
import dev.sluice.postgres.PostgresStoreBuilder;
import dev.sluice.postgres.SimulatedStore;
import dev.sluice.redis.Callers.Held;
import dev.sluice.redis.World.Actor;
import dev.sluice.remote.RemoteStore;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A simulated process: a real {@link Limiter} on a real store. The process's callers carry out the
 * steps of the plan.
 */
final class SimulatedProcess {

  private static final int SHORT_QUEUE = 24; // without a fault, such a queue is never full

  /** Ids with equal hash codes. */
  private static final List<String> ALIKE = List.of("sAaAa", "sAaBB", "sBBAa");

  private static final int GIVEN_BACK = 16; // number of refunds, which fit into a short queue
  private static final int ASKED = 12; // number of buckets, enough for each server to have some
  // the time in which all limits except Z refill completely
  private static final long LONGEST_REFILL_NANOS = 1_000_000_000;
  private static final long START_NANOS = 1_000_000_000_000L; // monotonic time at the start

  private final int index;
  private final World world;
  private final Fleet fleet;
  private final Reference reference;
  private final Calls calls;
  private final SimulatedTiming timing;
  private final SimulatedTime time;
  private final SimulatedNetwork network;
  private final SimulatedClock clock; // the clock for buckets that use client clocks
  private final StoreWatch storeWatch;
  private final LimiterWatch limiterWatch = new LimiterWatch();
  private final boolean lingers;
  private final int plainLimits;
  private final boolean alike; // whether the shared ids have equal hash codes
  private final CurrentLimits limits;
  private final BucketStore store;
  private final Predicate<String> isIdle; // by bucket key
  private final Limiter limiter;
  private final Callers callers;
  private final SimulatedLeases leases;
  private @Nullable Held heldToTheEnd;
  private boolean spentToTheEnd;
  private boolean forgets; // whether the limiter no longer tracks unclosed reservations

  SimulatedProcess(int index, Plan plan, World world, Fleet fleet, Reference reference, Dice dice) {
    this.index = index;
    this.world = world;
    this.fleet = fleet;
    this.reference = reference;
    Conditions conditions = Conditions.of(plan, index);
    SimulatedClock monotonic = monotonic(plan.setting("pacesDiffer") > 0, world, dice.fork(4));
    this.timing = new SimulatedTiming(world, monotonic, dice.fork(1), "p" + index);
    this.time = new SimulatedTime(world, monotonic, dice.fork(5), "p" + index);
    ConnectionJudge connects = new ConnectionJudge(index, world, plan);
    this.network = new SimulatedNetwork(world, fleet, dice.fork(2), connects, index, plan);
    this.storeWatch =
        new StoreWatch(world, timing, fleet, network, connects, conditions.timeoutNanos());
    this.lingers = plan.setting(Plan.LINGERS) > 0;
    this.plainLimits = plan.setting("limitsDiffer") * index;
    this.alike = plan.setting("alike") > 0;
    this.limits = new CurrentLimits(SimulatedLimits.of(plainLimits));
    this.calls = new Calls(index, world, fleet, reference, limits, plan);
    this.calls.watch(storeWatch::isGivenUp);
    connects.watch(calls);
    this.network.tellOfSent(calls::sends);
    this.clock = clock(conditions, plan.setting("clocksDiffer") > 0, world, dice.fork(3));
    if (fleet.topology == Fleet.Topology.DATABASE) {
      RemoteStore database = database(conditions);
      this.store = database;
      this.isIdle = database::isIdle;
    } else {
      RedisStore redis = redis(conditions);
      this.store = redis;
      this.isIdle = redis::isIdle;
    }
    SimulatedWaiting waiting = new SimulatedWaiting(world);
    Limiter.Builder made =
        Limiter.builder(limits, store)
            .onFailure(rule(conditions.onFailure(), conditions))
            .time(time)
            .observer(limiterWatch);
    if (conditions.onFailureOfB() != conditions.onFailure()) {
      made.onFailure("B", rule(conditions.onFailureOfB(), conditions));
    }
    this.limiter = Insides.waiting(made, waiting).build();
    this.callers = new Callers(calls, limiter, waiting, network.latencyNanos(), limiterWatch::lost);
    this.leases = new SimulatedLeases(calls, limiter, time::nanos);
  }

  private RedisStore redis(Conditions conditions) {
    RedisStoreBuilder builder =
        RedisStore.builder(fleet.topology.uri)
            .observer(storeWatch)
            .timeout(Duration.ofNanos(conditions.timeoutNanos()));
    if (conditions.shortQueues()) {
      builder.queue(SHORT_QUEUE);
    }
    if (conditions.clientClocks()) {
      boolean alone = conditions.processes() == 1;
      builder.clock(clock::nanos).skew(Duration.ofNanos(alone ? 0 : 2 * Fleet.MOST_SKEW_NANOS));
    }
    return builder.open(timing, network, () -> {});
  }

  private RemoteStore database(Conditions conditions) {
    PostgresStoreBuilder builder =
        PostgresStore.builder(network.database())
            .durability(Durability.SYNC)
            .observer(storeWatch)
            .timeout(Duration.ofNanos(conditions.timeoutNanos()));
    if (conditions.shortQueues()) {
      builder.queue(SHORT_QUEUE);
    }
    return SimulatedStore.open(builder, timing);
  }

  /** Closes the store, and lets its threads run to their ends. */
  void endThreads() {
    store.close();
    timing.endThreads();
  }

  /** Returns a monotonic clock, which drifts if {@code pacesDiffer}. */
  private static SimulatedClock monotonic(boolean pacesDiffer, World world, Dice dice) {
    long most = pacesDiffer ? Fleet.MOST_PACE_PPM : 0;
    return new SimulatedClock(world, START_NANOS, dice.between(-most, most));
  }

  private static SimulatedClock clock(
      Conditions conditions, boolean differs, World world, Dice dice) {
    boolean isAlone = !(conditions.clientClocks() && differs);
    return new SimulatedClock(
        world,
        Fleet.START_NANOS
            + (isAlone ? 0 : dice.between(-Fleet.MOST_SKEW_NANOS, Fleet.MOST_SKEW_NANOS)),
        isAlone ? 0 : dice.between(-Fleet.MOST_DRIFT_PPM, Fleet.MOST_DRIFT_PPM));
  }

  private static FailureRule rule(int kind, Conditions conditions) {
    return switch (kind) {
      case 1 -> FailureRule.allow();
      case 2 -> FailureRule.deny();
      case 3 -> FailureRule.local(conditions.processes());
      default -> FailureRule.fail();
    };
  }

  SimulatedNetwork network() {
    return network;
  }

  // The plan

  private String id(int number) {
    if (number < 3) {
      return alike ? ALIKE.get(number) : "s" + number; // all processes use this id
    }
    if (number > 5) {
      return "l" + (number - 6); // leases use this id
    }
    return number < 5
        ? "p" + index + "-" + number
        : "f" + index + "-" + calls.number(); // only this step uses this id
  }

  private Transaction transaction(int limit, int id, int cost) {
    return limiter.transaction(SimulatedLimits.nameOf(limit), id(id)).withCost(cost);
  }

  private Transaction transaction(Step step) {
    return transaction(step.number(0), step.number(1), step.number(2));
  }

  private List<Transaction> some(Step step) {
    List<Transaction> some = new ArrayList<>();
    for (int i = 0; i < step.number(1); i++) {
      some.add(transaction(i % 2, (step.number(0) + i) % 6, step.number(2)));
    }
    return some;
  }

  /**
   * Returns a batch of required spends, checks, optional spends and, if {@code first} is at least
   * 3, unlimited ids.
   *
   * @param first the kind of the first transaction
   */
  private List<Transaction> someOfEachKind(Step step, int first) {
    List<Transaction> some = new ArrayList<>();
    for (Transaction one : some(step)) {
      int kind = (first + some.size()) % (first < 3 ? 3 : 4);
      some.add(
          switch (kind) {
            case 0 -> one;
            case 1 -> one.checkOnly();
            case 2 -> one.spendOnly();
            default -> one.allowOnly();
          });
    }
    return some;
  }

  /**
   * Executes a step.
   *
   * @param processes all processes of the world
   */
  void run(Step step, List<SimulatedProcess> processes) {
    calls.nextStep();
    switch (step.kind()) {
      case SPEND -> callers.spend(transaction(step));
      case SPEND_UP_TO ->
          callers.spendUpTo(transaction(step.number(0), step.number(1), 1), step.number(2));
      case SPEND_GIVEN_UP ->
          callers.spendAndGiveUp(List.of(transaction(step)), step.number(3) * 1_000L);
      case SPEND_BLOCKING -> callers.spendBlocking(transaction(step));
      case CHECK -> callers.check(List.of(transaction(step)));
      case CHECK_BATCH -> callers.check(someOfEachKind(step, step.number(3)));
      case REFUND -> callers.refund(List.of(transaction(step)));
      case RESET -> callers.reset(List.of(transaction(step.number(0), step.number(1), 1)));
      case BATCH -> callers.batch(some(step));
      case BATCH_GIVEN_UP -> callers.spendAndGiveUp(some(step), step.number(3) * 1_000L);
      case MIXED_BATCH -> callers.batch(someOfEachKind(step, step.number(3)));
      case REFUND_BATCH -> callers.refund(some(step));
      case MIXED_REFUND -> callers.refund(someOfEachKind(step, step.number(3)));
      case RESET_BATCH -> callers.reset(some(step));
      case DENIED_BATCH -> deniedBatch(step.number(1));
      case DRAIN -> callers.spend(limiter.transaction("Z", "e" + step.number(0)));
      case OBSERVE -> callers.check(List.of(limiter.transaction("A", "o0").withCost(5)));
      case RESERVE -> callers.reserve(List.of(transaction(step)), step.number(3));
      case RESERVE_TOGETHER -> {
        for (int i = 0; i < step.number(2); i++) {
          Transaction one = transaction(step.number(0), step.number(1), 1);
          callers.reserveOneOfSeveral(one, step.number(3), i, step.numberOr(4, 0));
        }
      }
      case RESERVE_BATCH ->
          callers.reserve(
              step.has(4) ? someOfEachKind(step, step.number(4)) : some(step),
              step.number(3),
              held -> callers.cancelSome(held, one -> !one.name().equals(SimulatedLimits.A)));
      case RESERVE_BLOCKING ->
          callers.reserve(
              List.of(transaction(step)),
              step.number(3),
              held -> callers.cancelSome(held, one -> true));
      case RESERVE_ELSEWHERE -> {
        Callers elsewhere = processes.get(step.number(4) % processes.size()).callers;
        callers.reserveFor(elsewhere, transaction(step), step.number(3));
      }
      case RESERVE_SETTLED ->
          callers.reserve(
              List.of(transaction(step)),
              step.number(3),
              held -> callers.settle(held, step.number(4)));
      case LIMITS -> limits.replace(SimulatedLimits.of(step.number(0)));
      case OVERRIDES -> override(id(step.number(0)), step.number(1));
      case PENALTY -> penalize(step);
      case LEASE ->
          leases.spend(
              SimulatedLimits.nameOf(step.number(0)), "l" + step.number(1), step.number(2));
      case LEASE_CLOSE ->
          leases.close(SimulatedLimits.nameOf(step.number(0)), "l" + step.number(1));
      case ACQUIRE ->
          callers.acquire(
              List.of(waitedFor(step)), Duration.ofMillis(step.number(2)), step.number(3) * 1_000L);
      case ACQUIRE_BLOCKING ->
          callers.acquireBlocking(
              List.of(waitedFor(step)), Duration.ofMillis(step.number(2)), step.number(3) * 1_000L);
      case ACQUIRE_BATCH ->
          callers.acquire(
              IntStream.range(0, step.number(1)).mapToObj(i -> oneOfSeveral(step, i)).toList(),
              Duration.ofMillis(step.number(3)),
              step.number(4) * 1_000L);
      case BLOCK -> calls.blockNext(step.number(0) * 1_000_000L);
      case OBSERVER_THROWS -> storeWatch.throwNext(thrown(step));
      case LIMITER_OBSERVER_THROWS -> limiterWatch.throwNext(thrown(step));
      case TIMER_THROWS -> timing.throwNext(network::timerFailed);
      case PROCESS_CLOCK_STEP -> stepClock(step.number(0) * 1_000_000L);
      case CONNECT_SLOWLY -> network.connectSlowly(step.number(0) * 1_000_000L);
      case SLOW_CALLS -> network.slowCalls(step.number(0) * 1_000_000L);
      case CONNECT_ERROR -> network.failToConnectWithError();
      default -> throw new IllegalArgumentException("not a step of a process: " + step);
    }
  }

  private Transaction waitedFor(Step step) {
    LimitName limit = step.numberOr(4, 0) == 1 ? SimulatedLimits.V : SimulatedLimits.W;
    return limiter.transaction(limit.name(), id(step.number(0))).withCost(step.number(1));
  }

  private Transaction waitedFor(int id, int cost) {
    return limiter.transaction(SimulatedLimits.W.name(), id(id)).withCost(cost);
  }

  private Transaction oneOfSeveral(Step step, int number) {
    Transaction one = waitedFor((step.number(0) + number) % 6, step.number(2));
    return number % 2 == 1 && step.numberOr(5, 0) == 1 ? one.spendOnly() : one;
  }

  private static Throwable thrown(Step step) {
    return step.number(0) == 0
        ? new IllegalStateException("thrown by an observer")
        : new NoClassDefFoundError("thrown by an observer");
  }

  /** Replaces the override of an id. A burst of 0 removes all overrides. */
  private void override(String id, int burst) {
    Limits now = limits.get();
    limits.replace(
        burst == 0
            ? SimulatedLimits.of(plainLimits)
            : now.withOverrides(List.of(SimulatedLimits.override(id, burst))));
  }

  /** Sets or lifts a penalty. The clock of the bucket's server decides when the penalty ends. */
  private void penalize(Step step) {
    Transaction one = transaction(step.number(0), step.number(1), 1);
    SimulatedServer server = reference.serverOf(one.bucketKey());
    long nowNanos = server == null ? Fleet.START_NANOS + world.now() : server.clock.nanos();
    Instant until = Instant.ofEpochSecond(0, nowNanos + step.number(2) * 1_000_000L);
    limits.replace(SimulatedLimits.penalized(limits.get(), one.name().name(), one.id(), until));
  }

  private void stepClock(long nanos) {
    clock.step(nanos);
    reference.clockOfAProcessStepped();
  }

  /**
   * Sends a batch on a bucket that OBSERVE steps check and on a bucket that is empty for an hour.
   */
  private void deniedBatch(int partner) {
    callers.batch(
        List.of(
            limiter.transaction("A", "o0").withCost(5), limiter.transaction("Z", "e" + partner)));
  }

  // The end of the run

  /** Requires that the store answers again after all faults, and prepares the final checks. */
  void requireRecovered() {
    askEach(
        "spend after all faults",
        1,
        (operation, decision, failure) -> {
          String answer =
              failure == null ? String.valueOf(decision) : String.valueOf(failure.getMessage());
          operation.end(answer);
          if (decision == null || decision.degraded()) {
            world.violated(
                () -> operation + " was not decided, though all faults are over: " + answer);
          }
        });
    callers.reserve(
        List.of(atTheEnd("c")),
        0,
        held -> heldToTheEnd = held.made().granted().isEmpty() ? null : held);
    callers.ask(
        "spend",
        atTheEnd("x"),
        (operation, decision, failure) -> {
          operation.ended(decision, failure);
          spentToTheEnd = decision != null && !decision.degraded();
        });
    // A penalty would deny the reservations of reserveAgain.
    limits.replace(limits.get().withPenalties(List.of()));
    world.after(
        LONGEST_REFILL_NANOS,
        new Actor("caller"),
        () -> forgets = callers.reserveAgain(openStretches()));
  }

  /**
   * Calls each server that the final checks use. Calls on a silent connection time out, so that the
   * store replaces the connection.
   */
  void askAround() {
    askEach("ask", 0, Operation::ended);
    for (String id : List.of("c", "d", "x")) {
      calls.nextStep();
      callers.ask("ask", atTheEnd(id).withCost(0), Operation::ended);
    }
  }

  /** Returns whether the limiter tracks a bucket other than that of the last open reservation. */
  boolean follows() {
    return Insides.buckets(limiter) > (heldToTheEnd == null ? 0 : 1);
  }

  /** Refunds tokens to unused buckets, so that the limiter removes old refunds from its table. */
  void giveBackElsewhere() {
    for (int i = 0; i < GIVEN_BACK; i++) {
      calls.nextStep();
      callers.refund(List.of(limiter.transaction("A", "g" + index + "-" + calls.number())));
    }
  }

  private void askEach(String verb, int cost, Callers.Outcome outcome) {
    for (int i = 0; i < ASKED; i++) {
      calls.nextStep();
      callers.ask(verb, limiter.transaction("A", "r" + index + "-" + i).withCost(cost), outcome);
    }
  }

  /** Returns a transaction on a bucket that does not refill during the run. */
  private Transaction atTheEnd(String id) {
    return limiter.transaction("Z", id + index);
  }

  /** Requires that all queues, maps, counters and timers of the process are empty. */
  void requireIdle() {
    require(calls.outstanding() == 0, () -> "has " + calls.outstanding() + " calls in flight");
    for (String key : calls.asked()) {
      require(isIdle.test(key), () -> "has a call in flight to the server of " + key);
    }
    int open = openStretches();
    require(open == 0, () -> "tracks " + open + " reservations that nobody holds");
    // In a Cluster, the client library opens the connections. A database has several connections
    // per process.
    boolean isOwn =
        fleet.topology != Fleet.Topology.CLUSTER && fleet.topology != Fleet.Topology.DATABASE;
    require(!(isOwn && network.hasTooMany()), () -> "has two connections to a server");
    // The limiter tracks a failed refund for a minute.
    require(
        (calls.conditions.hasFaults() && !lingers) || !follows(),
        () -> "tracks " + Insides.buckets(limiter) + " buckets, instead of at most one");
    int inFlight = Insides.inFlight(limiter);
    require(inFlight == 0, () -> "counts " + inFlight + " refunds in flight");
    int waiting = Insides.waiting(limiter);
    require(waiting == 0, () -> "counts " + waiting + " waiting callers");
    String wrongWaits = limiterWatch.wrongWaits(calls.passed(), calls.gaveUpWaiting());
    require(wrongWaits == null, () -> String.valueOf(wrongWaits));
    require(time.pending() == 0, () -> "has " + time.pending() + " alarms");
    // With Sentinel, a timer in each process polls the Sentinels for the master's address.
    boolean asksSentinel = fleet.topology == Fleet.Topology.SENTINEL;
    require(
        timing.pending() <= (asksSentinel ? 2 : 0), () -> "has " + timing.pending() + " timers");
  }

  private void require(boolean right, Supplier<String> otherwise) {
    if (!right) {
      world.violated(() -> "at the end p" + index + " still " + otherwise.get());
    }
  }

  /** Starts three callers that need all tokens of a bucket, so that two of them wait. */
  void waitInLine() {
    Transaction all = limiter.transaction("W", "w" + index).withCost(3);
    for (int i = 0; i < 3; i++) {
      callers.acquire(List.of(all), Duration.ofMillis(300), -1);
    }
  }

  /**
   * Requires that a caller waits, so that the run tests closing the store with a waiting caller.
   */
  void requireInLine() {
    if (Insides.waiting(limiter) == 0) {
      world.violated(() -> "no caller of p" + index + " waits when its store is closed");
    }
  }

  /** Closes the store while calls are in flight. */
  void closeStore() {
    calls.close();
    askEach("spend before closing", 1, Operation::ended);
    Held held = heldToTheEnd;
    if (held != null) {
      callers.cancel(held);
    }
    if (spentToTheEnd) {
      callers.batch(List.of(atTheEnd("d"), atTheEnd("x"))); // denied, because x is empty
    }
    store.close();
  }

  /** Requires that all calls ended, and that closing the store waited for refunds in flight. */
  void requireClosed() {
    require(
        calls.outstanding() == 0,
        () -> "has " + calls.outstanding() + " calls in flight after closing its store");
    require(timing.pending() == 0, () -> "has " + timing.pending() + " timers of a closed store");
    require(
        Insides.waiting(limiter) == 0,
        () -> "still has callers that wait, after closing its store");
    require(timing.threads() == 0, () -> "has " + timing.threads() + " threads of a closed store");
    if (heldToTheEnd != null) {
      requireFull("c", "a reservation was cancelled");
    }
    requireFull("d", "a batch was denied");
  }

  private void requireFull(String id, String why) {
    String key = atTheEnd(id).bucketKey();
    require(reference.isFull(key), () -> "has not returned tokens to " + key + ", though " + why);
  }

  private int openStretches() {
    return Insides.openStretches(limiter) - (heldToTheEnd == null ? 0 : 1);
  }

  /** Closes all leases and reservations. */
  void close() {
    leases.closeAll();
    int open = openStretches();
    require(open == 0 || !forgets, () -> "tracks " + open + " reservations that are refilled");
    callers.closeAll();
  }
}
