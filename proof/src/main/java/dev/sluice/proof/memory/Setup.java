// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

/**
 * The state from which a run starts. One token takes {@link #TOKEN_NANOS} to refill.
 *
 * @param bound the maximum number of live buckets
 * @param keys the number of buckets in use, numbered from 0
 */
public record Setup(long bound, int keys, int burst, long keptNanos) {

  public static final long TOKEN_NANOS = 1_000;

  public static final long START_NANOS = 1_000_000_000;

  long offsetNanos() {
    return burst * TOKEN_NANOS;
  }
}
