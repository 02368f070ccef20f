// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

class MemoryStoreContractTest extends BucketStoreContract {

  @Override
  public BucketStore newStore(TimeSource time) {
    return BucketStore.inMemory(time);
  }
}
