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
   * @param bytes an array with the id as ASCII, which must not change before the decision
   * @param quota what is spent from, in place of the quota that the caller supplied for the limit;
   *     null for the limit's own
   * @param cost tokens, 0 to the quota's burst
   * @return false if only the limit itself can decide on it: the id is not canonical as it is, or
   *     an override or a penalty may concern it. Nothing was added then.
   */
  boolean add(byte[] bytes, int from, int length, @Nullable Quota quota, long cost);

  /** Decides on all spends in their order, and forgets them. */
  void decide(Outcome outcome);

  /** Removes all spends from the series without spending them. */
  void clear();

  /** Receives the results, in the order of the spends. */
  interface Outcome {

    /**
     * Called when a spend was decided on.
     *
     * @param quota what it was held to
     * @param remaining whole tokens
     * @param retryInNanos until the same cost can be spent (again)
     * @param resetInNanos until the bucket is full
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
     * @param rule its word: {@code local}, {@code allow} or {@code deny}
     * @param quota the whole quota of the limit, also where the rule {@code local} holds to a share
     * @param allowed whether it may pass
     * @param remaining whole tokens; unknown but to the rule {@code local}
     * @param retryInNanos until the same cost may be spent (again)
     * @param resetInNanos until the bucket is full
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

    /** Called when a spend could not be decided on. */
    void failed(int index, RuntimeException failure);
  }

  /** A limit whose spends can be decided on many at a time. Only for Sluice's own modules. */
  public interface DirectLimit {

    /**
     * Returns a way to decide on many spends at a time.
     *
     * @return for one thread; null where the store does not answer at once
     */
    @Nullable SpendPipeline spends();
  }
}
