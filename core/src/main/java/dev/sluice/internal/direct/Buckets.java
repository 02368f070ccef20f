// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import dev.sluice.gcra.Effect;
import org.jspecify.annotations.Nullable;

/**
 * The buckets whose keys start with the same prefix: those of one limit.
 *
 * <p>For decisions on one bucket at a time that should cost nothing but themselves. What can be
 * known of the prefix is worked out once, and no charge and no key is made.
 *
 * <p>Thread-safe; blocks as the store's charge does, and fails as it does.
 */
public interface Buckets {

  /**
   * Decides on one bucket: that of the prefix and the id.
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
