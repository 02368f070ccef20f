// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

/**
 * The state at the start of a simulated run. One token refills in {@link #TOKEN_NANOS}.
 *
 * @param bound the store's maximum number of live buckets
 * @param keys the number of buckets that the calls use, with indexes from 0
 * @param burst the tokens of a full bucket
 * @param keptNanos for how long the store keeps a full bucket, in case the clock steps back
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
