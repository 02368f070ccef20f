// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import org.jspecify.annotations.Nullable;

/**
 * Judges the invariant that cancellations, receipts, leases, withdrawals and parts of denied
 * batches give back at most once, and at most what they took. All give-backs to a bucket together
 * therefore never exceed its spends that no caller holds. For one bucket and one thread.
 */
final class GivenBackOnce {

  private long spentNanos; // spent on servers, whether or not a caller received the tokens
  private long heldNanos; // held by callers that received tokens and have not cancelled
  private long givenNanos;

  /** Records a spend of a server. */
  void spent(long nanos) {
    spentNanos += nanos;
  }

  /** Records that a caller received a spend, or a token of a lease. */
  void held(long nanos) {
    heldNanos += nanos;
  }

  /** Records that a caller cancels its spend. */
  void left(long nanos) {
    heldNanos -= nanos;
  }

  /**
   * Records a give-back that is not a plain refund. Returns the violation, null for none.
   *
   * @param leftNanos how much of the spend was not refilled yet
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
