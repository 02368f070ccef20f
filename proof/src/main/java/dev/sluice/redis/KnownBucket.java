// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Gcra;
import dev.sluice.redis.Entry.Kind;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The state of one bucket in the reference. For one thread. */
final class KnownBucket {

  private static final long KEPT_NANOS = 3_000_000_000L;

  /** The resolution of a Redis server's clock. */
  private static final long NANOS_PER_TICK = 1_000;

  static final int UNKNOWN = -1;
  private static final int GIVEN_KEPT = 256;
  private static final int ENTRIES_BEFORE_PRUNING = 48;
  private static final long SETTLED_NANOS = 3_000_000_000L;

  final List<Entry> entries = new ArrayList<>();
  final Map<Integer, Long> loosened = new HashMap<>(); // by process: when it last lowered the TAT
  final Map<Integer, Long> lostSight = new HashMap<>(); // by process: when a give-back last failed
  final Map<Integer, Integer> spendsBy = new HashMap<>(); // by process: the number of spends
  final Map<Integer, Long> forgaveAt = new HashMap<>(); // by process: when it last forgave a debt
  final Map<Integer, Long> resetAt = new HashMap<>(); // by process: when it last reset the bucket
  final List<Shown> receipts = new ArrayList<>(); // other processes may still use these receipts
  final Map<Integer, Long> askedAt = new HashMap<>(); // by process: the latest time of its clock
  final GivenBackOnce givenBackOnce = new GivenBackOnce();
  long tatNanos;
  long version;
  boolean everWritten;
  @Nullable String promise; // the answer that promised that nothing was charged
  @Nullable SimulatedServer server;
  private final Map<Integer, Alone> alone = new HashMap<>(); // by process
  private final Map<Integer, Deque<Long>> spentAt = new HashMap<>(); // by process: when it spent
  private final Deque<Given> givenBack = new ArrayDeque<>(); // the latest refunds
  private long forgottenUntil = Long.MIN_VALUE; // by the bucket's clock
  int lowerings;
  long cancelledNanos; // the sum of all cancelled spends
  @Nullable Lowered lowered; // the latest reduction
  private final World world;
  private final long timeoutNanos;
  private int forgotten; // number of dropped entries
  private final Deque<Change> changes = new ArrayDeque<>();
  private final Map<Integer, Long> outdatedNanos = new HashMap<>(); // by process
  private final Deque<Allowance> allowances = new ArrayDeque<>();
  private long allowedNanos; // the sum of all allowances ever
  private long clockChanged = Long.MIN_VALUE; // simulated moment of the last clock change
  private long earliestClock = Long.MAX_VALUE; // smallest lead of a clock over simulated time
  private long latestClock = Long.MIN_VALUE;

  /**
   * Creates a bucket that was never used.
   *
   * @param timeoutNanos the longest duration of a call
   */
  KnownBucket(World world, long timeoutNanos) {
    this.world = world;
    this.timeoutNanos = timeoutNanos;
  }

  /**
   * The TAT until a moment of the world; the next TAT was decided on at the same time or before.
   */
  private record Change(long moment, long decidedAt, long beforeNanos) {}

  /** A reduction of the TAT: the process, the moment, the bucket's time, and the amount. */
  record Lowered(int process, long moment, long nowNanos, long nanos) {}

  /**
   * A refund of a process: the bucket's time, the upper bound, and whether anything was given back.
   */
  record Given(int process, long nowNanos, long nanos, boolean something) {}

  /** Tokens that may be missing from a moment on, for a documented reason. */
  private record Allowance(long moment, long nanos) {}

  /**
   * A receipt that another process uses than the one that spent.
   *
   * @param untilNanos the end of its validity
   * @param nanos the increment of the spend
   * @param lowerings how often the bucket had been lowered before, {@link #UNKNOWN} if its master
   *     was replaced since
   */
  record Shown(int process, long untilNanos, long nanos, int lowerings) {}

  /** The calls of a process that spend from this bucket only. */
  private static final class Alone {
    private int underWay;
    private long ended = Long.MIN_VALUE / 2; // simulated moment at which the last call ended
  }

  /** Records the begin of a call that spends from this bucket only. */
  void beginsAlone(int process) {
    alone.computeIfAbsent(process, one -> new Alone()).underWay++;
  }

  void endsAlone(int process) {
    Alone one = alone.computeIfAbsent(process, none -> new Alone());
    one.underWay--;
    one.ended = world.now();
  }

  /** Returns whether such a call is in flight, or ended within the last {@code lastNanos}. */
  boolean isSpentFromAlone(int process, long lastNanos) {
    Alone one = alone.get(process);
    return one != null && (one.underWay > 0 || world.now() - one.ended <= lastNanos);
  }

  /** Records a spend of a process, whose answer arrives within the time-out or not at all. */
  void spent(int process) {
    Deque<Long> moments = spentAt.computeIfAbsent(process, one -> new ArrayDeque<>());
    moments.addLast(world.now());
    while (world.now() - moments.getFirst() > KEPT_NANOS) {
      moments.removeFirst();
    }
  }

  /** Returns when a process last spent before a moment; long ago if it did not. */
  long spentBefore(int process, long moment) {
    Deque<Long> moments = spentAt.get(process);
    long last = Long.MIN_VALUE;
    if (moments != null) {
      for (long at : moments) {
        last = at < moment ? at : last;
      }
    }
    return last;
  }

  /** Records a plain refund. */
  void gaveBack(Given given) {
    givenBack.addLast(given);
    if (givenBack.size() > GIVEN_KEPT) {
      forgottenUntil = Math.max(forgottenUntil, givenBack.removeFirst().nowNanos);
    }
  }

  /**
   * Returns whether no recorded refund of this process at this time matches the answer.
   *
   * @param isExact whether no refund may be smaller than requested
   */
  boolean contradicts(Given told, boolean isExact) {
    boolean known = false;
    for (Given given : givenBack) {
      boolean same = given.process == told.process && given.nowNanos == told.nowNanos;
      boolean enough = given.nanos == told.nanos || !isExact;
      if (same && enough && given.something == told.something) {
        return false;
      }
      known |= same;
    }
    return known && told.nowNanos > forgottenUntil;
  }

  /** Returns the bucket's current time. */
  long nowNanos() {
    SimulatedServer known = server;
    return known == null ? 0 : known.clock.nanos();
  }

  // How its TAT moves

  /** Records a change of the TAT that was decided on some time ago. */
  void changed(long agoNanos, long beforeNanos, long afterNanos) {
    changes.addLast(new Change(world.now(), world.now() - agoNanos, beforeNanos));
    while (world.now() - changes.getFirst().moment > KEPT_NANOS) {
      changes.removeFirst();
    }
    tatNanos = afterNanos;
  }

  /** Returns whether the TAT left a value and came back to it. */
  boolean cameBackTo(long nanos) {
    return changes.stream().filter(change -> change.beforeNanos == nanos).count() > 1;
  }

  void lowered(int process, long nowNanos, long nanos) {
    lowerings++;
    lowered = new Lowered(process, world.now(), nowNanos, nanos);
  }

  /** Records that the deciding clock shows another time from now on. */
  void clockChanged() {
    clockChanged = world.now();
  }

  boolean clockChangedSince(long moment) {
    return clockChanged >= moment;
  }

  /** Returns whether nothing lowered the TAT lately. */
  boolean isQuiet() {
    Lowered last = lowered;
    return last == null || world.now() - last.moment > timeoutNanos;
  }

  /** Returns whether the bucket had a TAT at some moment since the given one. */
  boolean showed(long nanos, long since) {
    return tatNanos == nanos
        || changes.stream()
            .anyMatch(change -> change.moment >= since && change.beforeNanos == nanos);
  }

  /** Returns whether the bucket would have denied a spend at some moment since the given one. */
  boolean denied(long incrementNanos, long offsetNanos, long since) {
    SimulatedServer known = server;
    if (known == null) {
      return false;
    }
    long from = since;
    for (Change change : changes) {
      if (change.moment >= since) {
        if (denies(known, change.beforeNanos, incrementNanos, offsetNanos, from)) {
          return true;
        }
        from = Math.max(since, change.decidedAt);
      }
    }
    return denies(known, tatNanos, incrementNanos, offsetNanos, from);
  }

  private static boolean denies(
      SimulatedServer server, long tatNanos, long incrementNanos, long offsetNanos, long moment) {
    long nowNanos = server.clock.at(moment);
    long ahead = Math.max(tatNanos - Math.max(tick(nowNanos), 0), 0);
    return ahead > offsetNanos - incrementNanos;
  }

  /** Rounds a time down to the resolution of the server's clock. */
  private static long tick(long nanos) {
    return nanos - Math.floorMod(nanos, NANOS_PER_TICK);
  }

  // Tokens that may be missing

  /** Records a decision of a clock that is ahead of the world's time by {@code aheadNanos}. */
  void decidedBy(long aheadNanos) {
    earliestClock = Math.min(earliestClock, aheadNanos);
    latestClock = Math.max(latestClock, aheadNanos);
  }

  /**
   * Marks the spends of the other processes as outdated: they do not see what this process gave
   * back, reset or forgave, or what a server lost, so they no longer know the position of their
   * spends (decision 004).
   */
  void outdate(int lowering) {
    for (Entry entry : entries) {
      if (entry.isSpend() && entry.process != lowering && !entry.outdated) {
        entry.outdated = true;
        outdated(entry.process, entry.nanos);
      }
    }
  }

  /** Records a give-back by a receipt, which does not know of reductions since its spend. */
  void receiptUsed(int process, long untilNanos) {
    for (Iterator<Shown> all = receipts.iterator(); all.hasNext(); ) {
      Shown one = all.next();
      if (one.process == process && one.untilNanos == untilNanos) {
        all.remove();
        if (one.lowerings != lowerings) {
          outdated(process, one.nanos);
        }
        return;
      }
    }
  }

  void outdated(int process, long nanos) {
    outdatedNanos.merge(process, nanos, Long::sum);
  }

  /**
   * Allows a give-back that is too large by at most what the process took before others lowered the
   * TAT.
   */
  void allowOutdated(int process, long nanos) {
    long mostNanos = outdatedNanos.getOrDefault(process, 0L);
    long moreNanos = Math.min(nanos, mostNanos);
    if (moreNanos > 0) {
      outdatedNanos.put(process, mostNanos - moreNanos);
      allow(moreNanos);
    }
  }

  void allow(long nanos) {
    if (nanos > 0) {
      allowedNanos += nanos;
      allowances.addLast(new Allowance(world.now(), nanos));
    }
  }

  /** Compensates for tokens missing before a spend, if the allowances suffice. */
  boolean isAllowedBefore(Entry spend, long missingNanos) {
    return isAllowed(Math.max(entries.indexOf(spend), 0), spend.nowNanos, missingNanos);
  }

  /** Compensates for tokens missing at a position, if the allowances suffice. */
  private boolean isAllowed(int place, long nowNanos, long missingNanos) {
    long mostNanos = 0;
    for (Iterator<Allowance> all = allowances.iterator(); all.hasNext(); ) {
      Allowance one = all.next();
      if (world.now() - one.moment > KEPT_NANOS) {
        all.remove();
      } else {
        mostNanos += one.nanos;
      }
    }
    if (mostNanos < missingNanos) {
      return false;
    }
    allowances.clear();
    allowances.addLast(new Allowance(world.now(), mostNanos - missingNanos));
    // Other changes may happen in the same tick of the clock.
    Entry.Move move = new Entry.Move(tick(nowNanos), missingNanos, 0, missingNanos);
    entries.add(place, new Entry(Kind.REFUND, Entry.NOBODY, world.now(), move));
    return true;
  }

  // Tokens that were given out

  /** Returns the violation of the TAT, null for none. */
  @Nullable String wrong(long nowNanos) {
    long owedNanos = owedNanos();
    long missingNanos = owedNanos - tatNanos;
    boolean isShort =
        Long.compareUnsigned(owedNanos, nowNanos) > 0
            && Long.compareUnsigned(tatNanos, owedNanos) < 0;
    return isShort && !isAllowed(entries.size(), nowNanos, missingNanos)
        ? World.text(
            "holds the TAT %d, but callers have spent up to %d (%d ns more)",
            tatNanos, owedNanos, missingNanos)
        : null;
  }

  /** Returns the TAT that results from the counted entries up to a spend. */
  long owedNanos(Entry last) {
    long tat = Gcra.NO_TAT;
    for (Entry entry : entries) {
      tat = entry.after(tat);
      if (entry == last) {
        break;
      }
    }
    return tat;
  }

  /** Returns how many entries precede an entry. */
  int placeOf(Entry entry) {
    return forgotten + entries.indexOf(entry);
  }

  /** Returns the TAT that results from the spends that callers know of and from the give-backs. */
  long owedNanos() {
    long tat = Gcra.NO_TAT;
    for (Entry entry : entries) {
      tat = entry.after(tat);
    }
    return tat;
  }

  /*
   * The clocks of the clients differ by D: they lie between lo and hi = lo + D ahead of the world's
   * time t. Let W be the TAT that the same spends come to by the world's time. Then TAT ≥ W + lo,
   * since max(TAT, t + o) ≥ max(W + lo, t + lo) for each clock o ≥ lo, and a refund leaves
   * max(TAT − c, t + o) ≥ lo + max(W − c, t). A spend is allowed where
   * TAT ≤ t + o + τ ≤ t + hi + τ, so
   *
   *        W ≤ t + τ + D,      and what is allowed besides.
   *
   * D includes the travel time of a call, because the client's clock is read when the call is sent.
   */

  /** Returns the violation where the bucket uses client clocks, null for none. */
  @Nullable String wrongByClientClocks() {
    long mostApart = latestClock - earliestClock;
    long tat = Gcra.NO_TAT; // in simulated time
    for (Entry entry : entries) {
      tat = entry.after(tat, entry.moment, entry.nanos - Fleet.START_NANOS - earliestClock);
      long overNanos = tat - entry.moment - entry.offsetNanos - mostApart - allowedNanos;
      if (entry.isSpend() && entry.counts && overNanos > 0) {
        return World.text(
            "has given out %d ns more than by clocks that are %d ns apart", overNanos, mostApart);
      }
    }
    return null;
  }

  void add(Entry entry) {
    entries.add(entry);
    prune();
  }

  /** Drops the entries before a moment at which the bucket was certainly full. */
  private void prune() {
    if (entries.size() < ENTRIES_BEFORE_PRUNING) {
      return;
    }
    long most = Gcra.NO_TAT; // the TAT if all entries counted
    int keepFrom = 0;
    for (int i = 0; i < entries.size(); i++) {
      Entry entry = entries.get(i);
      if (entry.moment > world.now() - SETTLED_NANOS) {
        break;
      }
      if (entry.kind == Kind.RESET || (entry.isSpend() && most <= entry.nowNanos)) {
        keepFrom = i;
        most = Gcra.NO_TAT;
      }
      if (entry.isSpend()) {
        most = Math.max(most, entry.nowNanos) + entry.nanos;
      }
    }
    entries.subList(0, keepFrom).clear();
    forgotten += keepFrom;
  }
}
