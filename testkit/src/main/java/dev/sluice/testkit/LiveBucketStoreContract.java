package dev.sluice.testkit;

import dev.sluice.store.BucketStore;

/**
 * What every {@link BucketStore} must do on the clock that it decides by in production, as JUnit
 * tests.
 *
 * <p>Nothing here assumes how fast the store is, nor that its clock is this machine's.
 */
public abstract class LiveBucketStoreContract {

  /** For the test of a store to extend. */
  protected LiveBucketStoreContract() {}

  /**
   * Makes the store under test. A test calls it once, and closes what it got.
   *
   * @return a store without any bucket, on its own clock
   */
  protected abstract BucketStore newStore();
}
