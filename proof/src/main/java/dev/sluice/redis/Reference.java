// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Reservation.Receipt;
import dev.sluice.Transaction;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import dev.sluice.redis.Entry.Kind;
import dev.sluice.redis.KnownBucket.Given;
import dev.sluice.redis.KnownBucket.Lowered;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/*
 * The exact reference for the tokens that may be given out.
 *
 * A server reports each charge in the order of its decisions. A process reports each allowance that
 * a caller received, and each reservation that a caller wants to cancel. A spend counts from the
 * moment at which its caller received the allowance, at the position where the server made it. A
 * spend whose answer nobody received (a lost answer, a part of a denied batch) never counts: its
 * tokens may be missing, but nobody has them. A cancelled spend no longer counts.
 *
 * The counted spends determine the least TAT that a bucket must have. A bucket with an earlier TAT
 * would give a token out twice, which must never happen:
 *
 *        TAT of the counted spends   ≤   TAT in the server          (never over)
 *
 * The invariant holds for any mix of limits, as each spend has its own emission interval and
 * tolerance. Documented losses (data that a server lost) are recorded and lower the reference too.
 */

/**
 * The exact reference of a world: the tokens that each bucket may still give out. For one thread.
 */
final class Reference {

  private static final long CLOCKS_APART_NANOS = 60_000_000_000L;
  private static final long LATE_FAILOVER_NANOS = 1_100_000_000L;

  private final World world;
  private final Map<String, KnownBucket> buckets = new HashMap<>();
  private final Set<Long> staleSpends = new HashSet<>();
  private final DebtJudge debts;
  private final KnownLines lines;
  private final GiveBacksTogether together;
  private final Conditions conditions;
  private final boolean clientClocks;
  private final long afterwardsNanos;
  private long processClockStepped = Long.MIN_VALUE / 2; // simulated moment
  private @Nullable Fleet fleet;

  /**
   * Creates a reference.
   *
   * @param conditions the events that may happen in the world
   * @param afterwardsNanos how much later than a call its follow-up may be decided
   */
  Reference(World world, Conditions conditions, long afterwardsNanos) {
    this.world = world;
    this.conditions = conditions;
    this.lines = new KnownLines(world);
    this.together = new GiveBacksTogether(world);
    this.afterwardsNanos = afterwardsNanos;
    this.clientClocks = conditions.clientClocks();
    this.debts = new DebtJudge(conditions, afterwardsNanos);
  }

  /** Sets the simulated servers, which know of clock steps and failovers. */
  void watch(Fleet newFleet) {
    fleet = newFleet;
  }

  Conditions conditions() {
    return conditions;
  }

  GiveBacksTogether together() {
    return together;
  }

  KnownLines lines() {
    return lines;
  }

  private KnownBucket bucket(String key) {
    return buckets.computeIfAbsent(key, k -> new KnownBucket(world, conditions.timeoutNanos()));
  }

  // Reported by servers

  /**
   * A call that arrived at a server.
   *
   * @param isAbandoned whether nobody waits for its answer any more
   * @param isPrompt whether the call took no longer than a message usually does
   * @param agoNanos how long ago the server read its clock for the call
   */
  record Asked(
      SimulatedServer server, int process, boolean isAbandoned, boolean isPrompt, long agoNanos) {

    Asked(SimulatedServer server, int process, boolean isAbandoned, boolean isPrompt) {
      this(server, process, isAbandoned, isPrompt, 0);
    }
  }

  void decided(Asked by, Charge asked, long nowNanos, long tatNanos, long afterNanos) {
    Charge charge = asSpend(asked, nowNanos, tatNanos, afterNanos);
    SimulatedServer server = by.server;
    int process = by.process;
    if (server.isReplica()) {
      return; // a replica only reads, and lags behind its master
    }
    KnownBucket bucket = bucket(charge.key());
    Long before = bucket.askedAt.put(process, nowNanos);
    Fleet known = fleet;
    if (known != null && known.wasReplaced(server)) {
      stale(known, server, process, charge, new Reading(nowNanos, tatNanos), afterNanos);
      return;
    }
    bucket.server = server;
    if (clientClocks && !conditions.hasFaults() && before != null && before > nowNanos) {
      world.violated(
          () ->
              World.text("p%d's %s goes by an earlier time than the one before", process, charge));
    }
    if (tatNanos != afterNanos) {
      requireNoPromise(bucket, charge);
      bucket.decidedBy(nowNanos - Fleet.START_NANOS - (world.now() - by.agoNanos));
      bucket.everWritten = true;
      bucket.version++;
      bucket.changed(by.agoNanos, tatNanos, afterNanos);
    }
    if (charge.op() == Op.REFUND) {
      boolean wasInUse = Long.compareUnsigned(tatNanos, nowNanos) > 0;
      if (charge.untilNanos() == Effect.NO_END) {
        boolean something = wasInUse && tatNanos != afterNanos;
        bucket.gaveBack(new Given(process, nowNanos, charge.incrementNanos(), something));
      }
    }
    if (charge.op() == Op.RESET) {
      bucket.resetAt.put(process, world.now());
    }
    if (charge.op().loosens()) {
      bucket.loosened.put(whoLoosens(bucket, by), world.now());
      loosened(bucket, by, charge, nowNanos, tatNanos, afterNanos);
    }
    Kind kind = kindOf(charge, tatNanos, afterNanos);
    if (kind == Kind.SPEND && bucket.spendsBy.merge(process, 1, Integer::sum) > 1) {
      requireAtMostOnce(charge);
    }
    if (kind == Kind.SPEND && by.isPrompt && !by.isAbandoned) {
      bucket.spent(process);
    }
    if (kind == Kind.SPEND) {
      bucket.givenBackOnce.spent(charge.incrementNanos());
    }
    if (kind != null) {
      add(bucket, entry(kind, process, charge, by.agoNanos, nowNanos, afterNanos));
    }
    if (tatNanos != afterNanos) {
      require(charge.key(), bucket, nowNanos, "after " + charge);
    }
  }

  /** Returns a spend of as many tokens as there were as a spend of those that it took. */
  private static Charge asSpend(Charge asked, long nowNanos, long tatNanos, long afterNanos) {
    if (asked.op() != Op.SPEND_UP_TO) {
      return asked;
    }
    long foundNanos = Long.compareUnsigned(tatNanos, nowNanos) > 0 ? tatNanos : nowNanos;
    long nanos = tatNanos == afterNanos ? asked.untilNanos() : afterNanos - foundNanos;
    return new Charge(asked.key(), Effect.of(Op.SPEND, nanos, asked.offsetNanos()));
  }

  private void requireOnce(KnownBucket bucket, Charge charge, long nowNanos, long nanos) {
    String wrong = bucket.givenBackOnce.gaveBack(nanos, charge.untilNanos() - nowNanos);
    if (wrong != null) {
      world.violated(() -> "at most once: after " + charge + " " + wrong);
    }
  }

  private void requireNoPromise(KnownBucket bucket, Charge charge) {
    if (bucket.promise != null) {
      world.violated(() -> bucket.promise + ", but " + charge + " was made after that");
    }
  }

  private void requireAtMostOnce(Charge charge) {
    if (isFresh(charge.key())) {
      world.violated(() -> "at most once: " + charge.key() + " was spent from twice");
    }
  }

  private void loosened(
      KnownBucket bucket, Asked by, Charge charge, long nowNanos, long tatNanos, long afterNanos) {
    int process = by.process;
    boolean writes = tatNanos != afterNanos;
    if (charge.untilNanos() != Effect.NO_END && writes) {
      requireOnce(bucket, charge, nowNanos, tatNanos - afterNanos);
    }
    if (charge.untilNanos() != Effect.NO_END) {
      bucket.receiptUsed(process, charge.untilNanos());
    }
    if (writes) {
      bucket.lowered(process, nowNanos, tatNanos - afterNanos);
      long takenNanos = charge.untilNanos() == Effect.NO_END ? 0 : charge.incrementNanos();
      bucket.allow(together.allowedNanos(process, charge.key(), takenNanos));
    }
    if (charge.op() == Op.FORGIVE) {
      forgiven(bucket, by, charge, nowNanos, tatNanos, afterNanos);
    }
    if (charge.op() != Op.RESET && charge.op() != Op.FORGIVE && writes) {
      bucket.allowOutdated(process, tatNanos - afterNanos);
    }
    // After a withdrawal, the TAT cannot change again, unless it had the same value by chance.
    boolean isLast = charge.op() == Op.WITHDRAW && !bucket.cameBackTo(tatNanos);
    if (!isLast && (charge.op() != Op.FORGIVE || writes)) {
      bucket.outdate(process);
    }
  }

  private void forgiven(
      KnownBucket bucket, Asked by, Charge charge, long nowNanos, long tatNanos, long afterNanos) {
    int process = by.process;
    debts.tried(process, charge, nowNanos);
    if (!conditions.hasFaults() && !bucket.isSpentFromAlone(process, 3 * afterwardsNanos)) {
      world.violated(
          () -> World.text("p%d's %s is for no call that spends alone", process, charge));
    }
    if (tatNanos > nowNanos + charge.offsetNanos()) {
      String wrong = debts.forgiven(by, charge, nowNanos, anyClockWasStepped());
      if (wrong != null) {
        world.violated(() -> wrong);
      }
      bucket.forgaveAt.put(process, world.now());
      bucket.entries.add(Entry.loss(world.now(), nowNanos, afterNanos));
    }
  }

  private static @Nullable Kind kindOf(Charge charge, long tatNanos, long afterNanos) {
    return switch (charge.op()) {
      case CHECK -> null;
      case RESET -> Kind.RESET;
      case REFUND ->
          tatNanos != afterNanos && charge.untilNanos() == Effect.NO_END ? Kind.REFUND : null;
      default -> Long.compareUnsigned(afterNanos, tatNanos) > 0 ? Kind.SPEND : null;
    };
  }

  private Entry entry(
      Kind kind, int process, Charge charge, long agoNanos, long nowNanos, long afterNanos) {
    Entry.Move move =
        new Entry.Move(nowNanos, charge.incrementNanos(), charge.offsetNanos(), afterNanos);
    return new Entry(kind, process, world.now() - agoNanos, move);
  }

  private static void add(KnownBucket bucket, Entry entry) {
    entry.lowerings = bucket.lowerings;
    entry.cancelledNanos = bucket.cancelledNanos;
    entry.wasQuiet = bucket.isQuiet();
    bucket.add(entry);
  }

  /**
   * Returns whether the answer to a refund contradicts the recorded refunds.
   *
   * @param isExact whether the refund was not smaller than its caller requested
   */
  boolean contradicts(String key, Given told, boolean isExact) {
    return bucket(key).contradicts(told, isExact);
  }

  /** Returns whether a bucket is used by one call only. */
  static boolean isFresh(String key) {
    return key.contains(":f");
  }

  /** Returns whether a process recently forgave a debt, or tried and found it forgiven. */
  boolean wasForgiven(int process, String key, long offsetNanos, long nowNanos) {
    return debts.wasForgiven(process, key, offsetNanos, nowNanos);
  }

  /** Records a step of the clock of a process, which its requests may use. */
  void clockOfAProcessStepped() {
    processClockStepped = world.now();
  }

  /** Whether a clock stepped lately, such as between finding a debt and forgiving it. */
  private boolean anyClockWasStepped() {
    return clocksWereStepped()
        || (clientClocks && world.now() - processClockStepped < Fleet.CLOCK_STEP_REMEMBERED_NANOS);
  }

  private boolean failedOverLately() {
    Fleet known = fleet;
    return known != null && known.failedOverLately();
  }

  private boolean clocksWereStepped() {
    Fleet known = fleet;
    return known != null && known.clocksWereStepped();
  }

  /** Records a charge at a master that Sentinels have replaced; its grants are given out twice. */
  private void stale(
      Fleet known,
      SimulatedServer server,
      int process,
      Charge charge,
      Reading found,
      long afterNanos) {
    staleSpends.add(afterNanos);
    KnownBucket bucket = bucket(charge.key());
    bucket.outdated(process, charge.incrementNanos());
    if (Long.compareUnsigned(afterNanos, found.tatNanos()) > 0) {
      // This grant does not count, but a lease may hand out the tokens that it took here.
      Entry grant = entry(Kind.SPEND, process, charge, 0, found.nowNanos(), afterNanos);
      grant.stale = true;
      grant.outdated = true;
      bucket.entries.add(grant);
      bucket.givenBackOnce.spent(charge.incrementNanos());
    }
    // Delayed calls may still arrive at the replaced master for a while.
    boolean late = server.lastTrouble() > world.now() - LATE_FAILOVER_NANOS;
    if (!late
        && Long.compareUnsigned(afterNanos, found.tatNanos()) > 0
        && known.replacedSince(server, LATE_FAILOVER_NANOS)) {
      world.violated(
          () ->
              World.text(
                  "failover: %s was replaced more than a second ago, and still grants %s",
                  server, charge));
    }
  }

  /** Records that a server lost a bucket's state except for this TAT, which the docs allow. */
  void lost(String key, long leftNanos) {
    KnownBucket bucket = bucket(key);
    bucket.changed(0, bucket.tatNanos, leftNanos);
    bucket.version++;
    bucket.loosened.put(Entry.NOBODY, world.now());
    bucket.lowered(Entry.NOBODY, 0, 0);
    bucket.outdate(Entry.NOBODY);
    bucket.entries.add(Entry.loss(world.now(), 0, leftNanos));
  }

  /**
   * Records that the clock for a server's buckets shows another time from now on. Tokens refilled
   * by the old time may be given back by the new time, and vice versa.
   */
  void clockChanged(SimulatedServer server, long nanos) {
    for (KnownBucket bucket : buckets.values()) {
      if (bucket.server == server) {
        bucket.lowered(Entry.NOBODY, 0, 0);
        bucket.clockChanged();
        bucket.allow(Math.abs(nanos));
        if (nanos < 0) { // after a step back, later reductions seem to precede the spends
          bucket.outdate(Entry.NOBODY);
        }
      }
    }
  }

  /** Records that buckets moved to another server, and use its clock. */
  void moved(SimulatedServer from, SimulatedServer to, Predicate<String> keys) {
    buckets.forEach(
        (key, bucket) -> {
          if (bucket.server == from && keys.test(key)) {
            bucket.server = to;
          }
        });
  }

  /** Records the expiry of a key: if the clock steps back, the bucket stays full. */
  void expired(String key) {
    KnownBucket bucket = bucket(key);
    bucket.changed(0, bucket.tatNanos, Gcra.NO_TAT);
    bucket.entries.add(Entry.loss(world.now(), 0, Gcra.NO_TAT));
  }

  // Reported by processes

  /** A spend whose answer its caller received, or that a denied batch made in vain. */
  static final class Granted {
    private final String key;
    private final Entry entry;

    private Granted(String key, Entry entry) {
      this.key = key;
      this.entry = entry;
    }

    /** Returns the moment of the world at which the server decided. */
    long moment() {
      return entry.moment;
    }
  }

  /** Records that a caller received an allowance. Returns the spend, null if none matches. */
  @Nullable Granted granted(
      Object caller, int process, String key, long nanos, long nowNanos, long afterNanos) {
    KnownBucket bucket = bucket(key);
    for (Entry entry : bucket.entries) {
      if (entry.isSpend()
          && entry.process == process
          && !entry.counts
          && !entry.cancelled
          && !entry.stale
          && entry.nanos == nanos
          && entry.nowNanos == nowNanos
          && entry.afterNanos == afterNanos) {
        entry.counts = true;
        bucket.givenBackOnce.held(entry.nanos);
        require(key, bucket, bucket.nowNanos(), "when " + caller + " was told of its spend");
        return new Granted(key, entry);
      }
    }
    if (staleSpends.contains(afterNanos)) {
      return null;
    }
    world.violated(
        () ->
            World.text(
                "%s was told of a spend on %s at %d that left the TAT %d, which no server made",
                caller, key, nowNanos, afterNanos));
    return null;
  }

  /**
   * Returns the latest spend of a lease since a moment, null if none. The spends of a lease are
   * those of its process on its bucket, since nobody else there spends from it.
   */
  @Nullable Granted takenSince(int process, String key, long moment) {
    Granted last = null;
    for (Entry entry : bucket(key).entries) {
      if (entry.isSpend() && entry.process == process && entry.moment >= moment) {
        last = new Granted(key, entry);
      }
    }
    return last;
  }

  /**
   * Records that a lease handed out a token, which counts as spent now. The first token counts as
   * spent when the lease took it. So do tokens that were taken before the bucket's clock stepped,
   * since the lease uses its own clock, which did not step.
   *
   * @param isFirst whether the token was handed out as soon as it was taken
   */
  void handedOut(Object caller, Granted taken, long intervalNanos, boolean isFirst) {
    Entry whole = taken.entry;
    KnownBucket bucket = bucket(taken.key);
    if (whole.outdated) {
      return; // this process does not see give-backs and resets of others (decision 004)
    }
    int at = bucket.entries.indexOf(whole);
    boolean asTaken = isFirst || bucket.clockChangedSince(whole.moment);
    long nowNanos = asTaken ? whole.nowNanos : bucket.nowNanos() - driftNanos(whole.moment);
    Entry.Move move = new Entry.Move(nowNanos, intervalNanos, whole.offsetNanos, whole.afterNanos);
    Entry token = new Entry(Kind.SPEND, whole.process, world.now(), move);
    token.counts = true;
    bucket.givenBackOnce.held(intervalNanos);
    bucket.entries.add(asTaken && at >= 0 ? at + 1 : bucket.entries.size(), token);
    require(taken.key, bucket, bucket.nowNanos(), "when " + caller + " was handed out");
  }

  /**
   * Judges that a waiting caller passes: all its tokens must be there, behind those of all earlier
   * callers that passed. It must pass when the last token arrives, and not later.
   *
   * @param isWhole whether all its transactions were granted; if not, it is unknown when the last
   *     server answered
   */
  void passed(Object caller, Map<Transaction, Granted> all, boolean isWhole) {
    long lastMoment = 0; // the wait begins when the answers of all servers are there
    long longestNanos = 0;
    for (Map.Entry<Transaction, Granted> one : all.entrySet()) {
      Quota quota = one.getKey().quota();
      Granted granted = one.getValue();
      if (quota == null
          || clientClocks
          || failedOverLately()
          || bucket(granted.key).clockChangedSince(granted.entry.moment)) {
        return; // unlimited, another clock or a failover: not judged
      }
      requireThere(caller, granted, quota.offsetNanos());
      lastMoment = Math.max(lastMoment, granted.entry.moment);
      longestNanos = Math.max(longestNanos, waitNanos(granted.entry, quota.offsetNanos()));
    }
    long lateNanos = world.now() - lastMoment - longestNanos - driftNanos(lastMoment);
    if (!conditions.hasFaults() && isWhole && !all.isEmpty() && lateNanos > afterwardsNanos) {
      world.violated(
          () -> World.text("%s passes %d ns after its tokens are in", caller, lateNanos));
    }
  }

  private static long waitNanos(Entry entry, long offsetNanos) {
    return Math.max(entry.afterNanos - entry.nowNanos - offsetNanos, 0);
  }

  private void requireThere(Object caller, Granted granted, long offsetNanos) {
    Entry entry = granted.entry;
    KnownBucket bucket = bucket(granted.key);
    // Later refunds may let the caller pass earlier. Resets do not change the caller's turn.
    long owedNanos = Math.min(bucket.owedNanos(entry), bucket.owedNanos());
    long earlyNanos = owedNanos - offsetNanos - bucket.nowNanos();
    long tooEarlyNanos = earlyNanos - driftNanos(entry.moment);
    if (tooEarlyNanos > 0 && !bucket.isAllowedBefore(entry, tooEarlyNanos)) {
      world.violated(
          () ->
              World.text(
                  "%s passes %d ns before its tokens are in %s", caller, earlyNanos, granted.key));
    }
    int place = bucket.placeOf(entry);
    if (waitNanos(entry, offsetNanos) > 0
        && !conditions.hasFaults()
        && !lines.isDisturbed(granted.key)
        && !lines.isInOrder(entry.process, granted.key, place)) {
      world.violated(() -> caller + " passes behind one that was later on " + granted.key);
    }
  }

  /**
   * Requires that callers that gave up have lost no tokens, where only one process waits and no
   * caller is left.
   *
   * @param key a bucket that no call uses any more
   */
  void requireNothingLost(Object caller, String key) {
    KnownBucket bucket = bucket(key);
    long nowNanos = bucket.nowNanos();
    long lostNanos = bucket.tatNanos - Math.max(bucket.owedNanos(), nowNanos);
    if (Long.compareUnsigned(bucket.tatNanos, nowNanos) > 0 && lostNanos > 0) {
      world.violated(
          () ->
              World.text(
                  "%s gave up, and %d ns of what it took are not back in %s",
                  caller, lostNanos, key));
    }
  }

  /** Returns the spend of a server for a batch that was denied elsewhere, null if none. */
  @Nullable Granted takenInVain(
      int process, String key, long nanos, long nowNanos, long afterNanos) {
    for (Entry entry : bucket(key).entries) {
      if (entry.isSpend()
          && entry.process == process
          && !entry.counts
          && entry.nanos == nanos
          && entry.nowNanos == nowNanos
          && entry.afterNanos == afterNanos) {
        return new Granted(key, entry);
      }
    }
    return null;
  }

  /**
   * Requires that tokens not yet refilled were given back by now, provided that nothing else
   * lowered the TAT since, and no caller has them.
   *
   * @param by the process that gives the tokens back
   * @param begun the moment of the world at which the give-back began
   */
  void requireGivenBack(Object caller, int by, Granted granted, long begun) {
    if (granted.entry.wasQuiet) {
      requireExactly(caller, by, granted, begun);
    }
  }

  private void requireExactly(Object caller, int by, Granted granted, long begun) {
    Entry entry = granted.entry;
    KnownBucket bucket = bucket(granted.key);
    if (entry.counts) {
      return;
    }
    // Other cancellations since this spend may have asked for what had refilled when they arrived.
    // They gave nothing back then, and this process still moved the end of this spend by it.
    long movedNanos =
        bucket.cancelledNanos - entry.cancelledNanos - (entry.cancelled ? entry.nanos : 0);
    Lowered last = bucket.lowered;
    if (bucket.lowerings == entry.lowerings) {
      long leftNanos = entry.afterNanos - bucket.nowNanos();
      if (leftNanos > movedNanos) {
        world.violated(
            () ->
                World.text("%s gave nothing back to %s, of %d ns", caller, granted.key, leftNanos));
      }
    } else if (bucket.lowerings == entry.lowerings + 1
        && last != null
        && last.moment() >= begun
        && last.process() == by) {
      long dueNanos = Math.min(entry.nanos, entry.afterNanos - last.nowNanos());
      // The process computes the refilled tokens with an error of up to the drift of the clocks.
      long leastNanos = dueNanos - driftNanos(entry.moment) - movedNanos;
      if (last.nanos() > dueNanos || last.nanos() < leastNanos) {
        world.violated(
            () ->
                World.text(
                    "%s gave %d ns back to %s, of %d",
                    caller, last.nanos(), granted.key, dueNanos));
      }
    }
  }

  /** Records the begin of a call that spends from one bucket only. */
  void beginsAlone(int process, String key) {
    bucket(key).beginsAlone(process);
  }

  void endsAlone(int process, String key) {
    bucket(key).endsAlone(process);
  }

  /**
   * Records that a caller cancels a spend, which no longer counts. If a reset came between two
   * identical spends of a process, it is unknown which of them the caller had. The later one is
   * then cancelled, since only it still matters.
   */
  void cancelled(Granted granted) {
    Entry last = lastLike(granted);
    KnownBucket bucket = bucket(granted.key);
    bucket.givenBackOnce.left(last.counts ? last.nanos : 0);
    bucket.cancelledNanos += last.nanos;
    last.counts = false;
    last.cancelled = true;
  }

  /**
   * Records that a caller keeps a part of a spend, which then counts at the place of the whole.
   *
   * @param kept how many of the tokens count
   * @param tokens how many there were
   */
  void settled(Granted granted, long kept, long tokens) {
    Entry whole = lastLike(granted);
    boolean counted = whole.counts;
    cancelled(granted);
    KnownBucket bucket = bucket(granted.key);
    int at = bucket.entries.indexOf(whole);
    if (kept > 0 && counted && at >= 0) {
      long nanos = whole.nanos / tokens * kept;
      Entry.Move move = new Entry.Move(whole.nowNanos, nanos, whole.offsetNanos, whole.afterNanos);
      Entry part = new Entry(Kind.SPEND, whole.process, whole.moment, move);
      part.counts = true;
      part.outdated = whole.outdated;
      part.lowerings = whole.lowerings;
      part.cancelledNanos = whole.cancelledNanos;
      part.wasQuiet = whole.wasQuiet;
      bucket.givenBackOnce.held(nanos);
      bucket.entries.add(at + 1, part);
    }
  }

  private Entry lastLike(Granted granted) {
    Entry last = granted.entry;
    for (Entry entry : bucket(granted.key).entries) {
      last = entry.counts && entry.looksLike(granted.entry) ? entry : last;
    }
    return last;
  }

  /** Returns when a process asked for a bucket last, by the server's clock; null if never. */
  @Nullable Long askedAt(int process, String key) {
    return bucket(key).askedAt.get(process);
  }

  /** Returns whether a server made a spend of a process since a moment. */
  boolean wasSpentSince(int process, String key, long nanos, long moment) {
    return bucket(key).entries.stream()
        .anyMatch(
            entry ->
                entry.isSpend()
                    && entry.process == process
                    && entry.nanos == nanos
                    && entry.moment >= moment);
  }

  /** Records that a process cancels a spend of another process, knowing only the receipt. */
  void cancelsElsewhere(int process, Receipt.Part part, Collection<Granted> cancelled) {
    String key = part.transaction().bucketKey();
    int lowerings =
        cancelled.stream()
            .filter(one -> one.key.equals(key))
            .mapToInt(one -> one.entry.lowerings)
            .min()
            .orElse(KnownBucket.UNKNOWN); // a replaced master made the spend
    long nanos = part.intervalNanos() * part.transaction().cost();
    bucket(key).receipts.add(new KnownBucket.Shown(process, part.untilNanos(), nanos, lowerings));
  }

  private long driftNanos(long since) {
    Fleet known = fleet;
    return known == null ? 0 : known.driftNanos(world.now() - since);
  }

  // Invariants

  private void require(String key, KnownBucket bucket, long nowNanos, String when) {
    String wrong = clientClocks ? bucket.wrongByClientClocks() : bucket.wrong(nowNanos);
    if (wrong != null) {
      world.violated(() -> World.text("never over: %s, the bucket %s %s", when, key, wrong));
    }
  }

  /** Returns whether a bucket was ever written. */
  boolean everWritten(String key) {
    return bucket(key).everWritten;
  }

  /** Returns whether a bucket is full within the distance of the clocks, by any clock. */
  boolean isFull(String key) {
    KnownBucket bucket = bucket(key);
    return bucket.tatNanos - bucket.nowNanos() < CLOCKS_APART_NANOS;
  }

  /** Returns whether a bucket had a TAT at some moment since the given one. */
  boolean showed(String key, long tatNanos, long since) {
    return bucket(key).showed(tatNanos, since);
  }

  /**
   * Returns the moment at which a process last spent from a bucket before the given moment; long
   * ago if it did not. What the process knew of the bucket before is void as soon as it has the
   * answer, or stops waiting for it.
   */
  long spentBefore(int process, String key, long moment) {
    return bucket(key).spentBefore(process, moment);
  }

  /** Returns a number that grows with each change of a bucket's TAT. */
  long version(String key) {
    return bucket(key).version;
  }

  /** Returns the current time of a bucket, 0 if no server knows it. */
  long nowNanos(String key) {
    return bucket(key).nowNanos();
  }

  long tatNanos(String key) {
    return bucket(key).tatNanos;
  }

  @Nullable SimulatedServer serverOf(String key) {
    return bucket(key).server;
  }

  /** Records that a give-back of a process failed; the call may still arrive at the server. */
  void lostSight(int process, String key) {
    bucket(key).lostSight.put(process, world.now());
  }

  /**
   * Returns the process that sent a call, if it knows that the call arrived, else {@link
   * Entry#NOBODY}. It does not know if nobody waits for the answer any more, nor soon after a
   * failure, as other callers may wait for the answer to a shared call.
   */
  private int whoLoosens(KnownBucket bucket, Asked by) {
    long lostNanos = world.now() - bucket.lostSight.getOrDefault(by.process, Long.MIN_VALUE / 2);
    return by.isAbandoned || lostNanos <= conditions.latestEndNanos() ? Entry.NOBODY : by.process;
  }

  /** Returns whether any process or fault lowered a bucket's TAT since a moment. */
  boolean wasLoosened(String key, long since) {
    return bucket(key).loosened.values().stream().anyMatch(moment -> moment > since);
  }

  /** Returns whether another process, or a fault, lowered a bucket's TAT since a moment. */
  boolean wasLoosened(String key, int butBy, long since) {
    return bucket(key).loosened.entrySet().stream()
        .anyMatch(one -> one.getKey() != butBy && one.getValue() > since);
  }

  /** Returns whether a process reset a bucket since a moment. */
  boolean resetSince(int process, String key, long since) {
    return bucket(key).resetAt.getOrDefault(process, Long.MIN_VALUE) >= since;
  }

  /** Returns whether a process forgave a debt since a moment. */
  boolean forgaveSince(int process, String key, long since) {
    return bucket(key).forgaveAt.getOrDefault(process, Long.MIN_VALUE) >= since;
  }

  /** Records the answer that nothing was charged: the bucket must not change. */
  void promised(String caller, String key) {
    bucket(key).promise = caller;
  }

  /**
   * Returns whether a bucket would have denied a spend at some moment since the given one; if not,
   * every denial since then is wrong.
   */
  boolean denied(String key, long incrementNanos, long offsetNanos, long since) {
    return bucket(key).denied(incrementNanos, offsetNanos, since);
  }
}
