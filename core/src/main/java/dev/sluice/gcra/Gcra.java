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
 * A spend of cost c moves the TAT by its increment T·c, and is allowed if the TAT stays within τ of
 * now. If the TAT is in the past, the bucket is full and `ahead` is 0.
 *
 * Debt. A TAT can lie beyond now + τ: a limit with a larger τ charged the bucket (a limit was
 * lowered, or two servers have different limits), a clock stepped back, or callers wait for tokens.
 * Such a bucket is empty, and the time beyond now + τ is a debt: `remaining` is 0, and the wait
 * includes the debt. This class never forgives a debt. The limiter decides when a debt is forgiven,
 * see Effect.Op.FORGIVE. A cost of 0 reads the bucket and is allowed even during a debt.
 *
 * Overflow. τ and every increment fit into a signed 64-bit number (checked by Quota), an increment
 * is at most τ, and `ahead` is cut to 2^63 − 1. So τ − increment ≥ 0, and τ − increment − ahead is
 * at least −2^63 + 1. Only the TAT can exceed 2^63, since τ can be centuries. A TAT is therefore an
 * UNSIGNED 64-bit number; now + τ < 2^64 always holds. A TAT of 0 means that no bucket is stored.
 * No stored bucket has a TAT of 0, since times are positive.
 *
 * Sources: ITU-T I.371, annex A (virtual scheduling), extended by a cost; Let's Encrypt's
 * ratelimits package for the values that are returned with a decision.
 */

/**
 * The arithmetic of a token bucket stored as one number (GCRA).
 *
 * <p>The methods compute only with longs, and allocate nothing. Times are nanoseconds since the
 * Unix epoch; {@code nowNanos} is never negative, a TAT is <em>unsigned</em>.
 */
public final class Gcra {

  /** The TAT of a bucket that does not exist, and is therefore full. */
  public static final long NO_TAT = 0;

  private Gcra() {}

  /**
   * Returns how far the TAT lies ahead of now: the time until the bucket is full again.
   *
   * @param nowNanos the current time, not negative
   * @param tatNanos the stored TAT, unsigned; {@link #NO_TAT} if there is no bucket
   * @return 0 for a full bucket; more than the burst offset τ if the bucket is empty and in debt;
   *     at most {@link Long#MAX_VALUE}
   */
  public static long aheadNanos(long nowNanos, long tatNanos) {
    if (Long.compareUnsigned(tatNanos, nowNanos) <= 0) {
      return 0;
    }
    long aheadNanos = tatNanos - nowNanos;
    return aheadNanos < 0 ? Long.MAX_VALUE : aheadNanos;
  }

  /**
   * Returns the time from the TAT after a spend to now + τ, the latest TAT that is allowed.
   *
   * @param aheadNanos how far the TAT lies ahead of now
   * @param incrementNanos the cost increment T·c, 0 to τ
   * @param offsetNanos the burst offset τ
   * @return a negative number if the spend must be denied: the time until the spend fits,
   *     multiplied by −1. At least 0 if the spend fits; an increment of 0, which only reads the
   *     bucket, always fits
   */
  public static long roomNanos(long aheadNanos, long incrementNanos, long offsetNanos) {
    long roomNanos = offsetNanos - incrementNanos - aheadNanos;
    return incrementNanos == 0 ? Math.max(roomNanos, 0) : roomNanos;
  }

  /**
   * Returns the number of whole tokens in a bucket.
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
   * Returns the number of tokens by which a bucket is overdrawn.
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
   * Returns the wait until the same cost can be spent the next time.
   *
   * @param roomNanos the result of {@link #roomNanos} for the last attempt to spend
   * @param incrementNanos the cost increment T·c
   * @return after a denial, the time until the cost can be spent; after an allowed spend, the time
   *     until the same cost can be spent again; 0 if the cost can be spent at once
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
   * @return the time in nanoseconds, at least 0
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
   * @return true if the TAT is later than now + τ
   */
  public static boolean isInDebt(long nowNanos, long tatNanos, long offsetNanos) {
    return aheadNanos(nowNanos, tatNanos) > offsetNanos;
  }
}
