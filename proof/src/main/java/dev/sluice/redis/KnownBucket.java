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

/**
 * The {@link Reference}'s record of one bucket: the TAT and all events that changed the TAT. Not
 * thread-safe.
 */
final class KnownBucket {

  private static final long KEPT_NANOS = 3_000_000_000L;

  /** The resolution of a Redis server's clock. */
  private static final long NANOS_PER_TICK = 1_000;

  static final int UNKNOWN = -1;
  private static final int GIVEN_KEPT = 256;
  private static final int ENTRIES_BEFORE_PRUNING = 48;
  private static final long SETTLED_NANOS = 3_000_000_000L;

  final List<Entry> entries = new ArrayList<>();
  final Map<Integer, Long> loosened = new HashMap<>(); // process → when it last lowered the TAT
  final Map<Integer, Long> lostSight = new HashMap<>(); // by process: when its last refund failed
  final Map<Integer, Integer> spendsBy = new HashMap<>(); // process → number of its spends
  final Map<Integer, Long> forgaveAt = new HashMap<>(); // process → when it last forgave a debt
  final Map<Integer, Long> resetAt = new HashMap<>(); // process → moment of its last reset
  final Map<Integer, Long> askedAt = new HashMap<>(); // process → clock time of its last charge
  final List<Shown> receipts = new ArrayList<>(); // receipts that other processes can still use
  final GivenBackOnce givenBackOnce = new GivenBackOnce();
  long tatNanos;
  long version;
  boolean everWritten;
  @Nullable String promise; // the error that promised "nothing was charged", null for none
  @Nullable SimulatedServer server;
  private final Map<Integer, Alone> alone = new HashMap<>(); // by process
  private final Map<Integer, Deque<Long>> spentAt = new HashMap<>(); // by process: recent moments
  private final Deque<Given> givenBack = new ArrayDeque<>(); // the latest refunds
  private long forgottenUntil = Long.MIN_VALUE; // clock time of the last dropped refund
  int lowerings; // how often the TAT was lowered
  long cancelledNanos; // the sum of all cancelled spends
  @Nullable Lowered lowered; // the last time that the TAT was lowered
  private final World world;
  private final long timeoutNanos;
  private int forgotten; // number of dropped entries
  private final Deque<Change> changes = new ArrayDeque<>();
  private final Map<Integer, Long> outdatedNanos = new HashMap<>(); // by process: sum of its spends
  private final Deque<Allowance> allowances = new ArrayDeque<>();
  private long allowedNanos; // the sum of all allowances ever
  private long clockChanged = Long.MIN_VALUE; // moment of the last clock change
  private long earliestClock = Long.MAX_VALUE; // least lead of a deciding clock over the world
  private long latestClock = Long.MIN_VALUE; // greatest lead

  /**
   * Creates a full bucket.
   *
   * @param timeoutNanos the longest duration of a call
   */
  KnownBucket(World world, long timeoutNanos) {
    this.world = world;
    this.timeoutNanos = timeoutNanos;
  }

  /**
   * A change of the TAT.
   *
   * @param moment the moment at which the TAT changed
   * @param decidedAt the moment at which the server read its clock for the change
   * @param beforeNanos the TAT before the change
   */
  private record Change(long moment, long decidedAt, long beforeNanos) {}

  /**
   * An event that lowered the TAT.
   *
   * @param nowNanos the time of the bucket's clock
   * @param nanos by how much the event lowered the TAT
   */
  record Lowered(int process, long moment, long nowNanos, long nanos) {}

  /**
   * A refund that is not a cancellation.
   *
   * @param nowNanos the time of the bucket's clock
   * @param nanos the requested amount
   * @param something whether the server refunded any token
   */
  record Given(int process, long nowNanos, long nanos, boolean something) {}

  /** A documented reason why the bucket's TAT may be too low by {@code nanos}. */
  private record Allowance(long moment, long nanos) {}

  /**
   * A receipt of another process's spend.
   *
   * @param process the process that uses the receipt to cancel the spend
   * @param untilNanos the end of the receipt's validity
   * @param nanos how far the spend raised the TAT
   * @param lowerings how often the TAT was lowered before the spend; {@link #UNKNOWN} if the spend
   *     was decided by a master that a failover had replaced
   */
  record Shown(int process, long untilNanos, long nanos, int lowerings) {}

  /** The calls of one process that spend from only this bucket. */
  private static final class Alone {
    private int underWay;
    private long ended = Long.MIN_VALUE / 2; // moment at which the last call ended
  }

  /** Records the start of a call that spends from only this bucket. */
  void beginsAlone(int process) {
    alone.computeIfAbsent(process, one -> new Alone()).underWay++;
  }

  void endsAlone(int process) {
    Alone one = alone.computeIfAbsent(process, none -> new Alone());
    one.underWay--;
    one.ended = world.now();
  }

  /**
   * Returns whether a process had a call in flight within the last {@code lastNanos} that spends
   * from only this bucket.
   */
  boolean isSpentFromAlone(int process, long lastNanos) {
    Alone one = alone.get(process);
    return one != null && (one.underWay > 0 || world.now() - one.ended <= lastNanos);
  }

  /** Records a spend, whose answer the process receives before the time-out or never. */
  void spent(int process) {
    Deque<Long> moments = spentAt.computeIfAbsent(process, one -> new ArrayDeque<>());
    moments.addLast(world.now());
    while (world.now() - moments.getFirst() > KEPT_NANOS) {
      moments.removeFirst();
    }
  }

  /** Returns the moment of a process's last spend before {@code moment}; MIN_VALUE if none. */
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

  /** Records a refund that is not a cancellation. */
  void gaveBack(Given given) {
    givenBack.addLast(given);
    if (givenBack.size() > GIVEN_KEPT) {
      forgottenUntil = Math.max(forgottenUntil, givenBack.removeFirst().nowNanos);
    }
  }

  /**
   * Returns whether a refund's answer matches no recorded refund by the same process at the same
   * clock time.
   *
   * @param isExact whether the recorded amount must equal the amount in the answer
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

  /** Returns the clock time of the bucket's server; 0 if no server has the bucket. */
  long nowNanos() {
    SimulatedServer known = server;
    return known == null ? 0 : known.clock.nanos();
  }

  // Changes of the TAT

  /** Records a change of the TAT, for which the server read its clock {@code agoNanos} ago. */
  void changed(long agoNanos, long beforeNanos, long afterNanos) {
    changes.addLast(new Change(world.now(), world.now() - agoNanos, beforeNanos));
    while (world.now() - changes.getFirst().moment > KEPT_NANOS) {
      changes.removeFirst();
    }
    tatNanos = afterNanos;
  }

  /** Returns whether the TAT recently had a value, changed, and had the same value again. */
  boolean cameBackTo(long nanos) {
    return changes.stream().filter(change -> change.beforeNanos == nanos).count() > 1;
  }

  void lowered(int process, long nowNanos, long nanos) {
    lowerings++;
    lowered = new Lowered(process, world.now(), nowNanos, nanos);
  }

  /** Records a jump of the bucket's clock. */
  void clockChanged() {
    clockChanged = world.now();
  }

  boolean clockChangedSince(long moment) {
    return clockChanged >= moment;
  }

  /** Returns whether no event has lowered the TAT within the duration of a call's time-out. */
  boolean isQuiet() {
    Lowered last = lowered;
    return last == null || world.now() - last.moment > timeoutNanos;
  }

  /** Returns whether the bucket's TAT had the given value at any time since a given moment. */
  boolean showed(long nanos, long since) {
    return tatNanos == nanos
        || changes.stream()
            .anyMatch(change -> change.moment >= since && change.beforeNanos == nanos);
  }

  /** Returns whether the bucket would have denied a spend at any time since a given moment. */
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

  // Tolerated errors

  /** Records a decision that used a clock {@code aheadNanos} ahead of the world's clock. */
  void decidedBy(long aheadNanos) {
    earliestClock = Math.min(earliestClock, aheadNanos);
    latestClock = Math.max(latestClock, aheadNanos);
  }

  /**
   * Marks the spends of all other processes as outdated, after one process or a fault has lowered
   * the TAT. A process that does not know that another process lowered the TAT computes wrong
   * refunds for its own spends (decision 004).
   */
  void outdate(int lowering) {
    for (Entry entry : entries) {
      if (entry.isSpend() && entry.process != lowering && !entry.outdated) {
        entry.outdated = true;
        outdated(entry.process, entry.nanos);
      }
    }
  }

  /**
   * Records a cancellation by receipt. If the TAT was lowered after the spend, the spend's TAT in
   * the receipt is outdated.
   */
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
   * Allows a process to refund too many tokens: at most the tokens of its spends that {@link
   * #outdated} recorded.
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

  /**
   * Returns whether documented reasons explain an excess of tokens before a spend. An explained
   * excess reduces the number of tokens that the reasons can still explain.
   */
  boolean isAllowedBefore(Entry spend, long missingNanos) {
    return isAllowed(Math.max(entries.indexOf(spend), 0), spend.nowNanos, missingNanos);
  }

  /**
   * Returns whether the allowances (documented reasons) explain an excess of tokens at a position
   * in {@code entries}. Subtracts an explained excess of tokens from the allowances, and records
   * the excess as a refund.
   */
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
    // Rounds the refund's time down to the resolution of the clock, so that the refund is not later
    // than other entries with the same clock time.
    Entry.Move move = new Entry.Move(tick(nowNanos), missingNanos, 0, missingNanos);
    entries.add(place, new Entry(Kind.REFUND, Entry.NOBODY, world.now(), move));
    return true;
  }

  // Granted tokens

  /** Returns a description if the bucket granted too many tokens, otherwise null. */
  @Nullable String wrong(long nowNanos) {
    long owedNanos = owedNanos();
    long missingNanos = owedNanos - tatNanos;
    boolean isShort =
        Long.compareUnsigned(owedNanos, nowNanos) > 0
            && Long.compareUnsigned(tatNanos, owedNanos) < 0;
    return isShort && !isAllowed(entries.size(), nowNanos, missingNanos)
        ? World.text(
            "has the TAT %d, but callers hold tokens up to the TAT %d (%d ns more)",
            tatNanos, owedNanos, missingNanos)
        : null;
  }

  /** Returns the TAT that results from the entries that count, up to and including {@code last}. */
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

  /** Returns the position of an entry among all entries ever recorded. */
  int placeOf(Entry entry) {
    return forgotten + entries.indexOf(entry);
  }

  /** Returns the TAT that results from all entries that count ({@link Entry}). */
  long owedNanos() {
    long tat = Gcra.NO_TAT;
    for (Entry entry : entries) {
      tat = entry.after(tat);
    }
    return tat;
  }

  /*
   * Client clocks differ by at most D: each clock is ahead of the world's time t by an offset o
   * between lo and hi = lo + D. Let W be the TAT that the same spends and refunds would give if
   * they all used the world's time. By induction, TAT ≥ W + lo:
   *
   *        a spend:   max(TAT, t + o) ≥ max(W + lo, t + lo)           because o ≥ lo
   *        a refund:  max(TAT − c, t + o) ≥ lo + max(W − c, t)
   *
   * A server allows a spend only if TAT ≤ t + o + τ ≤ t + hi + τ after the spend. Therefore
   *
   *        W ≤ t + τ + D      plus the tolerated errors.
   *
   * D includes the travel time of a call, because a process reads its clock before it sends a call.
   */

  /** Like {@link #wrong}, for a bucket that uses the clocks of the processes. */
  @Nullable String wrongByClientClocks() {
    long mostApart = latestClock - earliestClock;
    long tat = Gcra.NO_TAT; // in simulated time
    for (Entry entry : entries) {
      tat = entry.after(tat, entry.moment, entry.nanos - Fleet.START_NANOS - earliestClock);
      long overNanos = tat - entry.moment - entry.offsetNanos - mostApart - allowedNanos;
      if (entry.isSpend() && entry.counts && overNanos > 0) {
        return World.text(
            "has granted %d ns too much, beyond the clock difference of %d ns",
            overNanos, mostApart);
      }
    }
    return null;
  }

  void add(Entry entry) {
    entries.add(entry);
    prune();
  }

  /** Drops the entries from before the last moment at which the bucket was certainly full. */
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
