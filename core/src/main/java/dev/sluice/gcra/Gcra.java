// SPDX-License-Identifier: Apache-2.0
package dev.sluice.gcra;

/*
 * The generic cell rate algorithm, in whole nanoseconds.
 *
 * The only state of a bucket is its theoretical arrival time (TAT): the instant at which it will be
 * full again. So the time from now to the TAT measures the tokens that the bucket lacks:
 *
 *              now                     TAT             now + τ
 *   ────────────┼───────────────────────┼─────────────────┼──────▶ time
 *               │◀────── ahead ────────▶│◀─── free ──────▶│
 *               │◀────────────── τ, the burst offset ────▶│
 *
 * A spend of cost c pushes the TAT by its increment T·c, and is allowed if it stays within τ. So
 * everything follows from `ahead`, which is never negative: a TAT in the past is a full bucket.
 *
 * Debt. A TAT may lie beyond now + τ: a limit with a larger τ charged the bucket (a limit shrank,
 * or two servers have different limits), a clock stepped back, or callers wait for tokens. Such a
 * bucket is empty, and the time beyond now + τ is a debt: `remaining` is 0, and the wait includes
 * the debt. Nothing here lowers the TAT. (The limiter decides when a debt is forgiven, see
 * Effect.Op.FORGIVE.) A cost of 0 reads the bucket and is allowed even then.
 *
 * Overflow. τ and every increment fit a signed 64-bit number (checked by Quota), an increment is at
 * most τ, and `ahead` is cut to 2^63 − 1. So τ − increment ≥ 0, and τ − increment − ahead is not
 * below −2^63 + 1. Only the TAT itself can pass 2^63 (now + τ, with a τ of centuries), so a TAT is
 * an UNSIGNED 64-bit number; now + τ < 2^64 always holds. 0 means that there is no bucket: no clock
 * reads before it.
 *
 * Source: ITU-T I.371, annex A (virtual scheduling), with a cost; Let's Encrypt's ratelimits
 * package for what is answered beside the verdict.
 */

/**
 * The arithmetic of a token bucket stored as one number (GCRA).
 *
 * <p>Pure functions of longs that allocate nothing. Times are nanoseconds since the Unix epoch;
 * {@code nowNanos} is never negative, a TAT is <em>unsigned</em>.
 */
public final class Gcra {

  /** The TAT of a bucket that does not exist, and so is full. */
  public static final long NO_TAT = 0;

  private Gcra() {}

  /**
   * Returns how far the TAT lies ahead of now: the time until the bucket is full again.
   *
   * @param nowNanos the current time, not negative
   * @param tatNanos the stored TAT, unsigned; {@link #NO_TAT} if there is no bucket
   * @return from 0 (full); more than the burst offset τ if the bucket is empty and in debt; at most
   *     {@link Long#MAX_VALUE}
   */
  public static long aheadNanos(long nowNanos, long tatNanos) {
    if (Long.compareUnsigned(tatNanos, nowNanos) <= 0) {
      return 0;
    }
    long aheadNanos = tatNanos - nowNanos;
    return aheadNanos < 0 ? Long.MAX_VALUE : aheadNanos;
  }

  /**
   * Returns what would be left of the burst offset after a spend.
   *
   * @param aheadNanos how far the TAT lies ahead of now
   * @param incrementNanos the cost increment T·c, 0 to τ
   * @param offsetNanos the burst offset τ
   * @return if the spend must be denied, minus the time to wait for it; otherwise not negative, as
   *     always for an increment of 0, which only reads the bucket
   */
  public static long roomNanos(long aheadNanos, long incrementNanos, long offsetNanos) {
    long roomNanos = offsetNanos - incrementNanos - aheadNanos;
    return incrementNanos == 0 ? Math.max(roomNanos, 0) : roomNanos;
  }

  /**
   * Returns the whole tokens in a bucket.
   *
   * @param aheadNanos how far the TAT lies ahead of now
   * @param intervalNanos the emission interval T, positive
   * @param offsetNanos the burst offset τ
   * @return from 0 to the burst
   */
  public static long remaining(long aheadNanos, long intervalNanos, long offsetNanos) {
    return aheadNanos >= offsetNanos ? 0 : (offsetNanos - aheadNanos) / intervalNanos;
  }

  /**
   * Returns the tokens by which a bucket is overdrawn.
   *
   * @param aheadNanos how far the TAT lies ahead of now
   * @param intervalNanos the emission interval T, positive
   * @param offsetNanos the burst offset τ
   * @return the debt in tokens, rounded up; 0 for a bucket without a debt
   */
  public static long owed(long aheadNanos, long intervalNanos, long offsetNanos) {
    return aheadNanos <= offsetNanos ? 0 : (aheadNanos - offsetNanos - 1) / intervalNanos + 1;
  }

  /**
   * Returns the wait until the same cost can be spent (again), given the room after the last
   * attempt.
   *
   * @param roomNanos of {@link #roomNanos}
   * @param incrementNanos the cost increment T·c
   * @return for a denial the time until it would be allowed, for an allowance the time until it
   *     would be allowed once more; 0 for at once
   */
  public static long retryInNanos(long roomNanos, long incrementNanos) {
    if (roomNanos < 0) {
      return -roomNanos;
    }
    return Math.max(incrementNanos - roomNanos, 0);
  }

  /**
   * Returns how far the TAT lies ahead of now after a refund, which never overfills the bucket.
   *
   * @param aheadNanos how far the TAT lies ahead of now
   * @param refundNanos the increment to give back, not negative
   * @return from 0
   */
  public static long aheadAfterRefundNanos(long aheadNanos, long refundNanos) {
    return Math.max(aheadNanos - refundNanos, 0);
  }

  /**
   * Returns whether a bucket is in debt: its TAT is later than now + τ.
   *
   * @param nowNanos the current time, not negative
   * @param tatNanos the stored TAT, unsigned
   * @param offsetNanos the burst offset τ
   * @return true if it is later than now + τ
   */
  public static boolean isInDebt(long nowNanos, long tatNanos, long offsetNanos) {
    return aheadNanos(nowNanos, tatNanos) > offsetNanos;
  }
}
