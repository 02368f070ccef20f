// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/**
 * The recorded trace, and the rules of the store's own interface: a dozen tests of {@link
 * BucketStoreContract}. For a second way to the same store, for example an older protocol, when the
 * whole contract runs on the first way.
 */
public abstract class ShortBucketStoreContract implements VectorRules, StoreRules {

  /** For the test of a store to extend. */
  protected ShortBucketStoreContract() {}

  /**
   * Makes the store under test. A test calls it once or more, and closes what it got.
   *
   * @param time the clock that the store must decide by; it may stand still, leap, and step back
   * @return a store without any bucket
   */
  @Override
  public abstract BucketStore newStore(TimeSource time);
}
