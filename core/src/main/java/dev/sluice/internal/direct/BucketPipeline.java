// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect;
import org.jspecify.annotations.Nullable;

/**
 * A series of charges of buckets of one limit. The store reads the clock once for up to {@link
 * #GROUP} buckets and looks these buckets up together. The series is not a batch: each bucket is
 * charged or denied separately.
 *
 * <p>Only one thread can use a pipeline. A pipeline can be reused: add all ids, make each decision
 * in order, then call {@link #clear}.
 */
public interface BucketPipeline {

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
   * Without a call of {@code notBefore}, later decisions would use an older time, and could miss a
   * refilled token.
   *
   * @param nowNanos the time of the decision that read the clock separately; ignored if earlier
   *     than the pipeline's time
   */
  void notBefore(long nowNanos);

  /**
   * Decides on a charge of one of the added buckets. The first decision of a group reads the clock
   * and looks up all buckets of the group.
   *
   * @param effect the operation, not a reset
   * @param outcome a function that makes the result from the store's time and the bucket's TAT;
   *     receives null as the id
   * @return the outcome's result; throws like the store's charge if the store could not decide
   */
  @CanIgnoreReturnValue // the outcome can store the result itself
  <R extends @Nullable Object> R charge(int index, Effect effect, ReadingMapper<R> outcome);
}
