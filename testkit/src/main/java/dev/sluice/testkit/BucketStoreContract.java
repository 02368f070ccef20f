// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/**
 * The contract of every {@link BucketStore}, as JUnit tests on a manual clock.
 *
 * <p>To test a store, extend this class and create the store in {@link #newStore}. JUnit then runs
 * all tests of the contract, which compare times to the nanosecond. {@link LiveBucketStoreContract}
 * tests a store with the store's own clock. A store on a server must pass both contracts.
 */
public abstract class BucketStoreContract
    implements VectorRules,
        SpendRules,
        SuppliedQuotaRules,
        SeveralQuotasRules,
        RefundRules,
        BatchRules,
        TimeRules,
        StoreRules,
        AsyncRules,
        ConcurrencyRules,
        PeerRules,
        HistoryRules,
        ReservationRules,
        ReceiptRules,
        SettleRules,
        CancelHistoryRules,
        WaitRules,
        WaitHistoryRules {

  /** For subclasses that test a store. */
  protected BucketStoreContract() {}

  /**
   * Creates the store under test. A test can call this method several times; it closes each store.
   *
   * @param time the clock that the store must use; it can stand still, jump forwards, and step back
   * @return a store without any bucket; on a shared server, each store needs its own key prefix
   */
  @Override
  public abstract BucketStore newStore(TimeSource time);
}
