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
 * The reference checks that no bucket grants more tokens than its limit.
 *
 * Each server reports its charges, in the order in which it decided the charges. Each process
 * reports the grants that its callers received, and the spends that its callers cancel. A spend
 * counts as soon as its caller has received the grant. Spends count in the order in which the
 * server decided them. If no caller receives a grant, the spend never counts: for example if the
 * answer was lost, or if another server denied the batch. The tokens of a lost grant may be missing
 * in the bucket, but no caller has these tokens. A cancelled spend no longer counts.
 *
 * The counted spends determine the earliest TAT that the bucket may have. With an earlier TAT, the
 * bucket would grant a token twice, which must never happen:
 *
 *        TAT of the counted spends   ≤   TAT on the server          (never over)
 *
 * The invariant holds for any mix of limits, because each recorded spend has its own emission
 * interval and tolerance. If a server loses data, which the docs allow, the reference lowers its
 * own TAT too.
 */

/**
 * Records what the servers charged and what the callers received, and reports a violation if a
 * bucket grants more tokens than its limit. Not thread-safe.
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
   * Creates a reference that has not recorded any charge.
   *
   * @param conditions the events that can happen in the world
   * @param afterwardsNanos the longest time between a call and a call that it causes, such as the
   *     refund of a denied batch
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

  /** Sets the servers, which report clock steps and failovers. */
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
   * @param isAbandoned whether every caller of the call has stopped waiting
   * @param isPrompt whether the call arrived within the usual travel time of a message
   * @param agoNanos the time since the server read its clock for the call
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
              World.text("p%d used an earlier time than in its last charge: %s", process, charge));
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

  /** Converts a spend of "up to n" tokens to a spend of the number of charged tokens. */
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
      world.violated(() -> bucket.promise + ", but the server then decided " + charge);
    }
  }

  private void requireAtMostOnce(Charge charge) {
    if (isFresh(charge.key())) {
      world.violated(() -> "at most once: a single call was charged twice to " + charge.key());
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
    // A withdrawal succeeds at most once, unless the TAT returns to the same value by chance.
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
          () ->
              World.text(
                  "p%d forgave a debt, but had no call that used only this bucket: %s",
                  process, charge));
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
   * Returns whether a refund's answer matches no recorded refund.
   *
   * @param isExact whether the recorded number of tokens must equal the number in the answer
   */
  boolean contradicts(String key, Given told, boolean isExact) {
    return bucket(key).contradicts(told, isExact);
  }

  /** Returns whether only one call uses a bucket. */
  static boolean isFresh(String key) {
    return key.contains(":f");
  }

  /** Returns whether a process recently tried to forgive a debt, with or without success. */
  boolean wasForgiven(int process, String key, long offsetNanos, long nowNanos) {
    return debts.wasForgiven(process, key, offsetNanos, nowNanos);
  }

  /** Records that a process's clock for buckets stepped. */
  void clockOfAProcessStepped() {
    processClockStepped = world.now();
  }

  /** Returns whether the clock of a server or a process has stepped recently. */
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

  /**
   * Records a charge at a master that a failover has replaced. The new master can grant the charged
   * tokens again.
   */
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
      // A spend at an old master does not raise the known TAT, but a lease can hand out its tokens.
      Entry grant = entry(Kind.SPEND, process, charge, 0, found.nowNanos(), afterNanos);
      grant.stale = true;
      grant.outdated = true;
      bucket.entries.add(grant);
      bucket.givenBackOnce.spent(charge.incrementNanos());
    }
    // After a server fault, delayed calls may still arrive at the old master.
    boolean late = server.lastTrouble() > world.now() - LATE_FAILOVER_NANOS;
    if (!late
        && Long.compareUnsigned(afterNanos, found.tatNanos()) > 0
        && known.replacedSince(server, LATE_FAILOVER_NANOS)) {
      world.violated(
          () ->
              World.text(
                  "failover: %s still grants, but was replaced more than a second ago: %s",
                  server, charge));
    }
  }

  /**
   * Records a loss of data that the docs allow.
   *
   * @param leftNanos the TAT of the bucket after the loss of data
   */
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
   * Records a jump of the clock that a server's buckets use. A jump of the clock changes how many
   * tokens have refilled, so a refund can return too many or too few tokens.
   *
   * @param nanos the clock's time after the jump minus its time before the jump
   */
  void clockChanged(SimulatedServer server, long nanos) {
    for (KnownBucket bucket : buckets.values()) {
      if (bucket.server == server) {
        bucket.lowered(Entry.NOBODY, 0, 0);
        bucket.clockChanged();
        bucket.allow(Math.abs(nanos));
        if (nanos < 0) { // later refunds then have an earlier time than the spends
          bucket.outdate(Entry.NOBODY);
        }
      }
    }
  }

  /** Records that buckets moved to another server, whose clock they now use. */
  void moved(SimulatedServer from, SimulatedServer to, Predicate<String> keys) {
    buckets.forEach(
        (key, bucket) -> {
          if (bucket.server == from && keys.test(key)) {
            bucket.server = to;
          }
        });
  }

  /** Records that a key expired, so its bucket is full, even if the clock steps back. */
  void expired(String key) {
    KnownBucket bucket = bucket(key);
    bucket.changed(0, bucket.tatNanos, Gcra.NO_TAT);
    bucket.entries.add(Entry.loss(world.now(), 0, Gcra.NO_TAT));
  }

  // Reported by processes

  /** A spend that a server executed for a granted call or for a denied batch. */
  static final class Granted {
    private final String key;
    private final Entry entry;

    private Granted(String key, Entry entry) {
      this.key = key;
      this.entry = entry;
    }

    /** Returns the moment at which the server decided the spend. */
    long moment() {
      return entry.moment;
    }
  }

  /**
   * Records a grant that a caller received. Returns the spend that the server recorded for this
   * grant; null if none.
   */
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
        require(key, bucket, bucket.nowNanos(), "when " + caller + " received its grant");
        return new Granted(key, entry);
      }
    }
    if (staleSpends.contains(afterNanos)) {
      return null;
    }
    world.violated(
        () ->
            World.text(
                "%s received a grant that no server made: on %s at %d, with the TAT %d",
                caller, key, nowNanos, afterNanos));
    return null;
  }

  /**
   * Returns the latest spend of a lease since a given moment; null if none. In a simulated process,
   * no other caller than the lease spends from the lease's bucket.
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
   * Records that a lease handed out a token, which counts as spent now. The first token of a
   * lease's spend counts as spent at the time of the spend. If the bucket's clock has stepped since
   * the spend, every token counts as spent at the time of the spend, because the lease's own clock
   * does not step.
   *
   * @param isFirst whether the token is the first token of the spend
   */
  void handedOut(Object caller, Granted taken, long intervalNanos, boolean isFirst) {
    Entry whole = taken.entry;
    KnownBucket bucket = bucket(taken.key);
    if (whole.outdated) {
      return; // the process does not see refunds and resets by other processes (decision 004)
    }
    int at = bucket.entries.indexOf(whole);
    boolean asTaken = isFirst || bucket.clockChangedSince(whole.moment);
    long nowNanos = asTaken ? whole.nowNanos : bucket.nowNanos() - driftNanos(whole.moment);
    Entry.Move move = new Entry.Move(nowNanos, intervalNanos, whole.offsetNanos, whole.afterNanos);
    Entry token = new Entry(Kind.SPEND, whole.process, world.now(), move);
    token.counts = true;
    bucket.givenBackOnce.held(intervalNanos);
    bucket.entries.add(asTaken && at >= 0 ? at + 1 : bucket.entries.size(), token);
    require(taken.key, bucket, bucket.nowNanos(), "when " + caller + " handed out a token");
  }

  /**
   * Checks when a waiting caller is admitted: as soon as its last token has refilled, and not
   * earlier. A bucket refills the tokens of earlier callers first.
   *
   * @param isWhole whether it is known when a server executed the spend of each transaction; if
   *     not, the moment of the last spend is unknown
   */
  void passed(Object caller, Map<Transaction, Granted> all, boolean isWhole) {
    long lastMoment = 0; // the caller waits only after the last server has answered
    long longestNanos = 0;
    for (Map.Entry<Transaction, Granted> one : all.entrySet()) {
      Quota quota = one.getKey().quota();
      Granted granted = one.getValue();
      if (quota == null
          || clientClocks
          || failedOverLately()
          || bucket(granted.key).clockChangedSince(granted.entry.moment)) {
        return; // no judgement without a limit, after a clock change or after a failover
      }
      requireThere(caller, granted, quota.offsetNanos());
      lastMoment = Math.max(lastMoment, granted.entry.moment);
      longestNanos = Math.max(longestNanos, waitNanos(granted.entry, quota.offsetNanos()));
    }
    long lateNanos = world.now() - lastMoment - longestNanos - driftNanos(lastMoment);
    if (!conditions.hasFaults() && isWhole && !all.isEmpty() && lateNanos > afterwardsNanos) {
      world.violated(
          () ->
              World.text(
                  "%s was admitted %d ns after its tokens were refilled", caller, lateNanos));
    }
  }

  private static long waitNanos(Entry entry, long offsetNanos) {
    return Math.max(entry.afterNanos - entry.nowNanos - offsetNanos, 0);
  }

  private void requireThere(Object caller, Granted granted, long offsetNanos) {
    Entry entry = granted.entry;
    KnownBucket bucket = bucket(granted.key);
    // A refund after the caller's spend can shorten the caller's wait, but a reset cannot.
    long owedNanos = Math.min(bucket.owedNanos(entry), bucket.owedNanos());
    long earlyNanos = owedNanos - offsetNanos - bucket.nowNanos();
    long tooEarlyNanos = earlyNanos - driftNanos(entry.moment);
    if (tooEarlyNanos > 0 && !bucket.isAllowedBefore(entry, tooEarlyNanos)) {
      world.violated(
          () ->
              World.text(
                  "%s was admitted %d ns before its tokens were refilled in %s",
                  caller, earlyNanos, granted.key));
    }
    int place = bucket.placeOf(entry);
    if (waitNanos(entry, offsetNanos) > 0
        && !conditions.hasFaults()
        && !lines.isDisturbed(granted.key)
        && !lines.isInOrder(entry.process, granted.key, place)) {
      world.violated(
          () -> caller + " was admitted after a caller with a later spend on " + granted.key);
    }
  }

  /**
   * Requires that a bucket has received a refund for every caller that gave up. Only one process
   * may use the bucket, and no call on the bucket may be in flight.
   */
  void requireNothingLost(Object caller, String key) {
    KnownBucket bucket = bucket(key);
    long nowNanos = bucket.nowNanos();
    long lostNanos = bucket.tatNanos - Math.max(bucket.owedNanos(), nowNanos);
    if (Long.compareUnsigned(bucket.tatNanos, nowNanos) > 0 && lostNanos > 0) {
      world.violated(
          () ->
              World.text(
                  "%s: a caller stopped waiting, but tokens of %d ns were not refunded to %s",
                  caller, lostNanos, key));
    }
  }

  /** Returns a spend that one server executed for a batch that another server denied, or null. */
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
   * Requires that the tokens of a spend were refunded, except for tokens that have refilled. Does
   * nothing if a caller still has the tokens, or if another event lowered the TAT since the spend.
   *
   * @param by the process that made the refund
   * @param begun the moment at which the process began to send the refund
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
    // A cancellation after this spend may have reached the server when the cancelled tokens had
    // already refilled, and so refunded nothing. The process counted tokens as refunded that the
    // server did not refund, and therefore computed too early a TAT for this spend.
    long movedNanos =
        bucket.cancelledNanos - entry.cancelledNanos - (entry.cancelled ? entry.nanos : 0);
    Lowered last = bucket.lowered;
    if (bucket.lowerings == entry.lowerings) {
      long leftNanos = entry.afterNanos - bucket.nowNanos();
      if (leftNanos > movedNanos) {
        world.violated(
            () ->
                World.text(
                    "%s returned nothing to the bucket %s, although %d ns were not refilled yet",
                    caller, granted.key, leftNanos));
      }
    } else if (bucket.lowerings == entry.lowerings + 1
        && last != null
        && last.moment() >= begun
        && last.process() == by) {
      long dueNanos = Math.min(entry.nanos, entry.afterNanos - last.nowNanos());
      // The process uses its own clock, which can drift, to compute the refilled tokens.
      long leastNanos = dueNanos - driftNanos(entry.moment) - movedNanos;
      if (last.nanos() > dueNanos || last.nanos() < leastNanos) {
        world.violated(
            () ->
                World.text(
                    "%s returned %d ns to the bucket %s, expected %d to %d ns",
                    caller, last.nanos(), granted.key, leastNanos, dueNanos));
      }
    }
  }

  /** Records the start of a call that spends from this bucket only. */
  void beginsAlone(int process, String key) {
    bucket(key).beginsAlone(process);
  }

  void endsAlone(int process, String key) {
    bucket(key).endsAlone(process);
  }

  /**
   * Records that a caller cancels a spend, which no longer counts. Two spends of a process can have
   * equal answers if a reset happened between the spends. Of two spends with equal answers, this
   * method cancels the later spend, because a reset has removed the earlier spend from the TAT.
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
   * Records that a caller keeps only a part of a spend, so only this part counts as spent.
   *
   * @param kept the number of tokens that the caller keeps
   * @param tokens the number of tokens of the spend
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

  /** Returns the server time at which a bucket was last charged by a process; null if never. */
  @Nullable Long askedAt(int process, String key) {
    return bucket(key).askedAt.get(process);
  }

  /** Returns whether a process's spend raised a bucket's TAT by {@code nanos} since a moment. */
  boolean wasSpentSince(int process, String key, long nanos, long moment) {
    return bucket(key).entries.stream()
        .anyMatch(
            entry ->
                entry.isSpend()
                    && entry.process == process
                    && entry.nanos == nanos
                    && entry.moment >= moment);
  }

  /** Records that a process cancels a spend of another process, by the receipt of the spend. */
  void cancelsElsewhere(int process, Receipt.Part part, Collection<Granted> cancelled) {
    String key = part.transaction().bucketKey();
    int lowerings =
        cancelled.stream()
            .filter(one -> one.key.equals(key))
            .mapToInt(one -> one.entry.lowerings)
            .min()
            .orElse(KnownBucket.UNKNOWN); // an old master decided the spend
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
      world.violated(() -> World.text("overspent: %s, the bucket %s %s", when, key, wrong));
    }
  }

  boolean everWritten(String key) {
    return bucket(key).everWritten;
  }

  /** Returns whether a bucket's TAT is less than a minute ahead of the bucket's clock. */
  boolean isFull(String key) {
    KnownBucket bucket = bucket(key);
    return bucket.tatNanos - bucket.nowNanos() < CLOCKS_APART_NANOS;
  }

  /** Returns whether a bucket's TAT had the given value at any time since a given moment. */
  boolean showed(String key, long tatNanos, long since) {
    return bucket(key).showed(tatNanos, since);
  }

  /**
   * Returns the moment of a process's last spend from a bucket before the given moment; {@code
   * Long.MIN_VALUE} if none. When the spend ends, the process must forget the bucket's denials from
   * before the spend.
   */
  long spentBefore(int process, String key, long moment) {
    return bucket(key).spentBefore(process, moment);
  }

  /** Returns the number of changes of a bucket's TAT. */
  long version(String key) {
    return bucket(key).version;
  }

  /** Returns the current time of a bucket's server, 0 if no server has the bucket. */
  long nowNanos(String key) {
    return bucket(key).nowNanos();
  }

  long tatNanos(String key) {
    return bucket(key).tatNanos;
  }

  @Nullable SimulatedServer serverOf(String key) {
    return bucket(key).server;
  }

  /** Records a failed refund or cancellation, whose call can still arrive at the server. */
  void lostSight(int process, String key) {
    bucket(key).lostSight.put(process, world.now());
  }

  /**
   * Returns the process that sent a call, or {@link Entry#NOBODY} if it is uncertain whether the
   * process knows that the call arrived. A process does not know that a call arrived if no caller
   * waits for the call, or if a call on the bucket failed recently.
   */
  private int whoLoosens(KnownBucket bucket, Asked by) {
    long lostNanos = world.now() - bucket.lostSight.getOrDefault(by.process, Long.MIN_VALUE / 2);
    return by.isAbandoned || lostNanos <= conditions.latestEndNanos() ? Entry.NOBODY : by.process;
  }

  /** Returns whether a process or a fault has lowered a bucket's TAT since a given moment. */
  boolean wasLoosened(String key, long since) {
    return bucket(key).loosened.values().stream().anyMatch(moment -> moment > since);
  }

  /** Returns whether anything but process {@code butBy} has lowered a TAT since a given moment. */
  boolean wasLoosened(String key, int butBy, long since) {
    return bucket(key).loosened.entrySet().stream()
        .anyMatch(one -> one.getKey() != butBy && one.getValue() > since);
  }

  boolean resetSince(int process, String key, long since) {
    return bucket(key).resetAt.getOrDefault(process, Long.MIN_VALUE) >= since;
  }

  boolean forgaveSince(int process, String key, long since) {
    return bucket(key).forgaveAt.getOrDefault(process, Long.MIN_VALUE) >= since;
  }

  /** Records an error that said "nothing was charged", so the bucket must not change afterwards. */
  void promised(String caller, String key) {
    bucket(key).promise = caller;
  }

  /** Returns whether a bucket would have denied a spend at any time since a given moment. */
  boolean denied(String key, long incrementNanos, long offsetNanos, long since) {
    return bucket(key).denied(incrementNanos, offsetNanos, since);
  }
}
