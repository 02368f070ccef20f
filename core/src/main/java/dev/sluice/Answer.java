// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;

/**
 * The numbers of a decision, computed from the quota and the store's reading.
 *
 * @param remaining the number of whole tokens left
 * @param retryInNanos the time until the same cost can be spent, or spent again
 * @param resetInNanos the time until the bucket is full
 * @param nowNanos the time of the decision
 */
record Answer(
    boolean allowed, long remaining, long retryInNanos, long resetInNanos, long nowNanos) {

  private static final long DEGRADED_RETRY_NANOS = 1_000_000_000;

  /** The answer if no limit applies to the id, or if no transaction had to be checked. */
  static final Answer UNLIMITED = new Answer(true, Long.MAX_VALUE, 0, 0, 0);

  /** The answer to a refund if no limit applies to the id, so that the id has no bucket. */
  static final Answer NOTHING_REFUNDED = new Answer(false, Long.MAX_VALUE, 0, 0, 0);

  /**
   * Returns the answer to a spend, or to a check whether a spend would be allowed. The effect of a
   * spend that can wait has a larger burst offset than the quota; the remaining tokens and the wait
   * are computed with the quota's offset.
   */
  static Answer ofSpend(Effect effect, Quota quota, long nowNanos, long tatNanos) {
    long incrementNanos = effect.incrementNanos();
    long aheadNanos = Gcra.aheadNanos(nowNanos, tatNanos);
    long roomNanos = Gcra.roomNanos(aheadNanos, incrementNanos, quota.offsetNanos());
    boolean allowed =
        roomNanos >= 0 || Gcra.roomNanos(aheadNanos, incrementNanos, effect.offsetNanos()) >= 0;
    boolean waits = allowed && roomNanos < 0;
    long resetInNanos = allowed ? aheadNanos + incrementNanos : aheadNanos;
    return new Answer(
        allowed,
        remaining(quota, resetInNanos),
        waits ? incrementNanos - roomNanos : Gcra.retryInNanos(roomNanos, incrementNanos),
        resetInNanos,
        nowNanos);
  }

  /** Returns the answer during a penalty: only a cost of 0 is allowed before the penalty ends. */
  static Answer ofPenalty(
      long untilNanos, Effect effect, Quota quota, long nowNanos, long tatNanos) {
    long incrementNanos = effect.incrementNanos();
    long aheadNanos = Gcra.aheadNanos(nowNanos, tatNanos);
    long leftNanos = Math.max(untilNanos - nowNanos, 0);
    long shortNanos = -Gcra.roomNanos(aheadNanos, incrementNanos, quota.offsetNanos());
    return new Answer(
        incrementNanos == 0,
        0,
        incrementNanos == 0 ? 0 : Math.max(leftNanos, shortNanos),
        Math.max(leftNanos, aheadNanos),
        nowNanos);
  }

  /** Returns the answer to a spend of a penalized id whose bucket cannot be read. */
  static Answer ofPenalty(long untilNanos, long cost, long nowNanos) {
    long leftNanos = Math.max(untilNanos - nowNanos, 0);
    return new Answer(cost == 0, 0, cost == 0 ? 0 : leftNanos, leftNanos, nowNanos);
  }

  /** Returns the answer to a refund, which is allowed if the bucket took tokens back. */
  static Answer ofRefund(Effect effect, Quota quota, long nowNanos, long tatNanos) {
    long aheadNanos = Gcra.aheadNanos(nowNanos, tatNanos);
    long resetInNanos = Gcra.aheadAfterRefundNanos(aheadNanos, effect.incrementNanos());
    return new Answer(
        resetInNanos != aheadNanos, remaining(quota, resetInNanos), 0, resetInNanos, nowNanos);
  }

  /**
   * Returns this answer to a refund, with the numbers of a bucket that is empty until a penalty
   * ends.
   */
  Answer countingAsEmpty(long untilNanos) {
    return new Answer(
        allowed, 0, retryInNanos, Math.max(untilNanos - nowNanos, resetInNanos), nowNanos);
  }

  /** Returns the answer of a failure rule without a bucket; the wait of a denial is one second. */
  static Answer ofRule(boolean allowed, long nowNanos) {
    long waitNanos = allowed ? 0 : DEGRADED_RETRY_NANOS;
    return new Answer(allowed, 0, waitNanos, waitNanos, nowNanos);
  }

  /**
   * Returns the answer for a spend that its bucket allows, but that took no tokens since another
   * transaction denied the batch. If the spend would have waited, the answer includes the wait.
   */
  Answer unspent(long cost, Quota quota) {
    long incrementNanos = quota.incrementNanos(cost);
    long aheadNanos = resetInNanos - incrementNanos;
    long roomNanos = Gcra.roomNanos(aheadNanos, incrementNanos, quota.offsetNanos());
    return new Answer(
        true, remaining(quota, aheadNanos), Math.max(-roomNanos, 0), aheadNanos, nowNanos);
  }

  private static long remaining(Quota quota, long aheadNanos) {
    return Gcra.remaining(aheadNanos, quota.intervalNanos(), quota.offsetNanos());
  }

  boolean isStricterThan(Answer other) {
    if (allowed != other.allowed) {
      return !allowed;
    }
    if (retryInNanos != other.retryInNanos) {
      return retryInNanos > other.retryInNanos;
    }
    return remaining < other.remaining;
  }
}
