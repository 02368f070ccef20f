// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/**
 * A short form of {@link BucketStoreContract} with a dozen tests: the recorded trace, and the rules
 * of the store's own interface. Use it if a store can be accessed in a second way, such as an older
 * protocol, and the whole contract is already tested with the first way.
 */
public abstract class ShortBucketStoreContract implements VectorRules, StoreRules {

  /** For subclasses that test a store. */
  protected ShortBucketStoreContract() {}

  /**
   * Creates the store under test. A test can call this method several times, and closes each store.
   *
   * @param time the clock with which the store must decide; it can stand still, leap, and step back
   * @return a store without any bucket
   */
  @Override
  public abstract BucketStore newStore(TimeSource time);
}
