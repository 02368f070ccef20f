// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.gcra.Quota;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Recomputes the fields of a decision from the TAT and the limit, without Sluice's own arithmetic.
 */
final class Statements {

  private Statements() {}

  /**
   * Returns a description if a decision on one bucket is wrong, otherwise null.
   *
   * @param waitNanos the longest time for which the caller waits for tokens
   * @param unspent whether the bucket had enough tokens, but another bucket denied the batch
   */
  static @Nullable String wrong(
      Decision part, Quota quota, long cost, long waitNanos, boolean unspent) {
    long intervalNanos = quota.period().toNanos() / quota.count();
    long depthNanos = intervalNanos * quota.burst();
    long mostNanos = depthNanos + waitNanos;
    long takenNanos = intervalNanos * cost;
    long aheadNanos = part.resetInNanos();
    boolean spent = part.allowed() && !unspent && cost > 0;
    if (spent && (aheadNanos > mostNanos || aheadNanos < takenNanos)) {
      return "was allowed beyond its limit";
    }
    if (unspent && cost > 0 && aheadNanos + takenNanos > mostNanos) {
      return "reports tokens that the bucket does not have";
    }
    if (part.denied() && aheadNanos + takenNanos <= mostNanos) {
      return "was denied within its limit";
    }
    long remaining = aheadNanos >= depthNanos ? 0 : (depthNanos - aheadNanos) / intervalNanos;
    if (part.remaining() != remaining) {
      return "reports " + part.remaining() + " remaining tokens instead of " + remaining;
    }
    boolean reads = part.allowed() && cost == 0;
    long retryInNanos = reads ? 0 : Math.max(aheadNanos + takenNanos - depthNanos, 0);
    if (part.retryInNanos() != retryInNanos) {
      return "reports a retryIn of " + part.retryInNanos() + " ns instead of " + retryInNanos;
    }
    return null;
  }

  /** Returns a description if a spend took a wrong number of tokens, otherwise null. */
  static @Nullable String wrongTaken(Decision decision, Quota quota, long most) {
    long intervalNanos = quota.period().toNanos() / quota.count();
    long foundNanos = decision.resetInNanos() - intervalNanos * decision.taken();
    long free = Math.max(quota.burst() - (foundNanos + intervalNanos - 1) / intervalNanos, 0);
    long right = Math.min(free, most);
    return decision.taken() == right && decision.allowed() == right > 0
        ? null
        : "took " + decision.taken() + " tokens instead of " + right;
  }

  /** Returns a description if the answer to a refund on one bucket is wrong, otherwise null. */
  static @Nullable String wrongRefund(Decision part, Quota quota) {
    long intervalNanos = quota.period().toNanos() / quota.count();
    long depthNanos = intervalNanos * quota.burst();
    long remaining = Math.max(depthNanos - part.resetInNanos(), 0) / intervalNanos;
    if (part.remaining() != remaining) {
      return "reports " + part.remaining() + " remaining tokens instead of " + remaining;
    }
    return part.retryInNanos() == 0 ? null : "reports a retryIn after a refund";
  }

  /** Returns a description if a batch's decision contradicts its parts, otherwise null. */
  static @Nullable String wrong(Decision batch, List<Decision> parts) {
    boolean allowed = parts.stream().allMatch(Decision::allowed);
    if (batch.allowed() != allowed) {
      return "was "
          + (allowed
              ? "denied, though no part of the batch was denied"
              : "allowed, though a part of the batch was denied");
    }
    long longest =
        parts.stream()
            .filter(part -> part.allowed() == allowed)
            .mapToLong(Decision::retryInNanos)
            .max()
            .orElse(0);
    return batch.retryInNanos() == longest ? null : "reports a retryIn that no transaction has";
  }
}
