// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Gcra;

/** One recorded event that changed a bucket's TAT, such as a spend. Not thread-safe. */
final class Entry {

  static final int NOBODY = -1;

  final Kind kind;
  final int process;
  final long moment;
  final long nowNanos;
  final long nanos; // the increment of the TAT; for a loss, the TAT after the loss
  final long offsetNanos;
  final long afterNanos;
  boolean counts;
  boolean cancelled;
  boolean outdated; // whether another process lowered the TAT after this spend
  boolean stale; // whether a replaced master decided this event
  int lowerings; // how often the bucket's TAT had been lowered before this event
  long cancelledNanos; // the sum of the bucket's spends that were cancelled before this event
  boolean wasQuiet; // whether the bucket's TAT had not been lowered for a while

  enum Kind {
    SPEND,
    REFUND,
    RESET,
    LOSS
  }

  /**
   * A change of a TAT.
   *
   * @param nowNanos the time at which the change was decided, by the bucket's clock
   * @param nanos the increment of the TAT; for a loss of data, the TAT after the loss
   * @param offsetNanos the burst offset
   * @param afterNanos the TAT after the change
   */
  record Move(long nowNanos, long nanos, long offsetNanos, long afterNanos) {}

  /**
   * Creates an entry. A spend counts only after its caller has received the grant; other events
   * count immediately.
   *
   * @param moment the moment of the event
   */
  Entry(Kind kind, int process, long moment, Move move) {
    this.kind = kind;
    this.process = process;
    this.moment = moment;
    this.nowNanos = move.nowNanos;
    this.nanos = move.nanos;
    this.offsetNanos = move.offsetNanos;
    this.afterNanos = move.afterNanos;
    this.counts = kind != Kind.SPEND;
  }

  static Entry loss(long moment, long nowNanos, long leftNanos) {
    return new Entry(Kind.LOSS, NOBODY, moment, new Move(nowNanos, leftNanos, 0, leftNanos));
  }

  boolean isSpend() {
    return kind == Kind.SPEND;
  }

  /** Returns whether a server's answer to this event equals its answer to another event. */
  boolean looksLike(Entry other) {
    return kind == other.kind
        && process == other.process
        && nanos == other.nanos
        && nowNanos == other.nowNanos
        && afterNanos == other.afterNanos;
  }

  /** Returns the TAT after this event, given the TAT before this event. */
  long after(long tatNanos) {
    return after(tatNanos, nowNanos, nanos);
  }

  /**
   * Returns the TAT after this event, computed with the clock that shows {@code now}.
   *
   * @param now the time of the event by the clock that this method uses
   * @param leftNanos for a loss of data, the TAT after the loss, by the same clock as {@code now}
   */
  long after(long tatNanos, long now, long leftNanos) {
    if (!counts) {
      return tatNanos;
    }
    return switch (kind) {
      case SPEND -> Math.max(tatNanos, now) + nanos;
      case REFUND -> tatNanos <= now ? tatNanos : Math.max(tatNanos - nanos, now);
      case RESET -> Gcra.NO_TAT;
      case LOSS -> Math.min(tatNanos, leftNanos);
    };
  }
}
