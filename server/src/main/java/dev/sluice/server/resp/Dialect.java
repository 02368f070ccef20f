// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.Decision;
import dev.sluice.gcra.Quota;

/** The differences between {@code CL.THROTTLE} and {@code THROTTLE}. */
enum Dialect {

  /**
   * Replies with: limited, limit, remaining, seconds to wait (-1 if none or for ever), seconds
   * until full.
   */
  REDIS_CELL(1, 0) {
    @Override
    void writeTimes(boolean passes, long retryIn, long resetIn, ReplyWriter writer) {
      writer.number(passes ? -1 : retryIn);
      writer.number(resetIn);
    }
  },

  /**
   * Replies with: allowed, limit, remaining, seconds until full, seconds to wait (0 if none, -1 for
   * ever).
   */
  THROTTLECRAB(0, 1) {
    @Override
    void writeTimes(boolean passes, long retryIn, long resetIn, ReplyWriter writer) {
      writer.number(resetIn);
      writer.number(passes ? 0 : retryIn);
    }
  };

  /** The waiting time for a quantity above the limit. */
  static final long FOR_EVER = -1;

  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private final int beyondMaxBurst;
  private final int passing;

  /**
   * Makes a dialect. A reply to a request that passes begins with the number {@code passing}, 0 or
   * 1.
   */
  Dialect(int beyondMaxBurst, int passing) {
    this.beyondMaxBurst = beyondMaxBurst;
    this.passing = passing;
  }

  /** Returns the burst minus the client's max_burst. */
  int beyondMaxBurst() {
    return beyondMaxBurst;
  }

  /** Writes the last two numbers, in seconds. */
  abstract void writeTimes(boolean passes, long retryIn, long resetIn, ReplyWriter writer);

  /** Writes a decision; the wait is {@link #FOR_EVER} for a quantity above the limit. */
  void write(
      boolean passes,
      long burst,
      long remaining,
      long retryInNanos,
      long resetInNanos,
      ReplyWriter writer) {
    writer.array(5);
    writer.number(passes ? passing : 1 - passing);
    writer.number(burst);
    writer.number(remaining);
    long retryIn = retryInNanos == FOR_EVER ? FOR_EVER : seconds(retryInNanos);
    writeTimes(passes, retryIn, seconds(resetInNanos), writer);
  }

  /**
   * Writes a decision.
   *
   * @param quota the quota that the client sent; a failure rule may have applied a share of it
   * @param fits false for a quantity above the limit, for which the decision charged nothing
   */
  void write(Decision decision, Quota quota, boolean fits, ReplyWriter writer) {
    write(
        decision.allowed() && fits,
        quota.burst(),
        decision.remaining(),
        fits ? decision.retryInNanos() : FOR_EVER,
        decision.resetInNanos(),
        writer);
  }

  /** Returns whole seconds, rounded up so that the client does not come too early. */
  private static long seconds(long nanos) {
    return nanos / NANOS_PER_SECOND + (nanos % NANOS_PER_SECOND > 0 ? 1 : 0);
  }
}
