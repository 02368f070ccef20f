// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import org.jspecify.annotations.Nullable;

/**
 * A store that decides on one bucket without a key, a charge or a reading being made: the hot path.
 *
 * <p>Only for Sluice's own modules. A store of somebody else implements the charge of a batch,
 * which serves single decisions too. Thread-safe.
 */
public interface DirectStore {

  /**
   * Returns the buckets of one limit.
   *
   * @param prefix what the keys of these buckets start with: the limit's number and a colon
   * @return a view of this store, to be kept; null where it has no way that is shorter than a batch
   */
  @Nullable Buckets buckets(String prefix);

  /**
   * Returns whether each charge is done when its call returns, so that a caller who may block may
   * use the asynchronous form.
   *
   * @return false for a wrapper around a store over a network
   */
  default boolean answersAtOnce() {
    return true;
  }
}
