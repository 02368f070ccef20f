// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect;
import org.jspecify.annotations.Nullable;

/**
 * A store that can also decide on one bucket without creating a key, a charge or a reading.
 *
 * <p>Only for Sluice's own modules. Limiters call {@code BucketStore.charge} of stores that do not
 * implement this interface. Thread-safe.
 */
public interface DirectStore {

  /**
   * Returns the buckets of one limit.
   *
   * @param prefix the start of the keys of these buckets: the limit's number and a colon
   * @return a view of this store, which the caller can keep; null if the store cannot charge one
   *     bucket faster than a batch
   */
  @Nullable Buckets buckets(String prefix);

  /**
   * Returns whether {@code chargeAsync} always returns a complete stage, so that blocking callers
   * can call {@code chargeAsync} too.
   *
   * @return false for a wrapper around a store on a server
   */
  default boolean answersAtOnce() {
    return true;
  }

  /**
   * The buckets whose keys start with the same prefix: the buckets of one limit.
   *
   * <p>Charges one bucket at a time with the lowest overhead: the prefix is hashed once, and a
   * charge creates no objects.
   *
   * <p>Thread-safe; blocks and fails like the store's charge.
   */
  interface Buckets {

    /**
     * Decides on one charge of the bucket whose key is the prefix followed by the id.
     *
     * @param id the id, canonical and not empty; the store keeps no reference to this object
     * @param text the id as a text that is passed to {@code outcome}; null if {@code outcome}
     *     ignores the text
     * @param effect the effect of the charge, not a reset
     * @return the result of {@code outcome}; if the store could not decide, this method throws like
     *     the store's charge
     */
    <R extends @Nullable Object> R charge(
        IdBytes id, @Nullable String text, Effect effect, ReadingMapper<R> outcome);

    /** Returns a pipeline that decides on many buckets of the limit. */
    BucketPipeline pipeline(int capacity);
  }

  /**
   * Converts a store's reading to a result, so that the store need not create an object for the
   * reading.
   *
   * <p>Called once per decision, on the thread that called the store. Implementations do not block.
   */
  @FunctionalInterface
  interface ReadingMapper<R extends @Nullable Object> {

    /**
     * Returns the result.
     *
     * @param id the id as the text that the caller passed to the store; can be null
     * @param effect the effect of the charge
     * @param nowNanos the store's time of the decision, in nanoseconds since the Unix epoch
     * @param tatNanos the TAT before the charge, unsigned; 0 if there was no bucket
     */
    R of(@Nullable String id, Effect effect, long nowNanos, long tatNanos);
  }

  /**
   * A series of charges of buckets of one limit. The store reads the clock once for up to {@link
   * #GROUP} buckets and looks these buckets up together. The series is not a batch: each bucket is
   * charged or denied separately.
   *
   * <p>Only one thread can use a pipeline. A pipeline can be reused: add all ids, make each
   * decision in order, then call {@link #clear}.
   */
  interface BucketPipeline {

    /** How many buckets are looked up together, more than a core can fetch at the same time. */
    int GROUP = 32;

    /** Removes all buckets from the series. */
    void clear();

    /**
     * Adds a bucket; the same bucket can be added several times.
     *
     * @param id the id, canonical and not empty; the pipeline keeps no reference to this object
     */
    void add(IdBytes id);

    /**
     * Moves the pipeline's time forward to the time of a decision that read the clock separately.
     * Without a call of {@code notBefore}, later decisions would use an older time, and could miss
     * a refilled token.
     *
     * @param nowNanos the time of the decision that read the clock separately; ignored if earlier
     *     than the pipeline's time
     */
    void notBefore(long nowNanos);

    /**
     * Decides on a charge of one of the added buckets. The first decision of a group reads the
     * clock and looks up all buckets of the group.
     *
     * @param effect the operation, not a reset
     * @param outcome a function that makes the result from the store's time and the bucket's TAT;
     *     receives null as the id
     * @return the outcome's result; throws like the store's charge if the store could not decide
     */
    @CanIgnoreReturnValue // the outcome can store the result itself
    <R extends @Nullable Object> R charge(int index, Effect effect, ReadingMapper<R> outcome);
  }
}
