// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

/**
 * The state from which a run starts. One token takes {@link #TOKEN_NANOS} to refill.
 *
 * @param bound the maximum number of live buckets
 * @param keys the number of buckets in use, numbered from 0
 * @param burst the tokens of a full bucket
 * @param keptNanos the time for which the store keeps a full bucket, in case the clock steps back
 */
public record Setup(long bound, int keys, int burst, long keptNanos) {

  /** The emission interval: the time in which one token refills. */
  public static final long TOKEN_NANOS = 1_000;

  /** The time of the clock at the start of a run. */
  public static final long START_NANOS = 1_000_000_000;

  long offsetNanos() {
    return burst * TOKEN_NANOS;
  }
}
