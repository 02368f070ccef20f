package dev.sluice.gcra;

/*
 * The generic cell rate algorithm, in whole nanoseconds.
 *
 * Of a bucket only the theoretical arrival time (TAT) is kept: the instant at which it will be full
 * again. How far the TAT lies ahead of now is therefore what the bucket is short of, as time:
 *
 *              now                     TAT             now + τ
 *   ────────────┼───────────────────────┼─────────────────┼──────▶ time
 *               │◀────── ahead ────────▶│◀─── free ──────▶│
 *               │◀────────────── τ, the burst offset ────▶│
 *
 * A spend of cost c pushes the TAT by its increment T·c, and is allowed if it stays within τ. So
 * everything follows from `ahead`, which is never negative (a TAT in the past is a full bucket)
 * and never above τ (a TAT beyond now + τ, left by a limit that shrank or a clock that stepped
 * back, is an empty bucket and not a debt).
 *
 * Overflow. τ and every increment fit a signed 64-bit number (Quota sees to it), and an increment
 * is at most τ. Working with differences keeps each step in range: 0 ≤ ahead ≤ τ, hence
 * τ − ahead ≥ 0 and τ − ahead − increment ≥ −τ. Only the TAT itself can pass 2^63 (now + τ, with a
 * τ of centuries), so a TAT is an UNSIGNED 64-bit number; now + τ < 2^64 always holds. 0 means that
 * there is no bucket: no clock reads before it.
 *
 * Source: ITU-T I.371, annex A (virtual scheduling), with a cost; Let's Encrypt's ratelimits
 * package for what is answered beside the verdict.
 */

/**
 * The arithmetic of a token bucket kept as one number (GCRA).
 *
 * <p>Pure functions of longs: stateless, thread-safe, never blocking, allocating nothing. Times are
 * nanoseconds since the Unix epoch; {@code nowNanos} is never negative, a TAT is <em>unsigned</em>.
 */
public final class Gcra {

  /** The TAT of a bucket that does not exist, which is a full one. */
  public static final long NO_TAT = 0;

  private Gcra() {}

  /**
   * How far the TAT lies ahead of now: the time until the bucket is full again.
   *
   * @param nowNanos the present, not negative
   * @param tatNanos the stored TAT, unsigned; {@link #NO_TAT} where there is no bucket
   * @param offsetNanos the burst offset τ, positive
   * @return from 0 (full) to τ (empty)
   */
  public static long aheadNanos(long nowNanos, long tatNanos, long offsetNanos) {
    if (Long.compareUnsigned(tatNanos, nowNanos) <= 0) {
      return 0;
    }
    long aheadNanos = tatNanos - nowNanos;
    return Long.compareUnsigned(aheadNanos, offsetNanos) > 0 ? offsetNanos : aheadNanos;
  }

  /**
   * What would be left of the burst offset after a spend.
   *
   * @param aheadNanos how far the TAT lies ahead of now, 0 to τ
   * @param incrementNanos the cost increment T·c, 0 to τ
   * @param offsetNanos the burst offset τ
   * @return negative where the spend must be denied, and then minus the time to wait for it
   */
  public static long roomNanos(long aheadNanos, long incrementNanos, long offsetNanos) {
    return offsetNanos - aheadNanos - incrementNanos;
  }

  /**
   * The whole tokens in a bucket.
   *
   * @param aheadNanos how far the TAT lies ahead of now, 0 to τ
   * @param intervalNanos the emission interval T, positive
   * @param offsetNanos the burst offset τ
   * @return from 0 to the burst
   */
  public static long remaining(long aheadNanos, long intervalNanos, long offsetNanos) {
    return (offsetNanos - aheadNanos) / intervalNanos;
  }

  /**
   * The wait until the same cost can be spent (again), given what the last attempt left.
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
   * The bucket after a refund: it gives back at most what is missing.
   *
   * @param aheadNanos how far the TAT lies ahead of now, 0 to τ
   * @param refundNanos what is given back, not negative
   * @return how far the TAT lies ahead of now afterwards, from 0
   */
  public static long aheadAfterRefundNanos(long aheadNanos, long refundNanos) {
    return Math.max(aheadNanos - refundNanos, 0);
  }
}
