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
   * @param id the id, canonical, not empty; not kept
   * @param text the same id as text, for the outcome; null if that does not ask for it
   * @param effect what is to be done, not a reset
   * @return the answer; a store that could not decide throws as its charge does
   */
  <R extends @Nullable Object> R charge(
      IdBytes id, @Nullable String text, Effect effect, ReadingMapper<R> outcome);

  /** Returns a way to decide on many buckets one after the other. */
  BucketPipeline pipeline(int capacity);
}
