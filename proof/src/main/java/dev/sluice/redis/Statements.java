// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.gcra.Quota;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Recomputes the fields of a decision from its TAT and its limit, with arithmetic independent of
 * the product's.
 */
final class Statements {

  private Statements() {}

  /**
   * Returns what is wrong with the answer to a spend or a check of one bucket, null for nothing.
   *
   * @param waitNanos how long the caller waits for tokens at most
   * @param unspent whether the bucket had room, but another bucket of the batch denied
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
      return "was told of room that does not exist";
    }
    if (part.denied() && aheadNanos + takenNanos <= mostNanos) {
      return "was denied within its limit";
    }
    long remaining = aheadNanos >= depthNanos ? 0 : (depthNanos - aheadNanos) / intervalNanos;
    if (part.remaining() != remaining) {
      return "was told " + part.remaining() + " remaining in place of " + remaining;
    }
    boolean reads = part.allowed() && cost == 0;
    long retryInNanos = reads ? 0 : Math.max(aheadNanos + takenNanos - depthNanos, 0);
    if (part.retryInNanos() != retryInNanos) {
      return "was told to wait " + part.retryInNanos() + " ns in place of " + retryInNanos;
    }
    return null;
  }

  /** Returns what is wrong with the number of tokens that a spend took, null for nothing. */
  static @Nullable String wrongTaken(Decision decision, Quota quota, long most) {
    long intervalNanos = quota.period().toNanos() / quota.count();
    long foundNanos = decision.resetInNanos() - intervalNanos * decision.taken();
    long free = Math.max(quota.burst() - (foundNanos + intervalNanos - 1) / intervalNanos, 0);
    long right = Math.min(free, most);
    return decision.taken() == right && decision.allowed() == right > 0
        ? null
        : "took " + decision.taken() + " tokens in place of " + right;
  }

  /** Returns what is wrong with the answer to a refund to one bucket, null for nothing. */
  static @Nullable String wrongRefund(Decision part, Quota quota) {
    long intervalNanos = quota.period().toNanos() / quota.count();
    long depthNanos = intervalNanos * quota.burst();
    long remaining = Math.max(depthNanos - part.resetInNanos(), 0) / intervalNanos;
    if (part.remaining() != remaining) {
      return "was told " + part.remaining() + " remaining in place of " + remaining;
    }
    return part.retryInNanos() == 0 ? null : "was told to wait after a refund";
  }

  /** Returns what is wrong with the answer to a batch, given the answers of its parts. */
  static @Nullable String wrong(Decision batch, List<Decision> parts) {
    boolean allowed = parts.stream().allMatch(Decision::allowed);
    if (batch.allowed() != allowed) {
      return "was "
          + (allowed ? "denied, though no part was" : "allowed, though a part was denied");
    }
    long longest =
        parts.stream()
            .filter(part -> part.allowed() == allowed)
            .mapToLong(Decision::retryInNanos)
            .max()
            .orElse(0);
    return batch.retryInNanos() == longest ? null : "was told a wait that is not its longest";
  }
}
