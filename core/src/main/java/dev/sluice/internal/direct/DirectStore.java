// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import org.jspecify.annotations.Nullable;

/**
 * A store with a hot path: it decides on one bucket without creating a key, a charge or a reading.
 *
 * <p>Only for Sluice's own modules. Other stores implement the charge of a batch, which is also
 * used for single decisions. Thread-safe.
 */
public interface DirectStore {

  /**
   * Returns the buckets of one limit.
   *
   * @param prefix the start of the keys of these buckets: the limit's number and a colon
   * @return a view of this store to keep; null if this store has no faster path than a batch
   */
  @Nullable Buckets buckets(String prefix);

  /**
   * Returns whether each charge is finished when its call returns, so that a caller that is allowed
   * to block can use the asynchronous form.
   *
   * @return false for a wrapper around a store over a network
   */
  default boolean answersAtOnce() {
    return true;
  }
}
