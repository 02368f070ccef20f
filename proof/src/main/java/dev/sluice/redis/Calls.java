// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Transaction;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.redis.World.Actor;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The calls of one process: which are in flight, and on which buckets. Not thread-safe. */
final class Calls {

  // from this latency on, a message always takes longer than the work within a process
  private static final long SLOW_NANOS = 500_000;

  /** The topologies in which a bucket never moves to a server with another circuit breaker. */
  private static final Set<Fleet.Topology> LASTING_MASTERS =
      EnumSet.of(Fleet.Topology.SINGLE, Fleet.Topology.RING, Fleet.Topology.DATABASE);

  private static final long LATE_NANOS = 2_000_000_000;

  final int process;
  final World world;
  final Fleet fleet;
  final Reference reference;
  final Conditions conditions;
  final CurrentLimits limits;
  final LocalReference local;
  private final long latencyNanos;
  private Predicate<@Nullable SimulatedServer> isGivenUp = server -> false;
  private final Set<Operation> underWay = new LinkedHashSet<>();
  private final Map<String, Integer> asked = new HashMap<>(); // number of calls, by bucket key
  private final Set<String> givenUp = new HashSet<>(); // keys of buckets whose callers gave up
  private final Map<String, Forgotten> forgotten = new HashMap<>(); // by bucket key
  private final Map<String, Long> sentAt = new HashMap<>(); // by bucket key: the last moment
  // by bucket key: how many calls on the bucket had begun when the bucket's only caller gave up
  private final Map<String, Integer> takenBack = new HashMap<>();
  private int number;
  private int passed;
  private int gaveUpWaiting;
  private final Set<Operation> givingBack = new LinkedHashSet<>();
  private long begunGivingBack;
  private long nextBlocks;
  private boolean closing;

  Calls(
      int process, World world, Fleet fleet, Reference reference, CurrentLimits limits, Plan plan) {
    this.process = process;
    this.world = world;
    this.fleet = fleet;
    this.reference = reference;
    this.conditions = Conditions.of(plan, process);
    this.limits = limits;
    this.local = new LocalReference(conditions);
    this.latencyNanos = plan.latencyNanos();
  }

  /** Sets the function that returns whether the process has marked a server down. */
  void watch(Predicate<@Nullable SimulatedServer> newIsGivenUp) {
    isGivenUp = newIsGivenUp;
  }

  /** Counts a step of the plan. */
  void nextStep() {
    number++;
  }

  int number() {
    return number;
  }

  Operation begin(String verb, List<Transaction> transactions) {
    return begin(verb, transactions, 0);
  }

  /** Begins a call. The caller of this call waits for tokens for at most {@code waitNanos}. */
  Operation begin(String verb, List<Transaction> transactions, long waitNanos) {
    return new Operation(this, verb, transactions, waitNanos);
  }

  void began(Operation operation) {
    if (conditions.debtsAppear()) {
      underWay.forEach(operation::meets);
    }
    underWay.add(operation);
    for (Transaction transaction : operation.transactions()) {
      asked.merge(transaction.bucketKey(), 1, Integer::sum);
      if (!operation.givesUp()) {
        reference.lines().began(transaction.bucketKey(), operation.keepsLines());
      }
    }
    if (operation.givesBack()) {
      givingBack.add(operation);
      begunGivingBack++;
      for (Transaction one : operation.transactions()) {
        reference.together().began(process, one.bucketKey(), operation.takesOfOthers());
      }
    }
  }

  void ended(Operation operation) {
    if (underWay.remove(operation) && !operation.givesUp()) {
      operation.transactions().forEach(one -> reference.lines().ended(one.bucketKey()));
    }
  }

  /** Records that a caller gave up without knowing whether the bucket was charged. */
  void giveUpOn(String bucketKey) {
    givenUp.add(bucketKey);
    reference.lines().disturbed(bucketKey);
  }

  /**
   * Records that the store sends a call, which several callers can share. Reports a violation if no
   * caller waits for the call.
   */
  void sends(List<String> bucketKeys) {
    for (String key : bucketKeys) {
      sentAt.put(key, world.now());
      Integer count = takenBack.remove(key);
      if (count != null && count == countOf(key) && bucketKeys.size() == 1) {
        world.violated(
            () -> World.text("p%d sends a call on %s, though its caller gave up", process, key));
      }
    }
  }

  /**
   * Records that the only caller on a bucket gave up, so a call that was not sent yet must never be
   * sent.
   */
  void takesBack(Operation operation, String bucketKey) {
    if (sentAt.getOrDefault(bucketKey, Long.MIN_VALUE) < operation.start()) {
      takenBack.put(bucketKey, countOf(bucketKey));
    }
  }

  boolean gaveUpOn(String bucketKey) {
    return givenUp.contains(bucketKey);
  }

  /**
   * The oldest denials that a process is still allowed to remember for a bucket.
   *
   * @param since calls must not be denied because of the bucket's state before this moment
   * @param told calls that began before this moment can still be denied because of an older state
   */
  private record Forgotten(long since, long told) {}

  /**
   * Records that this process must forget a bucket's denials before the moment {@code since},
   * because a spend of this process was granted or failed.
   */
  void forgot(String bucketKey, long since) {
    forgotten.merge(
        bucketKey,
        new Forgotten(since, world.now()),
        (last, next) -> next.since > last.since ? next : last);
  }

  /**
   * Returns the moment of the oldest denial that this process may still remember for a bucket.
   *
   * @param start the start of the call that was denied
   */
  long forgottenSince(String bucketKey, long start) {
    Forgotten last = forgotten.get(bucketKey);
    return last == null || start < last.told ? Long.MIN_VALUE : last.since;
  }

  /** Records that a caller was admitted, perhaps after a wait. */
  void waitPassed() {
    passed++;
  }

  /** Records that a caller gave up, perhaps after a wait. */
  void waitGivenUp() {
    gaveUpWaiting++;
  }

  int passed() {
    return passed;
  }

  int gaveUpWaiting() {
    return gaveUpWaiting;
  }

  /** Records that the tokens that an operation returns have arrived at the servers. */
  void gaveBack(Operation operation) {
    if (!givingBack.remove(operation)) {
      return;
    }
    if (conditions.hasFaults()) { // a call without callers can still arrive later
      world.after(LATE_NANOS, new Actor("observer"), () -> over(operation));
    } else {
      over(operation);
    }
  }

  private void over(Operation operation) {
    for (Transaction one : operation.transactions()) {
      reference.together().ended(process, one.bucketKey(), operation.takesOfOthers());
    }
  }

  boolean giveBackNow() {
    return !givingBack.isEmpty();
  }

  /** Returns how many calls that return tokens have begun so far. */
  long begunGivingBack() {
    return begunGivingBack;
  }

  /**
   * Returns the start of the earliest call in flight that can return tokens to a bucket.
   *
   * @param otherwise the moment that is returned if no call in flight began earlier
   */
  long givingBackSince(String bucketKey, long otherwise) {
    return beganFirst(givingBack, one -> one.touches(bucketKey), otherwise);
  }

  /**
   * Returns the start of the earliest call in flight that spends from only this bucket, and so can
   * forgive a debt.
   *
   * @param otherwise the moment that is returned if no call in flight began earlier
   */
  long spendingAloneSince(String bucketKey, long otherwise) {
    return beganFirst(underWay, one -> one.spendsAlone() && one.touches(bucketKey), otherwise);
  }

  private static long beganFirst(
      Set<Operation> calls, Predicate<Operation> counts, long otherwise) {
    long since = otherwise;
    for (Operation one : calls) {
      if (counts.test(one)) {
        since = Math.min(since, one.start());
      }
    }
    return since;
  }

  /**
   * Returns whether the store must refuse a call at once, because the process has marked the server
   * of a bucket down. Returns false if it is uncertain whether the store must refuse the call.
   */
  boolean mustBeRefused(List<Transaction> transactions) {
    return LASTING_MASTERS.contains(fleet.topology)
        && !conditions.callersBlock()
        && latencyNanos >= SLOW_NANOS
        && transactions.stream()
            .filter(one -> one.kind() != Transaction.Kind.ALLOW_ONLY)
            .anyMatch(one -> isGivenUp.test(reference.serverOf(one.bucketKey())));
  }

  /** Returns the longest time in which a few messages arrive, one after the other. */
  long afewMessages() {
    return 12 * latencyNanos + 2_000_000;
  }

  /** Returns whether a call on a bucket is in flight. */
  boolean isUnderWay(String bucketKey) {
    return underWay.stream().anyMatch(one -> one.touches(bucketKey));
  }

  /** Returns the longest time for which a denied batch over several servers can hold tokens. */
  long roundTrip() {
    return 8 * latencyNanos + 1_000_000;
  }

  int outstanding() {
    return underWay.size();
  }

  Set<String> asked() {
    return asked.keySet();
  }

  /** Returns how many calls on a bucket have begun so far. */
  int countOf(String bucketKey) {
    return asked.getOrDefault(bucketKey, 0);
  }

  // The code that callers run after an answer

  void blockNext(long nanos) {
    nextBlocks = nanos;
  }

  /** After an answer, runs the caller's code, which can block the store's thread. */
  void goOn(Operation operation) {
    if (nextBlocks > 0) {
      long nanos = nextBlocks;
      nextBlocks = 0;
      world.log(() -> operation + ": its continuation blocks");
      world.hold(nanos);
    }
  }

  // The end of the run

  void close() {
    closing = true;
  }

  boolean isClosing() {
    return closing;
  }
}
