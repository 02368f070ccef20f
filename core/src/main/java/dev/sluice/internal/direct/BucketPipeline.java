// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect;
import org.jspecify.annotations.Nullable;

/**
 * Buckets of one limit that are decided on one after the other, with few readings of the clock: the
 * store looks up {@link #GROUP} buckets at once. Not a batch: each is spent or denied separately.
 *
 * <p>For one thread, and reusable: first all ids, then each decision in its turn, then {@link
 * #clear}.
 */
public interface BucketPipeline {

  /** How many buckets are looked up at once: more than a core fetches at once. */
  int GROUP = 32;

  /** Forgets the buckets that were added. */
  void clear();

  /**
   * Adds a bucket; the same bucket may be added several times.
   *
   * @param id the id, canonical, not empty; not kept
   */
  void add(IdBytes id);

  /**
   * Moves the clock forward to the time of a decision that read the clock again. Otherwise the next
   * decisions would count as earlier than that one, and find a token less.
   *
   * @param nowNanos the moment of that decision; an earlier one changes nothing
   */
  void notBefore(long nowNanos);

  /**
   * Decides on a bucket. The first decision of each group looks the group up and reads the clock.
   *
   * @param effect the operation, not a reset
   * @param outcome makes the answer, without the id
   * @return the answer; a store that could not decide throws as its charge does
   */
  @CanIgnoreReturnValue // the outcome may store the answer itself
  <R extends @Nullable Object> R charge(int index, Effect effect, ReadingMapper<R> outcome);
}
