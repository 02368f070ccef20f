// SPDX-License-Identifier: Apache-2.0
package dev.sluice.direct;

import dev.sluice.gcra.Effect;

/**
 * Many buckets of one limit that are decided on independently, with few readings of the clock: the
 * store may look all of them up at once. Not a batch: each is spent or denied separately.
 *
 * <p>For one thread, once: first all ids, then the decisions.
 */
public interface Bulk {

  /**
   * Adds a bucket.
   *
   * @param id the id, canonical, not empty; not kept
   */
  void add(IdBytes id);

  /**
   * Decides on all that were added, in their order; a bucket may be among them more than once. A
   * store that could not decide throws as its charge does; those before may have been charged.
   *
   * @param effect what is to be done with each, not a reset
   * @param outcome makes the answers, without the ids
   * @param answers where they go, from the first element
   */
  void charge(Effect effect, ReadingMapper<Boolean> outcome, boolean[] answers);
}
