// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import org.jspecify.annotations.Nullable;

/**
 * A store that can also decide on one bucket without creating a key, a charge or a reading.
 *
 * <p>Only for Sluice's own modules. Limiters call {@code BucketStore.charge} of stores that do not
 * implement this interface. Thread-safe.
 */
public interface DirectStore {

  /**
   * Returns the buckets of one limit.
   *
   * @param prefix the start of the keys of these buckets: the limit's number and a colon
   * @return a view of this store, which the caller can keep; null if the store cannot charge one
   *     bucket faster than a batch
   */
  @Nullable Buckets buckets(String prefix);

  /**
   * Returns whether {@code chargeAsync} always returns a complete stage, so that blocking callers
   * can call {@code chargeAsync} too.
   *
   * @return false for a wrapper around a store on a server
   */
  default boolean answersAtOnce() {
    return true;
  }
}
