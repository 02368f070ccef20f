// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Gcra;

/** An event that moved a bucket's TAT, in the order of its server. Not thread-safe. */
final class Entry {

  static final int NOBODY = -1;

  final Kind kind;
  final int process;
  final long moment;
  final long nowNanos;
  final long nanos; // the increment; if state was lost, the remaining TAT
  final long offsetNanos;
  final long afterNanos;
  boolean counts;
  boolean cancelled;
  boolean outdated;
  boolean stale; // whether a replaced master made this entry
  int lowerings; // how often the bucket's TAT was lowered before this entry
  long cancelledNanos; // what was cancelled of its bucket before this entry
  boolean wasQuiet; // whether nothing had lowered the bucket's TAT recently

  /** The kind of event. */
  enum Kind {
    SPEND,
    REFUND,
    RESET,
    LOSS
  }

  /**
   * A change of a TAT.
   *
   * @param nowNanos the time of the clock that decided
   * @param nanos the increment; for a loss, the TAT that is left
   * @param offsetNanos the burst offset
   * @param afterNanos the TAT after the change
   */
  record Move(long nowNanos, long nanos, long offsetNanos, long afterNanos) {}

  /**
   * Creates an entry. A spend counts once its caller knows of it, all other kinds at once.
   *
   * @param moment the moment of the world
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

  /** Returns whether a process cannot distinguish the answers of two entries. */
  boolean looksLike(Entry other) {
    return kind == other.kind
        && process == other.process
        && nanos == other.nanos
        && nowNanos == other.nowNanos
        && afterNanos == other.afterNanos;
  }

  /** Returns the TAT after this entry, given the TAT before it. */
  long after(long tatNanos) {
    return after(tatNanos, nowNanos, nanos);
  }

  /**
   * Returns the TAT after this entry by another clock; {@code leftNanos} replaces {@code nanos}.
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
