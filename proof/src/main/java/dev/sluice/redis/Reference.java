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
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/*
 * The tokens that may be given out, exactly.
 *
 * A server tells of each charge that it decided on, in its order. A process tells of each allowance
 * that a caller got, and of each reservation that a caller wants to cancel. A spend counts from the
 * moment at which its caller was told that it was allowed, at the place where its server made it. A
 * spend that nobody was told of (a lost answer, a part of a denied batch) never counts: the tokens
 * may be missing, but nobody has them. A cancelled one counts no more.
 *
 * From what counts follows the TAT that a bucket must have at least. A bucket whose TAT lies before
 * it would give a token out twice; that is the one thing that must never happen:
 *
 *        TAT of the counted spends   ≤   TAT in the server          (never over)
 *
 * It holds for any mix of limits: each spend brings its own emission interval and tolerance. What
 * the documentation allows (data that a server lost) is told as a loss, and lowers the reference
 * too.
 */

/** The exact reference of a world: what each bucket may still give out. For one thread. */
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
  private long processClockStepped = Long.MIN_VALUE / 2; // moment of the world
  private @Nullable Fleet fleet;

  /**
   * A reference.
   *
   * @param conditions what may happen in the world
   * @param afterwardsNanos how much later a second call that follows a first may be decided on
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

  /** Says about which servers it is told. */
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

  // Told by servers

  /**
   * A call as it arrives at a server.
   *
   * @param isAbandoned whether nobody waits for its answer any more
   * @param isPrompt whether it was on its way for no longer than messages are
   */
  record Asked(SimulatedServer server, int process, boolean isAbandoned, boolean isPrompt) {}

  void decided(Asked by, Charge charge, long nowNanos, long tatNanos, long afterNanos) {
    SimulatedServer server = by.server;
    int process = by.process;
    if (server.isReplica()) {
      return; // it only reads, and what its master had some time ago
    }
    Fleet known = fleet;
    if (known != null && known.wasReplaced(server)) {
      stale(known, server, process, charge, new Reading(nowNanos, tatNanos), afterNanos);
      return;
    }
    KnownBucket bucket = bucket(charge.key());
    bucket.server = server;
    Long before = bucket.askedAt.put(process, nowNanos);
    if (clientClocks && !conditions.hasFaults() && before != null && before > nowNanos) {
      world.violated(
          () ->
              World.text("p%d's %s goes by an earlier time than the one before", process, charge));
    }
    if (tatNanos != afterNanos) {
      requireNoPromise(bucket, charge);
      bucket.decidedBy(nowNanos - Fleet.START_NANOS - world.now());
      bucket.everWritten = true;
      bucket.version++;
      bucket.changed(tatNanos, afterNanos);
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
      add(bucket, entry(kind, process, charge, nowNanos, afterNanos));
    }
    if (tatNanos != afterNanos) {
      require(charge.key(), bucket, nowNanos, "after " + charge);
    }
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
    // Nothing lies behind a withdrawal that could move, unless it found the same TAT by chance.
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

  private Entry entry(Kind kind, int process, Charge charge, long nowNanos, long afterNanos) {
    Entry.Move move =
        new Entry.Move(nowNanos, charge.incrementNanos(), charge.offsetNanos(), afterNanos);
    return new Entry(kind, process, world.now(), move);
  }

  private static void add(KnownBucket bucket, Entry entry) {
    entry.lowerings = bucket.lowerings;
    entry.wasQuiet = bucket.isQuiet();
    bucket.add(entry);
  }

  /**
   * Returns whether a refund has not done what its answer says, as far as that is known.
   *
   * @param isExact whether it asked for no less than its caller
   */
  boolean contradicts(String key, Given told, boolean isExact) {
    return bucket(key).contradicts(told, isExact);
  }

  /** A bucket of which one call spends, and no other. */
  static boolean isFresh(String key) {
    return key.contains(":f");
  }

  /** Returns whether a process forgave a debt lately, or found it forgiven when it tried. */
  boolean wasForgiven(int process, String key, long offsetNanos, long nowNanos) {
    return debts.wasForgiven(process, key, offsetNanos, nowNanos);
  }

  /** The clock of a process, by which it may ask, shows another time from now on. */
  void clockOfAProcessStepped() {
    processClockStepped = world.now();
  }

  /** Between the call that finds a debt and the one that forgives it, say. */
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

  /** A master that Sentinels have replaced: what it still grants is given out twice. */
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
      // It counts nowhere; but a lease may hand out what it took here.
      Entry grant = entry(Kind.SPEND, process, charge, found.nowNanos(), afterNanos);
      grant.stale = true;
      grant.outdated = true;
      bucket.entries.add(grant);
      bucket.givenBackOnce.spent(charge.incrementNanos());
    }
    boolean late = server.lastTrouble() > world.now() - LATE_FAILOVER_NANOS; // calls lay in wait
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

  /** A server lost what it had on a bucket, but for this TAT: allowed, and said in the docs. */
  void lost(String key, long leftNanos) {
    KnownBucket bucket = bucket(key);
    bucket.changed(bucket.tatNanos, leftNanos);
    bucket.version++;
    bucket.loosened.put(Entry.NOBODY, world.now());
    bucket.lowered(Entry.NOBODY, 0, 0);
    bucket.outdate(Entry.NOBODY);
    bucket.entries.add(Entry.loss(world.now(), 0, leftNanos));
  }

  /**
   * The clock by which a server's buckets are decided on shows another time from now on. What was
   * refilled by the old one may be given back by the new one, and the other way round.
   */
  void clockChanged(SimulatedServer server, long nanos) {
    for (KnownBucket bucket : buckets.values()) {
      if (bucket.server == server) {
        bucket.lowered(Entry.NOBODY, 0, 0);
        bucket.clockChanged();
        bucket.allow(Math.abs(nanos));
        if (nanos < 0) { // what is lowered from now on seems to come before what was taken
          bucket.outdate(Entry.NOBODY);
        }
      }
    }
  }

  /** Buckets are on another server from now on, and go by its clock. */
  void moved(SimulatedServer from, SimulatedServer to, Predicate<String> keys) {
    buckets.forEach(
        (key, bucket) -> {
          if (bucket.server == from && keys.test(key)) {
            bucket.server = to;
          }
        });
  }

  /** A key's time to live is over: should the clock step back, the bucket stays full. */
  void expired(String key) {
    KnownBucket bucket = bucket(key);
    bucket.changed(bucket.tatNanos, Gcra.NO_TAT);
    bucket.entries.add(Entry.loss(world.now(), 0, Gcra.NO_TAT));
  }

  // Told by processes

  /** A spend that its caller was told of, or that was made in vain. */
  static final class Granted {
    private final String key;
    private final Entry entry;

    private Granted(String key, Entry entry) {
      this.key = key;
      this.entry = entry;
    }

    /** Returns the world's moment at which its server decided on it. */
    long moment() {
      return entry.moment;
    }
  }

  /** A caller of a process was told that a spend is allowed. */
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
   * Returns the tokens that a lease took since a moment, null if none. The spends of a lease are
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
   * A lease handed out a token of what it took: it counts from now on, as if it had been spent now.
   * The first one counts as if it had been spent when it was taken. So do all that were taken by a
   * clock that has stepped since: the lease goes by a clock of its own, which did not step.
   *
   * @param isFirst whether it was handed out as soon as it was taken
   */
  void handedOut(Object caller, Granted taken, long intervalNanos, boolean isFirst) {
    Entry whole = taken.entry;
    KnownBucket bucket = bucket(taken.key);
    if (whole.outdated) {
      return; // others gave back or reset, which this process does not see (decision 004)
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
   * A caller's turn has come: all its tokens are there, behind those of all who were first and have
   * passed. It comes when the last of them are, and not later.
   *
   * @param isWhole whether it was granted all that it asked for; if not, nobody knows when the last
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
        return; // the wait is counted by another clock
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
    // What was refunded since may have made room for it, and what was reset left its turn alone.
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
   * What those who gave up had taken is back, where one process waits and nobody is left.
   *
   * @param key a bucket of which nothing is asked any more
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

  /** Returns what a server took for a batch that was denied elsewhere, null if nothing. */
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
   * Tokens that were not refilled yet must have been given back by now, where nothing else lowered
   * the TAT since, and no caller has them.
   *
   * @param by the process that gives them back
   * @param begun the moment of the world at which giving back began
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
    Lowered last = bucket.lowered;
    if (bucket.lowerings == entry.lowerings) {
      long leftNanos = entry.afterNanos - bucket.nowNanos();
      if (leftNanos > 0) {
        world.violated(
            () ->
                World.text("%s gave nothing back to %s, of %d ns", caller, granted.key, leftNanos));
      }
    } else if (bucket.lowerings == entry.lowerings + 1
        && last != null
        && last.moment() >= begun
        && last.process() == by) {
      long dueNanos = Math.min(entry.nanos, entry.afterNanos - last.nowNanos());
      long driftNanos = driftNanos(entry.moment); // it does not know what was refilled to the tick
      if (last.nanos() > dueNanos || last.nanos() < dueNanos - driftNanos) {
        world.violated(
            () ->
                World.text(
                    "%s gave %d ns back to %s, of %d",
                    caller, last.nanos(), granted.key, dueNanos));
      }
    }
  }

  /** A call of a process begins that spends from a bucket and no other. */
  void beginsAlone(int process, String key) {
    bucket(key).beginsAlone(process);
  }

  void endsAlone(int process, String key) {
    bucket(key).endsAlone(process);
  }

  /**
   * A caller wants what it was granted to be given back: from now on it does not have it. If a
   * reset came between two spends of a process that look the same, nobody can tell which of them
   * its caller had. Then the later one is taken: it is the one that still matters.
   */
  void cancelled(Granted granted) {
    Entry last = granted.entry;
    for (Entry entry : bucket(granted.key).entries) {
      last = entry.counts && entry.looksLike(granted.entry) ? entry : last;
    }
    bucket(granted.key).givenBackOnce.left(last.counts ? last.nanos : 0);
    last.counts = false;
    last.cancelled = true;
  }

  /** A process gives back what was cancelled, and knows no more of it than the receipt. */
  void cancelsElsewhere(int process, Receipt.Part part, Collection<Granted> cancelled) {
    String key = part.transaction().bucketKey();
    int lowerings =
        cancelled.stream()
            .filter(one -> one.key.equals(key))
            .mapToInt(one -> one.entry.lowerings)
            .min()
            .orElse(KnownBucket.UNKNOWN); // by a master that was replaced
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

  /** Returns whether a bucket was ever written to. */
  boolean everWritten(String key) {
    return bucket(key).everWritten;
  }

  /** Returns whether a bucket is full within some seconds, by whichever clock. */
  boolean isFull(String key) {
    KnownBucket bucket = bucket(key);
    return bucket.tatNanos - bucket.nowNanos() < CLOCKS_APART_NANOS;
  }

  /** Returns whether a bucket had a TAT at some moment since the given one. */
  boolean showed(String key, long tatNanos, long since) {
    return bucket(key).showed(tatNanos, since);
  }

  /**
   * Returns when a process last spent from a bucket before a moment, of the world; long ago if it
   * did not. What it knew of the bucket earlier counts no more as soon as it has the answer, or
   * waits for it no longer.
   */
  long spentBefore(int process, String key, long moment) {
    return bucket(key).spentBefore(process, moment);
  }

  /** Returns a number that grows with each change of a bucket's TAT. */
  long version(String key) {
    return bucket(key).version;
  }

  /** Returns the present of a bucket, 0 where no server knows it. */
  long nowNanos(String key) {
    return bucket(key).nowNanos();
  }

  long tatNanos(String key) {
    return bucket(key).tatNanos;
  }

  @Nullable SimulatedServer serverOf(String key) {
    return bucket(key).server;
  }

  /** A call of a process failed that gives back to a bucket: it may arrive all the same. */
  void lostSight(int process, String key) {
    bucket(key).lostSight.put(process, world.now());
  }

  /**
   * Returns the process that asked, where it knows that its call has arrived, else {@link
   * Entry#NOBODY}. It does not know where nobody waits for the answer any more, nor soon after a
   * failure: others may wait for the answer to a call that they share.
   */
  private int whoLoosens(KnownBucket bucket, Asked by) {
    long lostNanos = world.now() - bucket.lostSight.getOrDefault(by.process, Long.MIN_VALUE / 2);
    return by.isAbandoned || lostNanos <= conditions.latestEndNanos() ? Entry.NOBODY : by.process;
  }

  /** Returns whether a bucket was given room since a moment, by any process or fault. */
  boolean wasLoosened(String key, long since) {
    return bucket(key).loosened.values().stream().anyMatch(moment -> moment > since);
  }

  /** Returns whether another process, or a fault, gave a bucket room since a moment. */
  boolean wasLoosened(String key, int butBy, long since) {
    return bucket(key).loosened.entrySet().stream()
        .anyMatch(one -> one.getKey() != butBy && one.getValue() > since);
  }

  /** Returns whether a process has emptied a bucket of all spends since a moment. */
  boolean resetSince(int process, String key, long since) {
    return bucket(key).resetAt.getOrDefault(process, Long.MIN_VALUE) >= since;
  }

  /** Returns whether a debt was forgiven by a process since a moment. */
  boolean forgaveSince(int process, String key, long since) {
    return bucket(key).forgaveAt.getOrDefault(process, Long.MIN_VALUE) >= since;
  }

  /** A caller was told that nothing was charged: its bucket must stay as it is. */
  void promised(String caller, String key) {
    bucket(key).promise = caller;
  }

  /**
   * Returns whether a bucket would have denied a spend at some moment since the given one: if not,
   * no denial since then is true.
   */
  boolean denied(String key, long incrementNanos, long offsetNanos, long since) {
    return bucket(key).denied(incrementNanos, offsetNanos, since);
  }
}
