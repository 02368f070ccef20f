// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.store.BucketStore;
import dev.sluice.testkit.LiveBucketStoreContract;

final class SentinelLiveContractTest extends LiveBucketStoreContract {

  @Override
  protected BucketStore newStore() {
    return TestServers.fresh(TestServers.sentinel()).open();
  }
}
