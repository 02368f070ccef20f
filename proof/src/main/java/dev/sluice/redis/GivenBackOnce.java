// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import org.jspecify.annotations.Nullable;

/**
 * The judge of what is always promised: cancellations, receipts, leases, withdrawals and parts of
 * denied batches give back at most once, and at most what they took. So all that a bucket got back
 * is no more than what was spent from it and is nobody's. For one bucket and one thread.
 */
final class GivenBackOnce {

  private long spentNanos; // by servers, in vain or not
  private long heldNanos; // by callers that were told of it, and have not cancelled it
  private long givenNanos;

  /** A server made a spend. */
  void spent(long nanos) {
    spentNanos += nanos;
  }

  /** A caller was told of a spend, or got a token of a lease. */
  void held(long nanos) {
    heldNanos += nanos;
  }

  /** A caller cancels its spend. */
  void left(long nanos) {
    heldNanos -= nanos;
  }

  /**
   * A server gave back what is no plain refund. Returns what is wrong with it, null for nothing.
   *
   * @param leftNanos how much of the stretch was not refilled
   */
  @Nullable String gaveBack(long nanos, long leftNanos) {
    givenNanos += nanos;
    if (nanos > leftNanos) {
      return World.text("%d ns were given back, of which %d were left", nanos, leftNanos);
    }
    long mostNanos = spentNanos - heldNanos;
    return givenNanos > mostNanos
        ? World.text("%d ns were given back in all, of %d that are nobody's", givenNanos, mostNanos)
        : null;
  }
}
