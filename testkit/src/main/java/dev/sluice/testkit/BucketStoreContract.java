// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/**
 * The contract of every {@link BucketStore}, as JUnit tests on a driven clock.
 *
 * <p>The test of a store extends this class and creates the store; JUnit then checks every rule, to
 * the nanosecond. {@link LiveBucketStoreContract} tests a store on its own clock. A networked store
 * must pass both.
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

  /** For subclasses, which test a store. */
  protected BucketStoreContract() {}

  /**
   * Creates the store under test. A test calls this once or more, and closes each store.
   *
   * @param time the clock by which the store must decide; it may stand still, leap, and step back
   * @return a store without any bucket; a store on a shared server needs its own key prefix for
   *     this
   */
  @Override
  public abstract BucketStore newStore(TimeSource time);
}
