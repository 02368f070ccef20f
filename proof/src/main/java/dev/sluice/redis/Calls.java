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

/** The calls of one process: which are under way, and what they ask for. For one thread. */
final class Calls {

  private static final long SLOW_NANOS =
      500_000; // a message takes longer than all within a process

  /** Where each bucket has one server, which never gets another master. */
  private static final Set<Fleet.Topology> LASTING_MASTERS =
      EnumSet.of(Fleet.Topology.SINGLE, Fleet.Topology.RING);

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
  private final Map<String, Integer> asked = new HashMap<>(); // how often, by bucket key
  private final Set<String> givenUp = new HashSet<>(); // bucket keys
  private final Map<String, Forgotten> forgotten = new HashMap<>(); // by bucket key
  private final Map<String, Long> sentAt = new HashMap<>(); // by bucket key
  private final Map<String, Integer> takenBack = new HashMap<>(); // calls then, by bucket key
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

  /** Says which servers the process does not ask at present. */
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

  /** Begins a call whose caller waits for tokens, up to so long. */
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

  /** A caller that waits no longer may have spent from a bucket. */
  void giveUpOn(String bucketKey) {
    givenUp.add(bucketKey);
    reference.lines().disturbed(bucketKey);
  }

  /** A call leaves the process. One caller that has gone may share it with others that wait. */
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

  /** The only caller that asks for a bucket goes away: what has not left yet stays here. */
  void takesBack(Operation operation, String bucketKey) {
    if (sentAt.getOrDefault(bucketKey, Long.MIN_VALUE) < operation.start()) {
      takenBack.put(bucketKey, countOf(bucketKey));
    }
  }

  boolean gaveUpOn(String bucketKey) {
    return givenUp.contains(bucketKey);
  }

  /** What was known of a bucket before a moment counts no more for calls that begin later. */
  private record Forgotten(long since, long told) {}

  /**
   * This process forgets what it knew of a bucket before a moment: it was told that a spend is
   * allowed, or that one failed.
   */
  void forgot(String bucketKey, long since) {
    forgotten.merge(
        bucketKey,
        new Forgotten(since, world.now()),
        (last, next) -> next.since > last.since ? next : last);
  }

  /**
   * Returns since when a denial may have been true, as far as this process has forgotten others.
   *
   * @param start when the call began that was denied
   */
  long forgottenSince(String bucketKey, long start) {
    Forgotten last = forgotten.get(bucketKey);
    return last == null || start < last.told ? Long.MIN_VALUE : last.since;
  }

  /** A caller that may have waited passes. */
  void waitPassed() {
    passed++;
  }

  /** A caller that may have waited gives up. */
  void waitGivenUp() {
    gaveUpWaiting++;
  }

  int passed() {
    return passed;
  }

  int gaveUpWaiting() {
    return gaveUpWaiting;
  }

  /** The tokens that an operation gives back have arrived. */
  void gaveBack(Operation operation) {
    if (!givingBack.remove(operation)) {
      return;
    }
    if (conditions.hasFaults()) { // what was given up may arrive later
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

  /** Returns how many calls that give back have begun. */
  long begunGivingBack() {
    return begunGivingBack;
  }

  /**
   * Returns since when a call that may give back to a bucket is under way: its caller does not know
   * yet that it is done.
   *
   * @param otherwise a moment, returned where none is under way that began earlier
   */
  long givingBackSince(String bucketKey, long otherwise) {
    return beganFirst(givingBack, one -> one.touches(bucketKey), otherwise);
  }

  /**
   * Returns since when a call is under way that spends from a bucket and no other, and so may
   * forgive a debt.
   *
   * @param otherwise a moment, returned where none is under way that began earlier
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
   * Returns whether a call is to be refused at once, since the server of one of its buckets is
   * marked down; as far as that can be seen from outside.
   */
  boolean mustBeRefused(List<Transaction> transactions) {
    return LASTING_MASTERS.contains(fleet.topology)
        && !conditions.callersBlock()
        && latencyNanos >= SLOW_NANOS
        && transactions.stream()
            .filter(one -> one.kind() != Transaction.Kind.ALLOW_ONLY)
            .anyMatch(one -> isGivenUp.test(reference.serverOf(one.bucketKey())));
  }

  /** Returns in how much time a few messages travel. */
  long afewMessages() {
    return 12 * latencyNanos + 2_000_000;
  }

  /** Returns whether a call for a bucket is under way. */
  boolean isUnderWay(String bucketKey) {
    return underWay.stream().anyMatch(one -> one.touches(bucketKey));
  }

  /** Returns how old a denial can be by which a batch over servers takes for a moment. */
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

  /** The caller's code goes on with an answer, and may hold its thread up. */
  void goOn(Operation operation) {
    if (nextBlocks > 0) {
      long nanos = nextBlocks;
      nextBlocks = 0;
      world.log(() -> operation + ": its continuation blocks");
      world.hold(nanos);
    }
  }

  // The end of the world

  void close() {
    closing = true;
  }

  boolean isClosing() {
    return closing;
  }
}
