// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import dev.sluice.gcra.Effect;
import org.jspecify.annotations.Nullable;

/**
 * The buckets whose keys start with the same prefix: the buckets of one limit.
 *
 * <p>Makes decisions on one bucket at a time with the lowest overhead. All work on the prefix is
 * done once, and no charge object and no key is created.
 *
 * <p>Thread-safe; blocks and fails like the store's charge.
 */
public interface Buckets {

  /**
   * Decides on one bucket, whose key is the prefix followed by the id.
   *
   * @param <R> the result
   * @param id the id, canonical and not empty; the store keeps no reference to it
   * @param text the same id as text, for the outcome; null if the outcome does not use it
   * @param effect the operation, not a reset
   * @param outcome makes the result
   * @return the result; throws like the store's charge if the store could not decide
   */
  <R extends @Nullable Object> R charge(
      IdBytes id, @Nullable String text, Effect effect, ReadingMapper<R> outcome);

  /**
   * Returns a pipeline for decisions on many buckets one after the other.
   *
   * @param capacity the largest number of buckets
   * @return an empty pipeline
   */
  BucketPipeline pipeline(int capacity);
}
