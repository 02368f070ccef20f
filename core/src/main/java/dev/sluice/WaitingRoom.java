// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.Place.Line;
import dev.sluice.Place.State;
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
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/*
 * Waiting.
 *
 * A caller that may wait for W spends with a burst offset of τ + W instead of τ. So the store
 * decides in one act whether the tokens will be there within W, and takes them: the TAT goes beyond
 * now + τ, and all who come later, from whatever process, queue behind it. The turn of a caller
 * comes when its stretch of the time line (see the essay in Reservation) lies within τ:
 *
 *        now              now + τ      A      B      C = TAT
 *   ──────┼──────────────────┼───┬──────┬──────┬──────┬────▶ time
 *         │                  │   │◀ T·c▶│      │      │
 *         │◀── τ, the burst offset ────▶│      its turn: the end of its stretch − τ
 *
 * Giving up. B leaves, and its stretch is a hole. What B took can't just go back to the store: D
 * would get the stretch of C, and C and D would pass at the same moment. So those who wait here,
 * and stand directly behind the hole, move up into it; then the hole lies behind them, and the
 * store takes it back if it is the last one still (Effect.Op.WITHDRAW). It is not if another
 * process took tokens behind it, which can't be told to move up. Then the hole stays: it closes if
 * somebody from here comes to stand behind it, and passes unused otherwise. That costs tokens, and
 * gives none.
 *
 * Fixed places. A reset, a refund or a cancellation moves all stretches that lie behind what it
 * gives back, and may swallow some: a full bucket gets no fuller. So a place that was taken before
 * one that this process makes is fixed: who gives it up gives nothing back, and nobody moves up
 * into it.
 *
 * Order. Stretches of a bucket don't overlap, so turns come in the order of the spends, however
 * many processes there are. Here, the line of a bucket has one alarm, that of its first place; a
 * caller with several buckets stands in several lines, and its turn comes when it was first in
 * each.
 *
 * Clocks. A store in this process names the instant. Of any other, the wait is counted from the
 * arrival of its answer: never too early, and late by no more than the way back took. What is left
 * of a place that others move up into is counted from the question: never too much, and too little
 * by no more than the round trip.
 */

/**
 * Those who wait for tokens that they took ahead of their time. Thread-safe; no method blocks for
 * longer than a few instructions for each caller who waits behind one that gives up.
 */
final class WaitingRoom {

  /** How many places there are, about. Beyond them nobody may wait. */
  static final int MOST = 1_000_000;

  private static final int STRIPES = 256; // of buckets that share a time

  private final TimeSource time;
  private final Supplier<OptionalLong> storeTime;
  private final Function<List<Charge>, CompletionStage<List<Reading>>> withdraw;
  private final ReentrantLock lock = new ReentrantLock();
  private final Map<String, Line> lines = new HashMap<>();
  private final AtomicLongArray loweredNanos = new AtomicLongArray(STRIPES); // by hash of the key
  private volatile int size; // written under the lock

  /**
   * A room.
   *
   * @param time the clock to wait by
   * @param storeTime the store's present, where it is known here
   * @param withdraw asks the store to take spends back
   */
  WaitingRoom(
      TimeSource time,
      Supplier<OptionalLong> storeTime,
      Function<List<Charge>, CompletionStage<List<Reading>>> withdraw) {
    this.time = time;
    this.storeTime = storeTime;
    this.withdraw = withdraw;
    for (int i = 0; i < STRIPES; i++) {
      loweredNanos.set(i, Long.MIN_VALUE);
    }
  }

  /**
   * Called when charges that lower buckets leave for the store, and again when they have been
   * answered or have failed: they are decided on at some moment in between.
   */
  void lowers(List<Charge> charges) {
    for (Charge charge : charges) {
      lowers(charge.key());
    }
  }

  private void lowers(String key) {
    loweredNanos.set(stripe(key), time.nanos());
    if (size == 0) {
      return;
    }
    lock.lock();
    try {
      Line line = lines.get(key);
      for (Place at = line == null ? null : line.first(); at != null; at = at.behind) {
        at.isFixed = true;
      }
    } finally {
      lock.unlock();
    }
  }

  private static int stripe(String key) {
    return key.hashCode() & (STRIPES - 1);
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
   * @param askedNanos what the clock showed when the store was asked, or an earlier time
   * @param onCome told when the turn has come, unless it has when this returns; must not block
   */
  Turn enter(List<Place> places, long askedNanos, Runnable onCome) {
    Turn turn = new Turn(places, onCome);
    long hereNanos = time.nanos();
    OptionalLong storeNanos = storeTime.get();
    for (Place place : places) {
      place.isFixed = loweredNanos.get(stripe(place.key)) >= askedNanos;
      if (storeNanos.isPresent()) {
        long decidedNanos = hereNanos - (storeNanos.getAsLong() - place.nowNanos());
        place.seenAt(hereNanos, storeNanos.getAsLong(), decidedNanos);
      } else {
        place.seenAt(hereNanos, place.nowNanos(), askedNanos);
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
    moved.tell(turn);
    return turn;
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
    turn.places().forEach(place -> look(place.key));
  }

  private void look(String key) {
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
    moved.tell(null);
  }

  /** Gives back what a caller took, unless its turn has come. Returns whether it did. */
  boolean giveUp(Turn turn) {
    return leave(turn, false);
  }

  /** Gives back what a caller took, even if its turn has come. */
  void leave(Turn turn) {
    boolean unused = leave(turn, true);
  }

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
    moved.tell(null);
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
    size(1);
  }

  /** The store knows best what is left of a hole, unless others here move up into it. */
  private void close(Place hole, Moved moved) {
    if (hole.isFixed) {
      remove(line(hole), hole, moved);
      return;
    }
    if (hole.isFollowed()) {
      if (!hole.shrink(time.nanos())) {
        remove(line(hole), hole, moved);
        return;
      }
      line(hole).close(hole);
    }
    hole.state = State.LEAVING;
    moved.holes.add(hole);
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
              look(line.key);
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
    var unused =
        answer.whenComplete(
            (readings, failure) -> withdrawn(holes, failure == null ? readings : null));
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
    moved.tell(null);
  }

  /** The work to do once the lock is free. */
  private final class Moved {
    private final List<Turn> come = new ArrayList<>(1);
    private final List<Place> holes = new ArrayList<>(0);

    /** Tells all callers but that of this thread. */
    void tell(@Nullable Turn here) {
      for (Turn turn : come) {
        if (turn != here) {
          turn.tell();
        }
      }
      if (!holes.isEmpty()) {
        withdraw(holes);
      }
    }
  }
}
