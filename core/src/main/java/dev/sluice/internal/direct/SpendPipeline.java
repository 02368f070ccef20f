// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import dev.sluice.gcra.Quota;
import org.jspecify.annotations.Nullable;

/**
 * A series of spends from one limit that are decided together, such as the requests that a server
 * received in one read. The decisions are the same as the decisions on single spends; the limit's
 * failure rules and observers apply. Deciding a series is faster than deciding each spend alone:
 * the clock is read once, the buckets are looked up together, and no object is allocated per spend.
 *
 * <p>A series can be reused, by one thread at a time. No method blocks for long.
 */
public interface SpendPipeline {

  /** The largest number of spends in a series. */
  int CAPACITY = DirectStore.BucketPipeline.GROUP;

  /**
   * Returns the number of spends that were added since the last decision.
   *
   * @return 0 to {@link #CAPACITY}
   */
  int size();

  /**
   * Adds a spend.
   *
   * @param bytes an array with the id as ASCII, which must not change before the decision
   * @param quota the quota of this spend, which replaces the limit's quota; null for the limit's
   *     quota
   * @param cost the number of tokens, 0 to the quota's burst
   * @return false if the spend was not added, because the id is not canonical, or because an
   *     override or a penalty may apply to the id; the caller must then call the limit itself
   */
  boolean add(byte[] bytes, int from, int length, @Nullable Quota quota, long cost);

  /** Decides on all spends in their order, and removes them from the series. */
  void decide(Outcome outcome);

  /** Removes all spends from the series without spending them. */
  void clear();

  /** Receives the results, in the order of the spends. */
  interface Outcome {

    /**
     * Called when the store has decided on a spend.
     *
     * @param quota the quota that was applied
     * @param remaining the number of whole tokens left
     * @param retryInNanos the time until the same cost can be spent again
     * @param resetInNanos the time until the bucket is full
     */
    void decided(
        int index,
        Quota quota,
        boolean allowed,
        long remaining,
        long retryInNanos,
        long resetInNanos);

    /**
     * Called when a failure rule decided on a spend in place of the store. The default
     * implementation calls {@link #decided}.
     *
     * @param rule the rule's name: {@code local}, {@code allow} or {@code deny}
     * @param quota the limit's quota, even if the rule {@code local} decided with a share of the
     *     quota
     * @param allowed whether the request may pass
     * @param remaining the number of whole tokens left; meaningful only for the rule {@code local}
     * @param retryInNanos the time until the same cost can be spent again
     * @param resetInNanos the time until the bucket is full
     */
    default void degraded(
        int index,
        String rule,
        Quota quota,
        boolean allowed,
        long remaining,
        long retryInNanos,
        long resetInNanos) {
      decided(index, quota, allowed, remaining, retryInNanos, resetInNanos);
    }

    /** Called when neither the store nor a failure rule decided on a spend. */
    void failed(int index, RuntimeException failure);
  }

  /** A limit that can decide on many spends together. Only for Sluice's own modules. */
  public interface DirectLimit {

    /**
     * Returns an empty series of spends from this limit.
     *
     * @return a series for use by one thread; null if the store is not in memory
     */
    @Nullable SpendPipeline spends();
  }
}
