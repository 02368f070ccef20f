// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect;
import dev.sluice.limit.LimitName;
import dev.sluice.store.Charge;
import java.util.Objects;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * The part of one bucket that one caller has taken: a stretch of its time line, as long as the
 * tokens take to refill, up to an instant. All but the constructor is used under the lock of its
 * {@link WaitingRoom}.
 */
final class Place {

  enum State {
    /** In no line: nobody has to wait for it, or not yet, or no longer. */
    OUTSIDE,
    /** Its caller waits. */
    WAITING,
    /** Its caller gave up, and others may have what it took. */
    HOLE,
    /** The store was asked to take it back. */
    LEAVING
  }

  final String key;
  final LimitName limit;
  final long offsetNanos;
  private final long nowNanos; // of the store, when it was taken
  long incrementNanos;
  long endNanos; // unsigned, by the store's clock
  long turnAtNanos; // by the clock here: when the tokens are there
  private long endHereNanos; // the end by the clock here, or earlier
  private long behindNanos; // by how much the store's clock is behind that here, at most
  State state = State.OUTSIDE;
  long askedNanos; // by the clock here: when its spend left for the store, or earlier
  boolean isFixed; // this process may have lowered its bucket before it came into its line
  @Nullable Turn turn;
  @Nullable Place before; // in its line
  @Nullable Place behind;

  /**
   * Makes the place of the tokens that were taken.
   *
   * @param limit the limit that the bucket belongs to
   * @param incrementNanos the length of the stretch, positive
   * @param offsetNanos the burst offset of the quota, at least as long
   * @param endNanos the TAT that the spend left, unsigned
   * @param nowNanos the store's present when it was taken
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

  /** How long it takes from the decision until the tokens are there; 0 if they are. */
  long waitNanos() {
    return Math.max(endNanos - nowNanos - offsetNanos, 0);
  }

  /**
   * Translates its times to the clock here.
   *
   * @param notBeforeNanos what the clock here showed when the store decided, or a later time
   * @param notAfterNanos the same, or an earlier time
   */
  void seenAt(long notBeforeNanos, long notAfterNanos) {
    behindNanos = notBeforeNanos - nowNanos;
    turnAtNanos = after(notBeforeNanos, waitNanos());
    endHereNanos = notAfterNanos + (endNanos - nowNanos);
  }

  /** A turn that lies beyond the clock's last instant never comes. */
  private static long after(long nanos, long waitNanos) {
    long turnAtNanos = nanos + waitNanos;
    return waitNanos > 0 && turnAtNanos < nanos ? Long.MAX_VALUE : turnAtNanos;
  }

  /**
   * Learns from a place that was taken later, and whose answer took less time: so much earlier was
   * this one taken, too.
   *
   * @return whether it has learned, and may teach others
   */
  @CanIgnoreReturnValue
  private boolean learn(Place later) {
    if (later.nowNanos < nowNanos || later.behindNanos - behindNanos >= 0) {
      return false;
    }
    behindNanos = later.behindNanos;
    turnAtNanos =
        Math.min(turnAtNanos, after(nowNanos + behindNanos, endNanos - offsetNanos - nowNanos));
    return true;
  }

  /** The store's present when it was taken. */
  long nowNanos() {
    return nowNanos;
  }

  /**
   * Gives up what would have been refilled by now if nobody had taken it. A bucket that is full
   * refills nothing, so nobody who spent later may have it.
   *
   * @return whether anything is left
   */
  boolean shrink(long hereNanos) {
    incrementNanos = Math.min(incrementNanos, endHereNanos - hereNanos);
    return incrementNanos > 0;
  }

  /** Whether nothing is left that could be given back. */
  boolean isOver(long hereNanos) {
    return endHereNanos - hereNanos <= 0;
  }

  /** Whether a caller who waits stands directly behind. */
  boolean isFollowed() {
    Place next = behind;
    return next != null && next.state == State.WAITING && next.startNanos() == endNanos;
  }

  long startNanos() {
    return endNanos - incrementNanos;
  }

  /** Moves towards the present. */
  void moveUp(long nanos) {
    endNanos -= nanos;
    endHereNanos -= nanos;
    turnAtNanos -= nanos;
  }

  Charge withdrawal() {
    return new Charge(key, Effect.Op.WITHDRAW, incrementNanos, offsetNanos, endNanos);
  }

  /** Those who wait for one bucket, and what they left there, by their ends. */
  static final class Line {
    final String key;
    private @Nullable Place first;
    private @Nullable Place last;
    @Nullable Future<?> alarm;
    long alarmAtNanos = Long.MAX_VALUE;
    long loweredNanos = Long.MIN_VALUE; // when this process lowered the bucket last, or later

    Line(String key) {
      this.key = key;
    }

    @Nullable Place first() {
      return first;
    }

    /** Nearly always at the end: a store grants one stretch behind the other. */
    void add(Place place) {
      insertByEnd(last, place);
      learn(place);
    }

    /** Behind all that end earlier or at the same time, looked for from a place on. */
    private void insertByEnd(@Nullable Place from, Place place) {
      Place at = from;
      while (at != null && Long.compareUnsigned(at.endNanos, place.endNanos) > 0) {
        at = at.before;
      }
      insertBehind(at, place);
    }

    /**
     * The answer to a batch comes when the slowest server has answered. Those behind it wait for
     * its turn, so it must not seem later than the other answers say.
     */
    private static void learn(Place added) {
      if (added.behind != null) {
        added.learn(added.behind);
      }
      for (Place before = added.before; before != null && before.learn(added); ) {
        before = before.before;
      }
    }

    void remove(Place place) {
      Place before = place.before;
      Place behind = place.behind;
      if (before == null) {
        first = behind;
      } else {
        before.behind = behind;
      }
      if (behind == null) {
        last = before;
      } else {
        behind.before = before;
      }
      place.before = null;
      place.behind = null;
    }

    /**
     * Lets those who stand directly behind a hole move up into it, one after the other, until it
     * lies behind them all. After a refund, stretches may overlap: who moves up may come to stand
     * before others.
     */
    void close(Place hole) {
      while (hole.isFollowed()) {
        Place next = Objects.requireNonNull(hole.behind);
        hole.endNanos = next.endNanos;
        hole.turnAtNanos = next.turnAtNanos;
        next.moveUp(hole.incrementNanos);
        remove(next);
        insertByEnd(hole.before, next);
      }
    }

    private void insertBehind(@Nullable Place at, Place place) {
      Place behind = at == null ? first : at.behind;
      place.before = at;
      place.behind = behind;
      if (at == null) {
        first = place;
      } else {
        at.behind = place;
      }
      if (behind == null) {
        last = place;
      } else {
        behind.before = place;
      }
    }
  }
}
