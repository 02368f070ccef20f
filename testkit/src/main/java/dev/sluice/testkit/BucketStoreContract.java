// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/**
 * The contract of every {@link BucketStore}, as JUnit tests on a manual clock.
 *
 * <p>The test of a store extends this class and creates the store. JUnit then runs the tests of all
 * rules, which check times to the nanosecond. {@link LiveBucketStoreContract} tests a store with
 * its own clock. A store on a server must pass both contracts.
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
   * Creates the store under test. A test can call this method several times, and closes each store.
   *
   * @param time the clock with which the store must decide; it can stand still, leap, and step back
   * @return a store without any bucket; on a shared server, each store needs its own key prefix
   */
  @Override
  public abstract BucketStore newStore(TimeSource time);
}
