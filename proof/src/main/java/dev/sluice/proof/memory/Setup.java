// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

/**
 * The state from which a run starts. A token is worth {@link #TOKEN_NANOS}.
 *
 * @param bound the most live buckets
 * @param keys how many buckets are asked for, numbered from 0
 * @param burst tokens in a full bucket
 * @param keptNanos how long the store keeps a full bucket for a clock that steps back
 */
public record Setup(long bound, int keys, int burst, long keptNanos) {

  /** The emission interval. */
  public static final long TOKEN_NANOS = 1_000;

  /** Where the clock starts. */
  public static final long START_NANOS = 1_000_000_000;

  long offsetNanos() {
    return burst * TOKEN_NANOS;
  }
}
