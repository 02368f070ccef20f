// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.limit.LimitName;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.TimeSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.TreeSet;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/*
 * Waiting.
 *
 * A caller that can wait for at most W spends with a burst offset of τ + W instead of τ. So the
 * store decides in one call whether the tokens will have refilled within W, and takes them. The TAT
 * then lies beyond now + τ, and all later callers, from any process, wait behind this caller. A
 * caller's turn comes when the end of its stretch of the time line (see the essay in
 * OpenReservations) is at most τ ahead of now:
 *
 *        now              now + τ      A      B      C = TAT
 *   ──────┼──────────────────┼───┬──────┬──────┬──────┬────▶ time
 *         │                  │   │◀ T·c▶│      │      │
 *         │◀── τ, the burst offset ────▶│      its turn: the end of its stretch − τ
 *
 * Callers that stop waiting. If B's tokens were refunded, a new caller D would get the stretch of
 * C, and the turns of C and D would come at the same moment. So the store takes a spend back only
 * while the TAT is still the TAT after this spend (Op.WITHDRAW): then no later caller has taken
 * tokens. If a later caller has taken tokens, the tokens of B stay spent until they refill, and the
 * turns of later callers do not change.
 *
 * But after later spends, a refund, a cancellation or a reset can move the TAT back to exactly the
 * expected TAT. So a caller gives nothing back if this process may have lowered the TAT of the
 * bucket after the caller's spend was sent.
 *
 * Order. Stretches of a bucket do not overlap, so turns come in the order of the spends, across all
 * processes. In this process the line of a bucket has one alarm, for its first place. A caller with
 * several buckets has a place in the line of each bucket; the caller's turn comes when all of its
 * places have had their turn.
 *
 * Clocks. If the store's current time is known in this process, the wait counts from the instant of
 * the store's decision. For any other store, the wait counts from the arrival of the store's
 * answer, so the wait is never too short. When the tokens of a stretch have refilled, the tokens of
 * all earlier stretches have also refilled. So a caller whose answer arrived late waits no longer
 * than later callers.
 */

/** Queues of callers that wait for taken tokens to refill. Thread-safe; locks only briefly. */
final class WaitQueues {

  /** About how many callers can wait at once; a caller that waits for n buckets counts n times. */
  static final int MOST = 1_000_000;

  private static final Comparator<Place> BY_END =
      ((Comparator<Place>) (one, other) -> Long.compareUnsigned(one.endNanos, other.endNanos))
          .thenComparingLong(place -> place.number);

  private final TimeSource time;
  private final Supplier<OptionalLong> storeTime;
  private final Consumer<List<Charge>> withdraw;
  private final Predicate<String> isLowering;
  private final ReentrantLock lock = new ReentrantLock();
  private final Map<String, Line> lines = new HashMap<>();
  private final LastRefundTimes lastLowered = new LastRefundTimes();
  private long entered; // how many places were ever added
  private volatile int size; // written under the lock
  private volatile boolean isUsed; // whether a caller that can wait has ever called

  /**
   * Creates empty queues.
   *
   * @param time the clock that measures the waits
   * @param storeTime the store's current time, empty if this process does not know it
   * @param withdraw a function that sends charges which revert spends, unless a later spend has
   *     changed the bucket
   * @param isLowering a function that returns whether this process is lowering a bucket's TAT at
   *     the moment
   */
  WaitQueues(
      TimeSource time,
      Supplier<OptionalLong> storeTime,
      Consumer<List<Charge>> withdraw,
      Predicate<String> isLowering) {
    this.time = time;
    this.storeTime = storeTime;
    this.withdraw = withdraw;
    this.isLowering = isLowering;
  }

  /** The tokens that one caller took from one bucket. */
  static final class Place {
    final String key;
    final LimitName limit;
    private final long incrementNanos;
    private final long offsetNanos;
    private final long endNanos; // unsigned, by the store's clock
    private final long nowNanos; // the store's time of the decision
    private @Nullable Turn turn; // null unless the caller is in a queue
    private long number; // the position in the order in which callers entered the queues
    private long turnAtNanos; // by this process's clock

    /**
     * Creates a place.
     *
     * @param limit the limit of the bucket
     * @param incrementNanos the emission interval times the tokens taken, positive
     * @param offsetNanos the burst offset of the quota, at least {@code incrementNanos}
     * @param endNanos the TAT after the spend, unsigned
     * @param nowNanos the store's time when it decided
     */
    Place(
        String key,
        LimitName limit,
        long incrementNanos,
        long offsetNanos,
        long endNanos,
        long nowNanos) {
      this.key = key;
      this.limit = limit;
      this.incrementNanos = incrementNanos;
      this.offsetNanos = offsetNanos;
      this.endNanos = endNanos;
      this.nowNanos = nowNanos;
    }

    /** Returns the time until the tokens have refilled; 0 if no wait is needed. */
    long waitNanos() {
      return Math.max(endNanos - nowNanos - offsetNanos, 0);
    }

    private Charge withdrawal() {
      return new Charge(key, Op.WITHDRAW, incrementNanos, offsetNanos, endNanos);
    }
  }

  /** The turn of one caller, which comes when all tokens that the caller took have refilled. */
  static final class Turn {
    private final List<Place> places;
    private final long askedNanos;
    private final Runnable onCome;
    private int waitsFor; // the number of places that still wait
    private boolean gone;
    private volatile boolean come; // written under the lock

    private Turn(List<Place> places, long askedNanos, Runnable onCome) {
      this.places = places;
      this.askedNanos = askedNanos;
      this.onCome = onCome;
    }

    boolean hasCome() {
      return come;
    }
  }

  /** The queue of the callers that wait for tokens of one bucket. */
  private static final class Line {
    private final String key;
    private final TreeSet<Place> places = new TreeSet<>(BY_END);
    private @Nullable Future<?> alarm;
    private long alarmAtNanos = Long.MAX_VALUE;

    Line(String key) {
      this.key = key;
    }

    /**
     * Adds a caller to the queue, and moves callers' turns to an earlier time where necessary, so
     * that the turns come in the order of the queue.
     */
    void add(Place place) {
      Place behind = places.higher(place);
      if (behind != null) {
        place.turnAtNanos = Math.min(place.turnAtNanos, behind.turnAtNanos);
      }
      for (Place before : places.headSet(place, false).descendingSet()) {
        if (before.turnAtNanos <= place.turnAtNanos) {
          break;
        }
        before.turnAtNanos = place.turnAtNanos;
      }
      places.add(place);
    }
  }

  /**
   * Called before the store call of a caller that can wait. Returns the current time, an argument
   * of {@link #enter}.
   */
  long asks() {
    if (!isUsed) {
      isUsed = true; // set before the time is read, so that lowered() records every later change
    }
    return time.nanos();
  }

  /**
   * Called after a charge that lowers a TAT was answered or has failed.
   *
   * @param laterNanos how long the store can still apply the charge; 0 if the store has answered
   */
  void lowered(String key, long laterNanos) {
    if (isUsed || laterNanos > 0) {
      lastLowered.decidedBy(key, time.nanos() + laterNanos);
    }
  }

  int size() {
    return size;
  }

  /**
   * Lets a caller wait for the tokens that it took.
   *
   * @param places the caller's place in the queue of each bucket from which the caller took tokens
   * @param askedNanos the time that {@link #asks} returned before the store call
   * @param onCome a callback for a turn that comes only after {@code enter} has returned; must not
   *     block
   */
  Turn enter(List<Place> places, long askedNanos, Runnable onCome) {
    Turn turn = new Turn(places, askedNanos, onCome);
    long hereNanos = time.nanos();
    OptionalLong storeNanos = storeTime.get();
    List<Turn> come = new ArrayList<>(1);
    lock.lock();
    try {
      for (Place place : places) {
        if (place.waitNanos() > 0) {
          long sinceNanos = storeNanos.isPresent() ? storeNanos.getAsLong() - place.nowNanos : 0;
          // The decision was made after the call began, even if the store's clock stepped back.
          long mostNanos = Math.max(hereNanos - askedNanos, 0);
          long decidedNanos = hereNanos - Math.min(Math.max(sinceNanos, 0), mostNanos);
          place.turnAtNanos = after(decidedNanos, place.waitNanos());
          place.number = ++entered;
          place.turn = turn;
          turn.waitsFor++;
          lines.computeIfAbsent(place.key, Line::new).add(place);
          size(1);
        }
      }
      turn.come = turn.waitsFor == 0;
      places.forEach(place -> ring(place.key, come));
    } finally {
      lock.unlock();
    }
    come.remove(turn);
    tell(come, false);
    return turn;
  }

  /** Returns the sum of two times; a sum that overflows becomes the latest possible time. */
  private static long after(long nanos, long waitNanos) {
    long turnAtNanos = nanos + waitNanos;
    return turnAtNanos < nanos ? Long.MAX_VALUE : turnAtNanos;
  }

  long nowNanos() {
    return time.nanos();
  }

  long leftNanos(Turn turn) {
    lock.lock();
    try {
      long nowNanos = time.nanos();
      return turn.places.stream()
          .filter(place -> place.turn != null)
          .mapToLong(place -> Math.max(place.turnAtNanos - nowNanos, 0))
          .max()
          .orElse(0);
    } finally {
      lock.unlock();
    }
  }

  /** Releases a waiting caller if its tokens have refilled, in case the alarm is late. */
  void look(Turn turn) {
    turn.places.forEach(place -> look(place.key, false));
  }

  /** Releases callers whose turn has come; {@code isAlarm} is true on the thread of an alarm. */
  private void look(String key, boolean isAlarm) {
    if (lock.isHeldByCurrentThread()) {
      return; // ring(), which set this alarm, is still running and reads the clock again
    }
    List<Turn> come = new ArrayList<>(1);
    lock.lock();
    try {
      ring(key, come);
    } finally {
      lock.unlock();
    }
    tell(come, isAlarm);
  }

  /**
   * Ends a caller's wait and tries to give the caller's tokens back, unless the tokens have
   * refilled. Returns whether this call ended the wait.
   */
  boolean giveUp(Turn turn) {
    return leave(turn, false);
  }

  /** Ends a caller's wait and tries to give its tokens back, even if the tokens have refilled. */
  void leave(Turn turn) {
    leave(turn, true);
  }

  @CanIgnoreReturnValue
  private boolean leave(Turn turn, boolean evenIfCome) {
    List<Turn> come = new ArrayList<>(0);
    lock.lock();
    try {
      if (turn.gone || (turn.come && !evenIfCome)) {
        return false;
      }
      turn.gone = true;
      for (Place place : turn.places) {
        if (place.turn != null) {
          remove(lines.get(place.key), place);
        }
      }
      turn.places.forEach(place -> ring(place.key, come));
    } finally {
      lock.unlock();
    }
    withdraw(turn);
    tell(come, false);
    return true;
  }

  private void withdraw(Turn turn) {
    List<Charge> withdrawals =
        turn.places.stream()
            .filter(place -> !lastLowered.isSince(place.key, turn.askedNanos))
            .filter(place -> !isLowering.test(place.key))
            .map(Place::withdrawal)
            .toList();
    try {
      if (!withdrawals.isEmpty()) {
        withdraw.accept(withdrawals);
      }
    } catch (RuntimeException e) {
      // Giving tokens back failed, for example because the store was closed: they stay spent.
    }
  }

  /** Moves callers whose tokens have refilled to a list, and sets the alarm for the next caller. */
  private void ring(String key, List<Turn> come) {
    Line line = lines.get(key);
    if (line == null) {
      return;
    }
    while (!line.places.isEmpty()) {
      Place first = line.places.first();
      if (first.turnAtNanos <= time.nanos()) {
        Turn turn = remove(line, first);
        turn.come = --turn.waitsFor == 0;
        if (turn.come) {
          come.add(turn);
        }
      } else if (first.turnAtNanos < line.alarmAtNanos) {
        setAlarm(line, first.turnAtNanos);
      } else {
        return;
      }
    }
    lines.remove(key);
    cancelAlarm(line);
  }

  @CanIgnoreReturnValue
  private Turn remove(@Nullable Line line, Place place) {
    Turn turn = Objects.requireNonNull(place.turn);
    Objects.requireNonNull(line).places.remove(place);
    place.turn = null;
    size(-1);
    return turn;
  }

  private void setAlarm(Line line, long atNanos) {
    cancelAlarm(line);
    line.alarmAtNanos = atNanos;
    line.alarm =
        time.alarm(
            atNanos,
            () -> {
              rang(line);
              look(line.key, true);
            });
  }

  private void rang(Line line) {
    lock.lock();
    try {
      line.alarmAtNanos = Long.MAX_VALUE;
    } finally {
      lock.unlock();
    }
  }

  private static void cancelAlarm(Line line) {
    if (line.alarm != null) {
      line.alarm.cancel(false);
      line.alarm = null;
      line.alarmAtNanos = Long.MAX_VALUE;
    }
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock
  private void size(int more) {
    size += more;
  }

  /**
   * Releases the callers whose turn has come, outside the lock. Releasing a caller runs code of the
   * application, which can block its thread, so each caller is released on another thread.
   *
   * @param isAlarm whether the calling thread is an alarm's thread, which can itself run the code
   *     of one caller
   */
  private void tell(List<Turn> come, boolean isAlarm) {
    for (int i = 0; i < come.size(); i++) {
      if (isAlarm && i == come.size() - 1) {
        come.get(i).onCome.run();
      } else {
        time.alarm(time.nanos(), come.get(i).onCome);
      }
    }
  }

  /**
   * Remembers when this process last lowered a bucket's TAT by a refund, a reset, a cancellation,
   * or a forgiven debt. The table has a fixed size: buckets with the same hash share an entry, so a
   * bucket's TAT may seem to have been lowered later than it was. Thread-safe; never blocks.
   */
  static final class LastRefundTimes {

    private static final int ENTRIES = 1_024; // a power of two

    private final AtomicLongArray lastNanos = new AtomicLongArray(ENTRIES);

    LastRefundTimes() {
      for (int i = 0; i < ENTRIES; i++) {
        lastNanos.set(i, Long.MIN_VALUE);
      }
    }

    /** Returns the index of a bucket's entry in the arrays of this table. */
    static int entry(String key) {
      int hash = key.hashCode();
      return (hash ^ (hash >>> 16)) & (ENTRIES - 1);
    }

    /** Records until when the store can apply a charge that lowers the bucket's TAT. */
    void decidedBy(String key, long nanos) {
      lastNanos.accumulateAndGet(entry(key), nanos, Math::max);
    }

    /** Returns whether the store may have lowered the bucket's TAT at the given time or later. */
    boolean isSince(String key, long nanos) {
      return lastNanos.get(entry(key)) >= nanos;
    }
  }
}
