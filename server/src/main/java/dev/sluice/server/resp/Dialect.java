// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.Decision;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;

/** In what {@code CL.THROTTLE} and {@code THROTTLE} differ. */
enum Dialect {

  /** Limited, limit, remaining, seconds to wait (-1 for none, and for ever), seconds until full. */
  REDIS_CELL(1) {
    @Override
    void write(
        boolean allowed,
        boolean fits,
        long burst,
        long remaining,
        long retryInNanos,
        long resetInNanos,
        ReplyWriter writer) {
      boolean passes = allowed && fits;
      writer.array(5);
      writer.number(passes ? 0 : 1);
      writer.number(burst);
      writer.number(remaining);
      writer.number(passes || !fits ? -1 : seconds(retryInNanos));
      writer.number(seconds(resetInNanos));
    }
  },

  /** Allowed, limit, remaining, seconds until full, seconds to wait (0 for none, -1 for ever). */
  THROTTLECRAB(0) {
    @Override
    void write(
        boolean allowed,
        boolean fits,
        long burst,
        long remaining,
        long retryInNanos,
        long resetInNanos,
        ReplyWriter writer) {
      boolean passes = allowed && fits;
      writer.array(5);
      writer.number(passes ? 1 : 0);
      writer.number(burst);
      writer.number(remaining);
      writer.number(seconds(resetInNanos));
      writer.number(passes ? 0 : fits ? seconds(retryInNanos) : -1);
    }
  };

  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private final int beyondMaxBurst;

  Dialect(int beyondMaxBurst) {
    this.beyondMaxBurst = beyondMaxBurst;
  }

  /** What the limit has more than max_burst. */
  int beyondMaxBurst() {
    return beyondMaxBurst;
  }

  /**
   * Writes a decision.
   *
   * @param fits false for a quantity over the limit: then the decision is one on nothing
   */
  abstract void write(
      boolean allowed,
      boolean fits,
      long burst,
      long remaining,
      long retryInNanos,
      long resetInNanos,
      ReplyWriter writer);

  void write(Decision decision, boolean fits, ReplyWriter writer) {
    write(
        decision.allowed(),
        fits,
        burst(decision),
        decision.remaining(),
        decision.retryInNanos(),
        decision.resetInNanos(),
        writer);
  }

  private static long burst(Decision decision) {
    Transaction transaction = decision.transaction();
    Quota quota = transaction == null ? null : transaction.quota();
    return quota == null ? Long.MAX_VALUE : quota.burst();
  }

  /** Whole seconds, rounded up: a client that waits so long does not come too early. */
  private static long seconds(long nanos) {
    return nanos / NANOS_PER_SECOND + (nanos % NANOS_PER_SECOND > 0 ? 1 : 0);
  }
}
