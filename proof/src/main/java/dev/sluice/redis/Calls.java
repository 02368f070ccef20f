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

/** The calls of one process that are in flight, and the buckets they touch. For one thread. */
final class Calls {

  private static final long SLOW_NANOS =
      500_000; // a message takes longer than any work within a process

  /** The topologies in which each bucket has one circuit breaker, whatever happens. */
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
  private final Set<String> givenUp = new HashSet<>(); // bucket keys
  private final Map<String, Forgotten> forgotten = new HashMap<>(); // by bucket key
  private final Map<String, Long> sentAt = new HashMap<>(); // by bucket key
  // number of calls at that time, by bucket key
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

  /** Sets which servers the process considers down. */
  void watch(Predicate<@Nullable SimulatedServer> newIsGivenUp) {
    isGivenUp = newIsGivenUp;
  }

  /** Begins with the next step of the plan. */
  void nextStep() {
    number++;
  }

  int number() {
    return number;
  }

  Operation begin(String verb, List<Transaction> transactions) {
    return begin(verb, transactions, 0);
  }

  /** Begins a call whose caller waits for tokens up to {@code waitNanos}. */
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

  /** Records that a caller stopped waiting, so that a bucket may have been charged. */
  void giveUpOn(String bucketKey) {
    givenUp.add(bucketKey);
    reference.lines().disturbed(bucketKey);
  }

  /** Records that a call leaves the process. Several callers may share it, some of them gone. */
  void sends(List<String> bucketKeys) {
    for (String key : bucketKeys) {
      sentAt.put(key, world.now());
      Integer count = takenBack.remove(key);
      if (count != null && count == countOf(key) && bucketKeys.size() == 1) {
        world.violated(
            () -> World.text("p%d asks for %s, though its caller has gone", process, key));
      }
    }
  }

  /**
   * Records that the only caller for a bucket goes away: a request not sent yet must not be sent.
   */
  void takesBack(Operation operation, String bucketKey) {
    if (sentAt.getOrDefault(bucketKey, Long.MIN_VALUE) < operation.start()) {
      takenBack.put(bucketKey, countOf(bucketKey));
    }
  }

  boolean gaveUpOn(String bucketKey) {
    return givenUp.contains(bucketKey);
  }

  /** A moment before which knowledge of a bucket is void for calls that begin later. */
  private record Forgotten(long since, long told) {}

  /**
   * Drops what this process knew of a bucket before a moment, since one of its spends was allowed
   * or failed.
   */
  void forgot(String bucketKey, long since) {
    forgotten.merge(
        bucketKey,
        new Forgotten(since, world.now()),
        (last, next) -> next.since > last.since ? next : last);
  }

  /**
   * Returns the earliest moment whose denials this process may still remember.
   *
   * @param start when the denied call began
   */
  long forgottenSince(String bucketKey, long start) {
    Forgotten last = forgotten.get(bucketKey);
    return last == null || start < last.told ? Long.MIN_VALUE : last.since;
  }

  /** Records that a caller that may have waited passes. */
  void waitPassed() {
    passed++;
  }

  /** Records that a caller that may have waited gives up. */
  void waitGivenUp() {
    gaveUpWaiting++;
  }

  int passed() {
    return passed;
  }

  int gaveUpWaiting() {
    return gaveUpWaiting;
  }

  /** Records that the tokens of an operation that gives back have arrived. */
  void gaveBack(Operation operation) {
    if (!givingBack.remove(operation)) {
      return;
    }
    if (conditions.hasFaults()) { // an abandoned request may still arrive later
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

  /** Returns how many calls that give tokens back have begun. */
  long begunGivingBack() {
    return begunGivingBack;
  }

  /**
   * Returns when the earliest unfinished call that may give back to a bucket began.
   *
   * @param otherwise the result if no such call began earlier
   */
  long givingBackSince(String bucketKey, long otherwise) {
    return beganFirst(givingBack, one -> one.touches(bucketKey), otherwise);
  }

  /**
   * Returns when the earliest unfinished call began that spends from this bucket only, and so may
   * forgive a debt.
   *
   * @param otherwise the result if no such call began earlier
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
   * Returns whether a call must be refused at once, since the server of one of its buckets is
   * marked down, as far as that is visible from outside.
   */
  boolean mustBeRefused(List<Transaction> transactions) {
    return LASTING_MASTERS.contains(fleet.topology)
        && !conditions.callersBlock()
        && latencyNanos >= SLOW_NANOS
        && transactions.stream()
            .filter(one -> one.kind() != Transaction.Kind.ALLOW_ONLY)
            .anyMatch(one -> isGivenUp.test(reference.serverOf(one.bucketKey())));
  }

  /** Returns the time that a few messages take. */
  long afewMessages() {
    return 12 * latencyNanos + 2_000_000;
  }

  /** Returns whether a call for a bucket is under way. */
  boolean isUnderWay(String bucketKey) {
    return underWay.stream().anyMatch(one -> one.touches(bucketKey));
  }

  /**
   * Returns how long a batch over several servers may hold tokens that make other calls be denied.
   */
  long roundTrip() {
    return 8 * latencyNanos + 1_000_000;
  }

  int outstanding() {
    return underWay.size();
  }

  Set<String> asked() {
    return asked.keySet();
  }

  /** Returns how often callers have asked for a bucket. */
  int countOf(String bucketKey) {
    return asked.getOrDefault(bucketKey, 0);
  }

  // A caller's own code

  void blockNext(long nanos) {
    nextBlocks = nanos;
  }

  /** Runs the caller's code after an answer, which may block its thread. */
  void goOn(Operation operation) {
    if (nextBlocks > 0) {
      long nanos = nextBlocks;
      nextBlocks = 0;
      world.log(() -> operation + ": its continuation blocks");
      world.hold(nanos);
    }
  }

  // The end of the simulation

  void close() {
    closing = true;
  }

  boolean isClosing() {
    return closing;
  }
}
