// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/**
 * The contract of every {@link BucketStore}, as JUnit tests on a driven clock.
 *
 * <p>The test of a store extends this class and says how to make one; it is then run against every
 * rule, to the nanosecond. {@link LiveBucketStoreContract} is its sister for a store on its own
 * clock: a store over a network passes both, driven and live.
 */
public abstract class BucketStoreContract
    implements VectorRules,
        SpendRules,
        SuppliedQuotaRules,
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
        CancelHistoryRules,
        WaitRules,
        WaitHistoryRules {

  /** For the test of a store to extend. */
  protected BucketStoreContract() {}

  /**
   * Makes the store under test. A test calls it once or more, and closes what it got.
   *
   * @param time the clock that the store must decide by; it may stand still, leap, and step back
   * @return a store without any bucket; one that shares a server gets there by a key prefix of its
   *     own
   */
  @Override
  public abstract BucketStore newStore(TimeSource time);
}
