// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.Insides;
import dev.sluice.Insides.Part;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Recomputes the decisions that one process makes by {@code FailureRule.local} while the store is
 * unavailable. During an outage of the store, each bucket of a process has the process's share of
 * the limit. Not thread-safe.
 */
final class LocalReference {

  private final Conditions conditions;
  private final Map<String, Bucket> buckets = new HashMap<>();

  LocalReference(Conditions conditions) {
    this.conditions = conditions;
  }

  /** A lower and an upper bound of a local bucket's TAT, which are equal if the TAT is known. */
  private static final class Bucket {
    private long leastNanos;
    private long mostNanos;
  }

  /** A request on one bucket, with the process's share of the bucket's quota. */
  private record Asked(Bucket bucket, long takenNanos, long depthNanos, long intervalNanos) {

    static Asked of(Bucket bucket, Transaction transaction, Quota quota, int processes) {
      long intervalNanos = quota.period().toNanos() * processes / quota.count();
      long burst = Math.max(quota.burst() / processes, 1);
      return new Asked(
          bucket, intervalNanos * transaction.cost(), intervalNanos * burst, intervalNanos);
    }

    boolean isMoreThanAShare() {
      return takenNanos > depthNanos;
    }
  }

  private static long nanos(Instant instant) {
    return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
  }

  /**
   * Returns a description if a decision is wrong, otherwise null. Pass the decisions to this method
   * in the order in which the process made them.
   *
   * @param quotas returns a bucket's whole quota; a decision contains only the process's share of
   *     the quota
   */
  @Nullable String wrong(
      Decision decision, boolean spends, Function<String, @Nullable Quota> quotas) {
    for (Part one : Insides.parts(decision)) {
      Decision part = one.decision();
      Transaction transaction = one.transaction();
      Quota quota = transaction == null ? null : quotas.apply(transaction.bucketKey());
      if (transaction == null
          || quota == null
          || transaction.kind() == Transaction.Kind.ALLOW_ONLY
          || part.penalty() != null
          // The limiter can report decisions of waiting callers in another order than it made the
          // decisions.
          || !transaction.name().longestWait().isZero()) {
        continue;
      }
      Bucket bucket = buckets.computeIfAbsent(transaction.bucketKey(), key -> new Bucket());
      Asked asked = Asked.of(bucket, transaction, quota, conditions.processes());
      boolean mayTake = spends && transaction.kind() != Transaction.Kind.CHECK_ONLY;
      boolean spent = mayTake && decision.allowed() && part.allowed();
      String wrong = wrong(part, asked, mayTake, spent, decision.allowed() || !mayTake);
      if (wrong != null) {
        return wrong;
      }
    }
    return null;
  }

  private @Nullable String wrong(
      Decision part, Asked asked, boolean mayTake, boolean spent, boolean asIfSpent) {
    if (asked.isMoreThanAShare()) {
      return part.denied() ? null : "was allowed a cost above this process's share";
    }
    long nowNanos = nanos(part.decidedAt());
    long addedNanos = part.allowed() && asIfSpent ? asked.takenNanos : 0;
    long aheadNanos = part.resetInNanos() - addedNanos;
    Bucket bucket = asked.bucket;
    boolean forgiven =
        mayTake
            && asked.takenNanos > 0
            && conditions.limitsChange()
            && aheadNanos == asked.depthNanos;
    boolean isLower = aheadNanos < Math.max(bucket.leastNanos - nowNanos, 0);
    if (isLower && !forgiven) {
      return "reports more tokens than are left of this process's share";
    }
    if (aheadNanos > Math.max(bucket.mostNanos - nowNanos, 0)) {
      return "reports fewer tokens than are left of this process's share";
    }
    boolean fits = asked.takenNanos == 0 || aheadNanos + asked.takenNanos <= asked.depthNanos;
    if (fits != part.allowed()) {
      return fits
          ? "was denied within this process's share"
          : "was allowed beyond this process's share";
    }
    long remaining = Math.max(asked.depthNanos - part.resetInNanos(), 0) / asked.intervalNanos;
    if (part.remaining() != remaining) {
      return "reports "
          + part.remaining()
          + " tokens left of this process's share instead of "
          + remaining;
    }
    if (spent || aheadNanos > 0) {
      bucket.leastNanos = nowNanos + aheadNanos + (spent ? asked.takenNanos : 0);
      bucket.mostNanos = bucket.leastNanos;
    }
    return null;
  }

  /** Records a cancelled local spend, which can refund at most the spent tokens. */
  void cancelled(Transaction transaction) {
    Quota quota = transaction.quota();
    Bucket bucket = buckets.get(transaction.bucketKey());
    if (quota != null && bucket != null) {
      bucket.leastNanos -= Asked.of(bucket, transaction, quota, conditions.processes()).takenNanos;
    }
  }
}
