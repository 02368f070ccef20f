// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Place.Line;
import dev.sluice.Place.State;
import dev.sluice.async.Stages;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.store.TimeSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/*
 * Waiting.
 *
 * A caller that may wait for W spends with a burst offset of τ + W instead of τ. So the store
 * decides in one act whether the tokens will be there within W, and takes them. The TAT then goes
 * beyond now + τ, and all later callers, from any process, queue behind it. The turn of a caller
 * comes when its stretch of the time line (see the essay in OpenReservations) lies within τ:
 *
 *        now              now + τ      A      B      C = TAT
 *   ──────┼──────────────────┼───┬──────┬──────┬──────┬────▶ time
 *         │                  │   │◀ T·c▶│      │      │
 *         │◀── τ, the burst offset ────▶│      its turn: the end of its stretch − τ
 *
 * Giving up. B leaves, and its stretch is a hole. What B took can't just go back to the store: D
 * would get the stretch of C, and C and D would pass at the same moment. So the callers that wait
 * here, directly behind the hole, move up into it. Then the hole lies behind them, and the store
 * takes it back if it is still the last stretch (Effect.Op.WITHDRAW). It is not the last one if
 * another process, which can't be told to move up, took tokens behind it. Then the hole stays: it
 * closes if somebody from here comes to stand behind it, and passes unused otherwise. That costs
 * tokens, and gives none.
 *
 * Fixed places. A reset, a refund or a cancellation moves all stretches that lie behind what it
 * gives back, and may swallow some: a full bucket gets no fuller. This process knows of its own
 * only, and not at which moment the store decides on one. So a place is fixed if one of them may
 * have been decided on since its spend. A caller that gives up a fixed place gives nothing back,
 * and nobody moves up into it. One whose answer is lost counts for as long as the store may still
 * decide. One that is sent behind a withdrawal must not arrive before it, or the withdrawal might
 * find by chance the TAT that it expects (see BucketStore).
 *
 * Order. Stretches of a bucket don't overlap, so turns come in the order of the spends, however
 * many processes there are. Here, the line of a bucket has one alarm, that of its first place. A
 * caller with several buckets stands in several lines, and its turn comes when it was first in
 * each.
 *
 * Clocks. A store that goes by a clock of this process names the instant of its decision, which
 * lies between question and answer even if that clock steps. Of any other store, the wait is
 * counted from the arrival of its answer: never too early, and late by no more than the way back
 * took. A batch is answered with its slowest server, and those behind it wait for its turn. So a
 * place learns from those that were taken later and answered sooner. What is left of a place that
 * others move up into is counted from the question: never too much, and too little by no more than
 * the round trip.
 */

/**
 * Those who wait for tokens that they took ahead of their time. Thread-safe; no method blocks for
 * longer than a few instructions for each caller who waits behind one that gives up.
 */
final class WaitingRoom {

  /** How many places there are, about. Beyond them nobody may wait. */
  static final int MOST = 1_000_000;

  private final TimeSource time;
  private final Supplier<OptionalLong> storeTime;
  private final Function<List<Charge>, CompletionStage<List<Reading>>> withdraw;
  private final ReentrantLock lock = new ReentrantLock();
  private final Map<String, Line> lines = new HashMap<>();
  private final Predicate<String> isLowering;
  private final LastLowered lastLowered = new LastLowered();
  private volatile int size; // written under the lock
  private volatile boolean isUsed; // by a caller that may wait

  /**
   * A room.
   *
   * @param time the clock to wait by
   * @param storeTime the store's present, where it is known here
   * @param withdraw asks the store to take spends back
   * @param isLowering whether a charge of this process that lowers a bucket is under way
   */
  WaitingRoom(
      TimeSource time,
      Supplier<OptionalLong> storeTime,
      Function<List<Charge>, CompletionStage<List<Reading>>> withdraw,
      Predicate<String> isLowering) {
    this.time = time;
    this.storeTime = storeTime;
    this.withdraw = withdraw;
    this.isLowering = isLowering;
  }

  /** A caller that may wait asks the store. Returns the present, for {@link #enter}. */
  long asks() {
    if (!isUsed) {
      isUsed = true; // first: what was answered before it does not count
    }
    return time.nanos();
  }

  /**
   * A charge that lowers a bucket was answered, or failed.
   *
   * @param laterNanos for how long the store may still decide on it; 0 if it was answered
   */
  void lowered(String key, long laterNanos) {
    if (!isUsed && laterNanos == 0) {
      return;
    }
    long byNanos = time.nanos() + laterNanos;
    lastLowered.decidedBy(key, byNanos);
    if (size > 0) {
      lock.lock();
      try {
        Line line = lines.get(key);
        if (line != null) {
          line.loweredNanos = Math.max(line.loweredNanos, byNanos);
        }
      } finally {
        lock.unlock();
      }
    }
  }

  boolean isFull() {
    return size >= MOST;
  }

  /** How many places callers wait for, or left. */
  int size() {
    return size;
  }

  /**
   * Lets a caller wait for what it took.
   *
   * @param places of different buckets
   * @param askedNanos what {@link #asks} returned
   * @param onCome told when the turn has come, unless it has when this returns; must not block
   */
  Turn enter(List<Place> places, long askedNanos, Runnable onCome) {
    Turn turn = new Turn(places, onCome);
    long hereNanos = time.nanos();
    OptionalLong storeNanos = storeTime.get();
    for (Place place : places) {
      place.askedNanos = askedNanos;
      if (storeNanos.isPresent()) {
        long decidedNanos = hereNanos - sinceNanos(place, storeNanos.getAsLong(), hereNanos);
        place.seenAt(decidedNanos, decidedNanos);
      } else {
        place.seenAt(hereNanos, askedNanos);
      }
    }
    Moved moved = new Moved();
    lock.lock();
    try {
      for (Place place : places) {
        if (place.waitNanos() > 0) {
          turn.waitFor(place);
          place.state = State.WAITING;
          add(place);
          Place before = place.before;
          if (before != null && before.state == State.HOLE && before.isFollowed()) {
            close(before, moved);
          }
        }
      }
      turn.settle();
      for (Place place : places) {
        ring(place.key, moved);
      }
    } finally {
      lock.unlock();
    }
    moved.tell(turn, false);
    return turn;
  }

  /** How long ago the store decided: not before it was asked, even if its clock has stepped. */
  private static long sinceNanos(Place place, long storeNanos, long hereNanos) {
    long mostNanos = Math.max(hereNanos - place.askedNanos, 0);
    return Math.min(Math.max(storeNanos - place.nowNanos(), 0), mostNanos);
  }

  /** The present by the clock that callers wait by. */
  long nowNanos() {
    return time.nanos();
  }

  /** How long it takes until the turn comes. */
  long leftNanos(Turn turn) {
    lock.lock();
    try {
      long latestNanos = Long.MIN_VALUE;
      for (Place place : turn.places()) {
        if (place.state == State.WAITING) {
          latestNanos = Math.max(latestNanos, place.turnAtNanos);
        }
      }
      return latestNanos == Long.MIN_VALUE ? 0 : Math.max(latestNanos - time.nanos(), 0);
    } finally {
      lock.unlock();
    }
  }

  /** Looks at the clock for a caller, who need not rely on an alarm. */
  void look(Turn turn) {
    turn.places().forEach(place -> look(place.key, false));
  }

  /** Lets those pass whose turn it is; on an alarm's own thread if it says so. */
  private void look(String key, boolean isAlarm) {
    if (lock.isHeldByCurrentThread()) {
      return; // an alarm that rings while it is set: the clock is read again after that
    }
    Moved moved = new Moved();
    lock.lock();
    try {
      ring(key, moved);
    } finally {
      lock.unlock();
    }
    moved.tell(null, isAlarm);
  }

  /** Gives back what a caller took, unless its turn has come. Returns whether it did. */
  boolean giveUp(Turn turn) {
    return leave(turn, false);
  }

  /** Gives back what a caller took, even if its turn has come. */
  void leave(Turn turn) {
    leave(turn, true);
  }

  @CanIgnoreReturnValue
  private boolean leave(Turn turn, boolean evenIfCome) {
    Moved moved = new Moved();
    lock.lock();
    try {
      if ((turn.hasCome() && !evenIfCome) || !turn.leave()) {
        return false;
      }
      for (Place place : turn.places()) {
        vacate(place, moved);
      }
      for (Place place : turn.places()) {
        ring(place.key, moved);
      }
    } finally {
      lock.unlock();
    }
    moved.tell(null, false);
    return true;
  }

  private void vacate(Place place, Moved moved) {
    if (place.state == State.OUTSIDE) {
      if (place.isOver(time.nanos())) {
        return;
      }
      add(place);
    }
    place.turn = null;
    close(place, moved);
  }

  private void add(Place place) {
    lines.computeIfAbsent(place.key, Line::new).add(place);
    size(1); // first: what is answered now finds its line
    place.isFixed |= lastLowered.isSince(place.key, place.askedNanos);
  }

  /** The store knows best what is left of a hole, unless others here move up into it. */
  private void close(Place hole, Moved moved) {
    if (isFixed(hole) || (hole.isFollowed() && !moveUpInto(hole, moved))) {
      remove(line(hole), hole, moved);
      return;
    }
    hole.state = State.LEAVING;
    moved.holes.add(hole);
  }

  /**
   * Lets those who stand directly behind a hole move up into it. They may come to stand directly
   * behind an earlier one, which then stays before this one until the store has taken this one
   * back.
   *
   * @return false if nothing is left of the hole
   */
  private boolean moveUpInto(Place hole, Moved moved) {
    if (!hole.shrink(time.nanos())) {
      return false;
    }
    Place earlier = hole.before;
    line(hole).close(hole);
    while (earlier != null && earlier.state == State.HOLE && earlier.isFollowed()) {
      if (isFixed(earlier) || !earlier.shrink(time.nanos())) {
        remove(line(earlier), earlier, moved);
        break;
      }
      Place next = earlier.before;
      line(earlier).close(earlier);
      earlier = next;
    }
    return true;
  }

  private boolean isFixed(Place place) {
    return place.isFixed
        || line(place).loweredNanos >= place.askedNanos
        || isLowering.test(place.key);
  }

  private Line line(Place place) {
    return Objects.requireNonNull(lines.get(place.key));
  }

  /** Lets those pass whose turn it is, and sets the alarm for the next one. */
  private void ring(String key, Moved moved) {
    Line line = lines.get(key);
    if (line == null) {
      return;
    }
    Place first = line.first();
    while (first != null) {
      if (first.turnAtNanos <= time.nanos()) {
        remove(line, first, moved);
      } else if (first.turnAtNanos < line.alarmAtNanos) {
        setAlarm(line, first.turnAtNanos);
      } else {
        return;
      }
      first = line.first();
    }
    lines.remove(key);
    cancelAlarm(line);
  }

  private void remove(Line line, Place place, Moved moved) {
    line.remove(place);
    size(-1);
    place.state = State.OUTSIDE;
    Turn turn = place.turn == null ? null : place.turn.without(place);
    if (turn != null) {
      moved.come.add(turn);
    }
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

  private void withdraw(List<Place> holes) {
    CompletionStage<List<Reading>> answer;
    try {
      answer = withdraw.apply(holes.stream().map(Place::withdrawal).toList());
    } catch (RuntimeException e) { // a store that is closed, say: what was taken stays taken
      withdrawn(holes, null);
      return;
    }
    Stages.onEnd(
        answer, (readings, failure) -> withdrawn(holes, failure == null ? readings : null));
  }

  /** Removes what the store took back; what it did not may still be closed by those who come. */
  private void withdrawn(List<Place> holes, @Nullable List<Reading> readings) {
    Moved moved = new Moved();
    lock.lock();
    try {
      for (int i = 0; i < holes.size(); i++) {
        Place hole = holes.get(i);
        if (hole.state != State.LEAVING) {
          continue; // its time is over
        }
        boolean followed =
            readings != null && Long.compareUnsigned(readings.get(i).tatNanos(), hole.endNanos) > 0;
        boolean back = readings != null && readings.get(i).tatNanos() == hole.endNanos;
        Place before = hole.before;
        if (!followed) {
          remove(line(hole), hole, moved);
        } else if (hole.isFollowed()) { // by a caller that came in between
          close(hole, moved);
        } else {
          hole.state = State.HOLE;
        }
        if (back
            && before != null
            && before.state == State.HOLE
            && before.endNanos == hole.startNanos()) {
          close(before, moved); // which is the last one now
        }
        ring(hole.key, moved);
      }
    } finally {
      lock.unlock();
    }
    moved.tell(null, false);
  }

  /** The work to do once the lock is free. */
  private final class Moved {
    private final List<Turn> come = new ArrayList<>(1);
    private final List<Place> holes = new ArrayList<>(0);

    /**
     * Tells all callers but that of this thread. What they do then is their own code, which may
     * hold its thread up: no two of them share one.
     *
     * @param here the turn of this thread's caller, null for none
     * @param isAlarm whether this is the thread of an alarm, which one of them may have
     */
    void tell(@Nullable Turn here, boolean isAlarm) {
      if (!holes.isEmpty()) {
        withdraw(holes);
      }
      come.removeIf(turn -> turn == here);
      int handedOver = isAlarm ? come.size() - 1 : come.size();
      for (int i = 0; i < come.size(); i++) {
        if (i < handedOver) {
          time.alarm(time.nanos(), come.get(i)::tell);
        } else {
          come.get(i).tell();
        }
      }
    }
  }
}
