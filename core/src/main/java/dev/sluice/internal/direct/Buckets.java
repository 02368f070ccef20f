// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import dev.sluice.gcra.Effect;
import org.jspecify.annotations.Nullable;

/**
 * The buckets whose keys start with the same prefix: the buckets of one limit.
 *
 * <p>Charges one bucket at a time with the lowest overhead: the prefix is hashed once, and a charge
 * creates no objects.
 *
 * <p>Thread-safe; blocks and fails like the store's charge.
 */
public interface Buckets {

  /**
   * Decides on one charge of the bucket whose key is the prefix followed by the id.
   *
   * @param id the id, canonical and not empty; the store keeps no reference to this object
   * @param text the id as a text that is passed to {@code outcome}; null if {@code outcome} ignores
   *     the text
   * @param effect the effect of the charge, not a reset
   * @return the result of {@code outcome}; if the store could not decide, this method throws like
   *     the store's charge
   */
  <R extends @Nullable Object> R charge(
      IdBytes id, @Nullable String text, Effect effect, ReadingMapper<R> outcome);

  /** Returns a pipeline that decides on many buckets of the limit. */
  BucketPipeline pipeline(int capacity);
}
