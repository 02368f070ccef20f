// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/** */
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
