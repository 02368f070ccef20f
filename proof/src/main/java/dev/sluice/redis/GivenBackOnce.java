// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import org.jspecify.annotations.Nullable;

/**
 * Checks that each spend on one bucket is refunded at most once, by a cancellation, receipt, lease,
 * withdrawal or denied batch. The refunded tokens must never exceed the spent tokens that no caller
 * holds. Not thread-safe.
 */
final class GivenBackOnce {

  // the sum of all spends that servers decided, even if no caller received the tokens
  private long spentNanos;
  private long heldNanos; // the sum of all spends that callers received and have not cancelled
  private long givenNanos; // the sum of all returned tokens

  /** Records that a server decided a spend. */
  void spent(long nanos) {
    spentNanos += nanos;
  }

  /** Records that a caller received a grant, or a token of a lease. */
  void held(long nanos) {
    heldNanos += nanos;
  }

  /** Records that a caller cancels its spend. */
  void left(long nanos) {
    heldNanos -= nanos;
  }

  /**
   * Records that a server refunded tokens of a spend. Returns the violation of an invariant, or
   * null.
   *
   * @param leftNanos the part of the spend that was not refilled yet
   */
  @Nullable String gaveBack(long nanos, long leftNanos) {
    givenNanos += nanos;
    if (nanos > leftNanos) {
      return World.text(
          "%d ns were refunded, but only %d ns were left to refund", nanos, leftNanos);
    }
    long mostNanos = spentNanos - heldNanos;
    return givenNanos > mostNanos
        ? World.text(
            "%d ns were refunded in all, but at most %d ns may be refunded", givenNanos, mostNanos)
        : null;
  }
}
