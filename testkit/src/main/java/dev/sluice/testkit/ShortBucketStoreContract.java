// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/** */
public abstract class ShortBucketStoreContract implements VectorRules, StoreRules {

  protected ShortBucketStoreContract() {}

  /** */
  @Override
  public abstract BucketStore newStore(TimeSource time);
}
