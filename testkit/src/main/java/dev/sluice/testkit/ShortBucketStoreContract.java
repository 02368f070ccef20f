// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/**
 * A short form of {@link BucketStoreContract} with a dozen tests. Use this short contract if a
 * store supports a second way of access, such as an older protocol, and already passes the whole
 * contract with the first way of access.
 */
public abstract class ShortBucketStoreContract implements VectorRules, StoreRules {

  /** Creates the contract, for subclasses that test a store. */
  protected ShortBucketStoreContract() {}

  /**
   * Creates the store under test. A test can call this method several times, and closes each store.
   *
   * @param time the clock that the store must use; it can stand still, jump forwards, and step back
   * @return a store without any bucket
   */
  @Override
  public abstract BucketStore newStore(TimeSource time);
}
