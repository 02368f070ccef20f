// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;

class LiveMemoryStoreContractTest extends LiveBucketStoreContract {

  @Override
  protected BucketStore newStore() {
    return BucketStore.inMemory();
  }
}
