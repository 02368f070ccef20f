// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Gcra;

/** Something that moved a bucket's TAT, in the order of its server. Not thread-safe. */
final class Entry {

  static final int NOBODY = -1;

  final Kind kind;
  final int process;
  final long moment;
  final long nowNanos;
  final long nanos; // an increment; of a loss the TAT that is left
  final long offsetNanos;
  final long afterNanos;
  boolean counts;
  boolean cancelled;
  boolean outdated;
  boolean stale; // by a master that was replaced
  int lowerings; // of its bucket, before it
  boolean wasQuiet; // nothing lowered its bucket lately

  /** The kind of event. */
  enum Kind {
    SPEND,
    REFUND,
    RESET,
    LOSS
  }

  /**
   * How a TAT was moved.
   *
   * @param nowNanos by the clock that decided
   * @param nanos an increment; of a loss the TAT that is left
   * @param offsetNanos the burst offset
   * @param afterNanos the TAT afterwards
   */
  record Move(long nowNanos, long nanos, long offsetNanos, long afterNanos) {}

  /**
   * An entry. A spend counts once a caller knows of it, everything else at once.
   *
   * @param moment of the world
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

  /** Returns whether a process that is told of both can't tell them apart. */
  boolean looksLike(Entry other) {
    return kind == other.kind
        && process == other.process
        && nanos == other.nanos
        && nowNanos == other.nowNanos
        && afterNanos == other.afterNanos;
  }

  /** Returns the TAT after it, given the one before it. */
  long after(long tatNanos) {
    return after(tatNanos, nowNanos, nanos);
  }

  /** Returns the same by another clock, with a TAT that is left of a loss by that clock. */
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
