// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/**
 * The contract of every {@link BucketStore}, as JUnit tests on a manual clock.
 *
 * <p>To test a store, extend this class and create the store in {@link #newStore}. JUnit runs all
 * tests of the contract on the subclass; the tests compare times to the nanosecond. A store on a
 * server must also pass {@link LiveBucketStoreContract}, which uses the store's own clock.
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

  /** Creates the contract, for subclasses that test a store. */
  protected BucketStoreContract() {}

  /**
   * Creates the store under test. A test can call this method several times, and closes each store.
   *
   * @param time the clock that the store must use; it can stand still, jump forwards, and step back
   * @return a store without any bucket; on a shared server, each store needs its own key prefix
   */
  @Override
  public abstract BucketStore newStore(TimeSource time);
}
