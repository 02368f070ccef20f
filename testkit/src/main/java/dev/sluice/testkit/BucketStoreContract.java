// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/**
 * The contract of every {@link BucketStore}, as JUnit tests on a manual clock.
 *
 * <p>The test of a store extends this class and creates the store. JUnit then checks every rule, to
 * the nanosecond. {@link LiveBucketStoreContract} tests a store with its own clock. A store on a
 * server must pass both contracts.
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
   * Creates the store under test. A test calls this method once or more and closes each store.
   *
   * @param time the clock with which the store must decide; it can stand still, leap, and step back
   * @return a store without any bucket; a store on a shared server needs a separate key prefix to
   *     be empty
   */
  @Override
  public abstract BucketStore newStore(TimeSource time);
}
