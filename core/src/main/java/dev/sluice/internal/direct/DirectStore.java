// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import org.jspecify.annotations.Nullable;

/**
 * A store that can also decide on one bucket without creating a key, a charge or a reading.
 *
 * <p>Only for Sluice's own modules. Limiters use all other stores through {@code
 * BucketStore.charge}, also for single decisions. Thread-safe.
 */
public interface DirectStore {

  /**
   * Returns the buckets of one limit.
   *
   * @param prefix the start of the keys of these buckets: the limit's number and a colon
   * @return a view of this store, which the caller can keep; null if charging a batch is just as
   *     fast
   */
  @Nullable Buckets buckets(String prefix);

  /**
   * Returns whether {@code chargeAsync} returns a stage that is complete already, so that callers
   * that are allowed to block can also call {@code chargeAsync}.
   *
   * @return false for a wrapper around a store on a server
   */
  default boolean answersAtOnce() {
    return true;
  }
}
