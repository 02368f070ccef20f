// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import dev.sluice.gcra.Quota;
import org.jspecify.annotations.Nullable;

/**
 * A series of single spends of one limit that are decided together, such as the requests that a
 * server received in one read. The decisions are the same as for one spend after the other, with
 * the limit's failure rules and observers. But the clock is read once, the buckets are looked up
 * together, and no object is allocated per spend.
 *
 * <p>For use by one thread; reusable. Never blocks for long.
 */
public interface SpendPipeline {

  /** The largest number of spends in a series. */
  int CAPACITY = BucketPipeline.GROUP;

  /**
   * Returns the number of spends that were added since the last decision.
   *
   * @return 0 to {@link #CAPACITY}
   */
  int size();

  /**
   * Adds a spend.
   *
   * @param bytes an array with the id in ASCII, which must not change before the decision
   * @param from the index of the id's first byte
   * @param length the number of bytes of the id
   * @param quota a quota to use in place of the quota that the caller supplied for the limit; null
   *     for the limit's own quota
   * @param cost the number of tokens, 0 to the quota's burst
   * @return false if only the limit itself can decide on the spend, because the id is not
   *     canonical, or an override or a penalty may apply to it. The spend was not added then
   */
  boolean add(byte[] bytes, int from, int length, @Nullable Quota quota, long cost);

  /**
   * Decides on all spends in order, and removes them from the series.
   *
   * @param outcome receives the result of each spend
   */
  void decide(Outcome outcome);

  /** Removes all spends from the series without spending them. */
  void clear();

  /** Receives the results, in the order of the spends. */
  interface Outcome {

    /**
     * Called when a spend was decided on.
     *
     * @param index the index of the spend, from 0
     * @param quota the quota that limits the spend
     * @param allowed whether the tokens were spent
     * @param remaining the number of whole tokens left
     * @param retryInNanos the time until the same cost can be spent next
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
     * @param index the index of the spend, from 0
     * @param rule the name of the rule: {@code local}, {@code allow} or {@code deny}
     * @param quota the whole quota of the limit, even if the rule {@code local} used a share of it
     * @param allowed whether the request may pass
     * @param remaining the number of whole tokens left; known only with the rule {@code local}
     * @param retryInNanos the time until the same cost can be spent next
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

    /**
     * Called when a spend could not be decided on.
     *
     * @param index the index of the spend, from 0
     * @param failure the exception for the caller of the spend
     */
    void failed(int index, RuntimeException failure);
  }
}
