// SPDX-License-Identifier: Apache-2.0
package dev.sluice.direct;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect;

/**
 * Up to {@link #CAPACITY} buckets of one limit that are decided on one after the other, by few
 * readings of the clock: the store looks all of them up at once. Not a batch: each is spent or
 * denied separately.
 *
 * <p>For one thread, and reusable: first all ids, then {@link #look}, then each decision in its
 * turn, then {@link #clear}.
 */
public interface Series {

  /** The most buckets: more than a core fetches at once. */
  int CAPACITY = 32;

  /** Forgets the buckets that were added. */
  void clear();

  /**
   * Adds a bucket; one may be there more than once.
   *
   * @param id the id, canonical, not empty; not kept
   */
  void add(IdBytes id);

  /** Looks all buckets up, and reads the clock. */
  void look();

  /**
   * Goes on by a later clock: that of a decision for which the clock was read again. What comes
   * after it would else be decided on as if it had come before, and find a token less.
   *
   * @param nowNanos the moment of the decision; an earlier one changes nothing
   */
  void notBefore(long nowNanos);

  /**
   * Decides on a bucket.
   *
   * @param <R> the answer
   * @param index its place among those that were added, from 0
   * @param effect what is to be done, not a reset
   * @param outcome makes the answer, without the id
   * @return the answer; a store that could not decide throws as its charge does
   */
  @CanIgnoreReturnValue // a mapper may keep what it reads
  <R> R charge(int index, Effect effect, ReadingMapper<R> outcome);
}
