package dev.sluice.redis;

import dev.sluice.gcra.Gcra;
import dev.sluice.store.Charge;
import dev.sluice.store.Charge.Act;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/*
 * What may be given out, exactly.
 *
 * A server tells of each charge that it decided on, in its order; a process tells of each allowance
 * that a caller got, and of each reservation that a caller wants to cancel. A spend counts from the
 * moment at which its caller was told that it was allowed, at the place where its server made it. A
 * spend that nobody was told of (a lost answer, a part of a denied batch) never counts: the tokens may
 * be missing, but nobody has them. A cancelled one counts no more.
 *
 * From what counts follows the TAT that a bucket must have at least. A bucket whose TAT lies before it
 * would give a token out twice; that is the one thing that must never happen:
 *
 *        TAT of the counted spends   ≤   TAT in the server          (never over)
 *
 * It holds for any mix of limits: each spend brings its own emission interval and tolerance. What the
 * documentation allows (data that a server lost) is told as a loss, and lowers the reference too.
 */

/** The exact reference of a world: what each bucket may still give out. For one thread. */
final class Reference {

  private static final int ENTRIES_BEFORE_PRUNING = 48;
  private static final long SETTLED_NANOS = 3_000_000_000L;
  private static final long KEPT_NANOS = 3_000_000_000L;
  private static final int NOBODY = -1;
  private static final long LATE_FAILOVER_NANOS = 1_100_000_000L;

  private final World world;
  private final Map<String, Bucket> buckets = new HashMap<>();
  private final Map<String, Long> forgivenUntil = new HashMap<>();
  private final Map<String, Long> triedToForgive = new HashMap<>();
  private final Set<Long> staleSpends = new HashSet<>();
  private @Nullable Fleet fleet;
  private long afterwardsNanos;

  Reference(World world) {
    this.world = world;
  }

  /**
   * Says about which servers it is told.
   *
   * @param newFleet the servers
   * @param newAfterwardsNanos how much later a second call that follows a first may be decided on
   */
  void watch(Fleet newFleet, long newAfterwardsNanos) {
    fleet = newFleet;
    afterwardsNanos = newAfterwardsNanos;
  }

  private enum Kind {
    SPEND,
    REFUND,
    RESET,
    LOSS
  }

  /** Something that moved a TAT, in the order of its server. */
  private static final class Entry {
    private final Kind kind;
    private final int process;
    private final long moment;
    private final long nowNanos;
    private final long nanos; // an increment; of a loss the TAT that is left
    private final long afterNanos;
    private boolean counts;
    private boolean cancelled;
    private boolean outdated;
    private boolean stale; // by a master that was replaced
    private int lowerings; // of its bucket, before it
    private boolean wasQuiet; // nothing lowered its bucket lately

    Entry(
        Kind kind,
        int process,
        long moment,
        long nowNanos,
        long nanos,
        long afterNanos,
        boolean counts) {
      this.kind = kind;
      this.process = process;
      this.moment = moment;
      this.nowNanos = nowNanos;
      this.nanos = nanos;
      this.afterNanos = afterNanos;
      this.counts = counts;
    }
  }

  /** A TAT as it was until a moment of the world. */
  private record Change(long moment, long beforeNanos) {}

  /** A TAT that was lowered: by whom, when, and by how much. */
  private record Lowered(int process, long moment, long nowNanos, long nanos) {}

  /** How much may be missing from a moment on, for a reason that the documentation names. */
  private record Allowance(long moment, long nanos) {}

  private static final class Bucket {
    private final List<Entry> entries = new ArrayList<>();
    private final Deque<Change> changes = new ArrayDeque<>();
    private long tatNanos;
    private final Map<Integer, Long> loosened = new HashMap<>(); // by whom, when last
    private int lowerings;
    private @Nullable Lowered lowered; // the last one
    private int spends;
    private @Nullable String promise; // who was told that nothing was charged
    private final Map<Integer, Long> outdatedNanos = new HashMap<>(); // by process
    private final Deque<Allowance> allowances = new ArrayDeque<>();
    private final Map<Integer, Integer> spendsBy = new HashMap<>(); // by process
    private boolean everWritten;
    private long version;
    private @Nullable SimulatedServer server;
  }

  private Bucket bucket(String key) {
    return buckets.computeIfAbsent(key, k -> new Bucket());
  }

  // Told by servers

  void decided(
      SimulatedServer server,
      int process,
      Charge charge,
      long nowNanos,
      long tatNanos,
      long afterNanos) {
    Fleet known = fleet;
    if (known != null && known.wasReplaced(server)) {
      stale(known, server, process, charge, nowNanos, tatNanos, afterNanos);
      return;
    }
    Bucket bucket = bucket(charge.key());
    bucket.server = server;
    boolean writes = tatNanos != afterNanos;
    if (charge.act().loosens()) {
      bucket.loosened.put(process, world.now());
      if (writes) {
        lowered(bucket, process, nowNanos, tatNanos - afterNanos);
      }
    }
    if (writes && bucket.promise != null) {
      world.violated(() -> bucket.promise + ", but " + charge + " was made after that");
    }
    if (writes) {
      bucket.version++;
      bucket.everWritten = true;
      bucket.changes.addLast(new Change(world.now(), tatNanos));
      while (world.now() - bucket.changes.getFirst().moment > KEPT_NANOS) {
        bucket.changes.removeFirst();
      }
    }
    bucket.tatNanos = afterNanos;
    if (charge.act() == Act.FORGIVE) {
      forgiven(bucket, process, charge, nowNanos, tatNanos, afterNanos);
    }
    boolean forgives = charge.act() == Act.FORGIVE && writes;
    if (charge.act() == Act.RESET || charge.act() == Act.REFUND || forgives) {
      if (charge.act() == Act.REFUND && writes) {
        allowOutdated(bucket, process, tatNanos - afterNanos);
      }
      outdate(bucket, process);
    }
    Kind kind =
        switch (charge.act()) {
          case CHECK -> null;
          case RESET -> Kind.RESET;
          case REFUND -> writes && charge.untilNanos() == Charge.NO_END ? Kind.REFUND : null;
          default -> Long.compareUnsigned(afterNanos, tatNanos) > 0 ? Kind.SPEND : null;
        };
    if (kind == Kind.SPEND) {
      bucket.spendsBy.merge(process, 1, Integer::sum);
    }
    if (kind == Kind.SPEND && isFresh(charge.key()) && ++bucket.spends > 1) {
      world.violated(() -> "at most once: " + charge.key() + " was spent from twice");
    }
    if (kind != null) {
      Entry entry =
          new Entry(
              kind,
              process,
              world.now(),
              nowNanos,
              charge.incrementNanos(),
              afterNanos,
              kind != Kind.SPEND);
      entry.lowerings = bucket.lowerings;
      entry.wasQuiet = isQuiet(bucket);
      bucket.entries.add(entry);
      prune(bucket);
    }
    if (writes) {
      require(charge.key(), bucket, nowNanos, "after " + charge);
    }
  }

  /** A bucket of which one call spends, and no other. */
  static boolean isFresh(String key) {
    return key.contains(":f");
  }

  private void lowered(Bucket bucket, int process, long nowNanos, long nanos) {
    bucket.lowerings++;
    bucket.lowered = new Lowered(process, world.now(), nowNanos, nanos);
  }

  private boolean isQuiet(Bucket bucket) {
    Lowered last = bucket.lowered;
    return last == null || world.now() - last.moment > SimulatedProcess.TIMEOUT_NANOS;
  }

  /**
   * A process may forgive a debt once for a bucket and a burst offset within that offset's time.
   */
  private void forgiven(
      Bucket bucket, int process, Charge charge, long nowNanos, long tatNanos, long afterNanos) {
    String debt = debt(process, charge.key(), charge.offsetNanos());
    triedToForgive.put(debt, nowNanos);
    if (tatNanos <= nowNanos + charge.offsetNanos()) {
      return;
    }
    Long until = forgivenUntil.put(debt, nowNanos + charge.offsetNanos());
    boolean tooSoon = until != null && until - afterwardsNanos > nowNanos;
    if (tooSoon && !clocksWereStepped()) {
      world.violated(() -> "p" + debt + ": a debt is forgiven a second time before " + until);
    }
    bucket.entries.add(loss(nowNanos, afterNanos));
  }

  private static String debt(int process, String key, long offsetNanos) {
    return process + " " + key + " " + offsetNanos;
  }

  /** Returns whether a process forgave a debt lately, or found it forgiven when it tried. */
  boolean wasForgiven(int process, String key, long offsetNanos, long nowNanos) {
    Long tried = triedToForgive.get(debt(process, key, offsetNanos));
    return tried != null && tried > nowNanos - offsetNanos - SimulatedProcess.TIMEOUT_NANOS;
  }

  private Entry loss(long nowNanos, long leftNanos) {
    return new Entry(Kind.LOSS, NOBODY, world.now(), nowNanos, leftNanos, leftNanos, true);
  }

  /**
   * From now on the other processes do not know where on the time line their spends are: what
   * another process gave back, reset or forgave, and what a server lost, is not seen (decision
   * 004).
   */
  private static void outdate(Bucket bucket, int lowering) {
    for (Entry entry : bucket.entries) {
      if (entry.kind == Kind.SPEND && entry.process != lowering && !entry.outdated) {
        entry.outdated = true;
        bucket.outdatedNanos.merge(entry.process, entry.nanos, Long::sum);
      }
    }
  }

  /** A process gives back: too much, by at most what it took before others lowered the TAT. */
  private void allowOutdated(Bucket bucket, int process, long nanos) {
    long outdatedNanos = bucket.outdatedNanos.getOrDefault(process, 0L);
    long allowedNanos = Math.min(nanos, outdatedNanos);
    if (allowedNanos > 0) {
      bucket.outdatedNanos.put(process, outdatedNanos - allowedNanos);
      allow(bucket, allowedNanos);
    }
  }

  private void allow(Bucket bucket, long nanos) {
    bucket.allowances.addLast(new Allowance(world.now(), nanos));
  }

  /** Makes up for what is missing, if what is allowed is enough for it. */
  private boolean isAllowed(Bucket bucket, long nowNanos, long missingNanos) {
    long allowedNanos = 0;
    for (Iterator<Allowance> all = bucket.allowances.iterator(); all.hasNext(); ) {
      Allowance one = all.next();
      if (world.now() - one.moment > KEPT_NANOS) {
        all.remove();
      } else {
        allowedNanos += one.nanos;
      }
    }
    if (allowedNanos < missingNanos) {
      return false;
    }
    bucket.allowances.clear();
    allow(bucket, allowedNanos - missingNanos);
    bucket.entries.add(
        new Entry(Kind.REFUND, NOBODY, world.now(), nowNanos, missingNanos, 0, true));
    return true;
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
      long nowNanos,
      long tatNanos,
      long afterNanos) {
    staleSpends.add(afterNanos);
    Bucket bucket = bucket(charge.key());
    bucket.outdatedNanos.merge(process, charge.incrementNanos(), Long::sum);
    if (Long.compareUnsigned(afterNanos, tatNanos) > 0) {
      // It counts nowhere; but a lease may hand out what it took here.
      Entry grant =
          new Entry(
              Kind.SPEND,
              process,
              world.now(),
              nowNanos,
              charge.incrementNanos(),
              afterNanos,
              false);
      grant.stale = true;
      grant.outdated = true;
      bucket.entries.add(grant);
    }
    boolean late = server.lastTrouble() > world.now() - LATE_FAILOVER_NANOS; // calls lay in wait
    if (!late
        && Long.compareUnsigned(afterNanos, tatNanos) > 0
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
    Bucket bucket = bucket(key);
    bucket.changes.addLast(new Change(world.now(), bucket.tatNanos));
    bucket.loosened.put(NOBODY, world.now());
    lowered(bucket, NOBODY, 0, 0);
    bucket.tatNanos = leftNanos;
    bucket.version++;
    outdate(bucket, NOBODY);
    bucket.entries.add(loss(0, leftNanos));
  }

  /**
   * The clock by which a server's buckets are decided on shows another time from now on. What was
   * refilled by the old one may be given back by the new one, and the other way round.
   */
  void clockChanged(SimulatedServer server, long nanos) {
    for (Bucket bucket : buckets.values()) {
      if (bucket.server == server) {
        lowered(bucket, NOBODY, 0, 0);
        allow(bucket, Math.abs(nanos));
      }
    }
  }

  /** A key's time to live is over: should the clock step back, the bucket stays full. */
  void expired(String key) {
    Bucket bucket = bucket(key);
    bucket.changes.addLast(new Change(world.now(), bucket.tatNanos));
    bucket.tatNanos = Gcra.NO_TAT;
    bucket.entries.add(loss(0, Gcra.NO_TAT));
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
  }

  /** A caller was told that a spend is allowed. */
  @Nullable Granted granted(String caller, String key, long nanos, long nowNanos, long afterNanos) {
    Bucket bucket = bucket(key);
    for (Entry entry : bucket.entries) {
      if (entry.kind == Kind.SPEND
          && !entry.counts
          && !entry.cancelled
          && !entry.stale
          && entry.nanos == nanos
          && entry.nowNanos == nowNanos
          && entry.afterNanos == afterNanos) {
        entry.counts = true;
        require(key, bucket, serverNow(bucket), "when " + caller + " was told of its spend");
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
   * What a lease took since a moment, null if nothing. The spends of a lease are those of its
   * process on its bucket, since nobody else there spends from it.
   */
  @Nullable Granted takenSince(int process, String key, long moment) {
    Granted last = null;
    for (Entry entry : bucket(key).entries) {
      if (entry.kind == Kind.SPEND && entry.process == process && entry.moment >= moment) {
        last = new Granted(key, entry);
      }
    }
    return last;
  }

  /**
   * A lease handed out a token of what it took: it counts from now on, as if it had been spent now,
   * and the first one as when it was taken.
   *
   * @param isFirst whether it was handed out as soon as it was taken
   */
  void handedOut(String caller, Granted taken, long intervalNanos, boolean isFirst) {
    Entry whole = taken.entry;
    Bucket bucket = bucket(taken.key);
    if (whole.outdated) {
      return; // others gave back or reset, which this process does not see (decision 004)
    }
    int at = bucket.entries.indexOf(whole);
    long nowNanos = isFirst ? whole.nowNanos : serverNow(bucket);
    Entry token =
        new Entry(
            Kind.SPEND,
            whole.process,
            world.now(),
            nowNanos,
            intervalNanos,
            whole.afterNanos,
            true);
    bucket.entries.add(isFirst && at >= 0 ? at + 1 : bucket.entries.size(), token);
    require(taken.key, bucket, serverNow(bucket), "when " + caller + " was handed out");
  }

  /** Returns what a server took for a batch that was denied elsewhere, null if nothing. */
  @Nullable Granted takenInVain(
      int process, String key, long nanos, long nowNanos, long afterNanos) {
    for (Entry entry : bucket(key).entries) {
      if (entry.kind == Kind.SPEND
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
   * What was not refilled yet must have been given back by now, where nothing else lowered the TAT
   * since, and no caller has it.
   *
   * @param begun the moment of the world at which giving back began
   */
  void requireGivenBack(String caller, Granted granted, long begun) {
    Entry entry = granted.entry;
    Bucket bucket = bucket(granted.key);
    if (!entry.wasQuiet || entry.counts) {
      return;
    }
    Lowered last = bucket.lowered;
    if (bucket.lowerings == entry.lowerings) {
      long leftNanos = entry.afterNanos - serverNow(bucket);
      if (leftNanos > 0) {
        world.violated(
            () ->
                World.text("%s gave nothing back to %s, of %d ns", caller, granted.key, leftNanos));
      }
    } else if (bucket.lowerings == entry.lowerings + 1
        && last != null
        && last.moment >= begun
        && last.process == entry.process) {
      long dueNanos = Math.min(entry.nanos, entry.afterNanos - last.nowNanos);
      long driftNanos = driftNanos(entry.moment); // it does not know what was refilled to the tick
      if (last.nanos > dueNanos || last.nanos < dueNanos - driftNanos) {
        world.violated(
            () ->
                World.text(
                    "%s gave %d ns back to %s, of %d", caller, last.nanos, granted.key, dueNanos));
      }
    }
  }

  /** A caller wants what it was granted to be given back: from now on it does not have it. */
  void cancelled(Granted granted) {
    granted.entry.counts = false;
    granted.entry.cancelled = true;
  }

  private long driftNanos(long since) {
    Fleet known = fleet;
    return known == null ? 0 : known.driftNanos(world.now() - since);
  }

  private static long serverNow(Bucket bucket) {
    SimulatedServer server = bucket.server;
    return server == null ? 0 : server.clock.nanos();
  }

  // Invariants

  private void require(String key, Bucket bucket, long nowNanos, String when) {
    long owedNanos = owedNanos(bucket);
    boolean isShort =
        Long.compareUnsigned(owedNanos, nowNanos) > 0
            && Long.compareUnsigned(bucket.tatNanos, owedNanos) < 0;
    if (isShort && !isAllowed(bucket, nowNanos, owedNanos - bucket.tatNanos)) {
      world.violated(
          () ->
              World.text(
                  "never over: %s, the bucket %s holds the TAT %d, but callers have spent up to %d (%s more)",
                  when, key, bucket.tatNanos, owedNanos, owedNanos - bucket.tatNanos + " ns"));
    }
  }

  /** Returns the TAT that the spends of which callers know, and what was given back, come to. */
  private static long owedNanos(Bucket bucket) {
    long tat = Gcra.NO_TAT;
    for (Entry entry : bucket.entries) {
      tat = after(tat, entry);
    }
    return tat;
  }

  private static long after(long tat, Entry entry) {
    if (!entry.counts) {
      return tat;
    }
    return switch (entry.kind) {
      case SPEND -> Math.max(tat, entry.nowNanos) + entry.nanos;
      case REFUND -> tat <= entry.nowNanos ? tat : Math.max(tat - entry.nanos, entry.nowNanos);
      case RESET -> Gcra.NO_TAT;
      case LOSS -> Math.min(tat, entry.nanos);
    };
  }

  /** Forgets what came before a moment at which the bucket was full in any case. */
  private void prune(Bucket bucket) {
    if (bucket.entries.size() < ENTRIES_BEFORE_PRUNING) {
      return;
    }
    long most = Gcra.NO_TAT; // if all counted
    int keepFrom = 0;
    for (int i = 0; i < bucket.entries.size(); i++) {
      Entry entry = bucket.entries.get(i);
      if (entry.moment > world.now() - SETTLED_NANOS) {
        break;
      }
      if (entry.kind == Kind.RESET || (entry.kind == Kind.SPEND && most <= entry.nowNanos)) {
        keepFrom = i;
        most = Gcra.NO_TAT;
      }
      if (entry.kind == Kind.SPEND) {
        most = Math.max(most, entry.nowNanos) + entry.nanos;
      }
    }
    bucket.entries.subList(0, keepFrom).clear();
  }

  /** Returns whether a bucket was ever written to. */
  boolean everWritten(String key) {
    return bucket(key).everWritten;
  }

  /** Returns how often a process has spent from a bucket, in vain or not. */
  int spends(int process, String key) {
    return bucket(key).spendsBy.getOrDefault(process, 0);
  }

  /** Returns whether a bucket is full just now. */
  boolean isFull(String key) {
    Bucket bucket = bucket(key);
    return Long.compareUnsigned(bucket.tatNanos, serverNow(bucket)) <= 0;
  }

  /** Returns whether a bucket had a TAT at some moment since the given one. */
  boolean showed(String key, long tatNanos, long since) {
    Bucket bucket = bucket(key);
    return bucket.tatNanos == tatNanos
        || bucket.changes.stream()
            .anyMatch(change -> change.moment >= since && change.beforeNanos == tatNanos);
  }

  /** Returns a number that grows with each change of a bucket's TAT. */
  long version(String key) {
    return bucket(key).version;
  }

  long tatNanos(String key) {
    return bucket(key).tatNanos;
  }

  @Nullable SimulatedServer serverOf(String key) {
    return bucket(key).server;
  }

  /** Returns whether another process, or a fault, gave a bucket room since a moment. */
  boolean wasLoosened(String key, int butBy, long since) {
    return bucket(key).loosened.entrySet().stream()
        .anyMatch(one -> one.getKey() != butBy && one.getValue() > since);
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
    Bucket bucket = bucket(key);
    SimulatedServer server = bucket.server;
    if (server == null) {
      return false;
    }
    long from = since;
    for (Change change : bucket.changes) {
      if (change.moment >= since) {
        if (denies(server, change.beforeNanos, incrementNanos, offsetNanos, from)) {
          return true;
        }
        from = change.moment;
      }
    }
    return denies(server, bucket.tatNanos, incrementNanos, offsetNanos, from);
  }

  private static boolean denies(
      SimulatedServer server, long tatNanos, long incrementNanos, long offsetNanos, long moment) {
    long nowNanos = server.clock.at(moment);
    long micros = nowNanos - Math.floorMod(nowNanos, 1_000L);
    long ahead = Math.max(tatNanos - Math.max(micros, 0), 0);
    return ahead > offsetNanos - incrementNanos;
  }
}
