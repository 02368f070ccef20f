// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.RedisStoreBuilder.Protocol;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.BucketStoreContract;

final class SentinelResp2ContractTest extends BucketStoreContract {

  @Override
  public BucketStore newStore(TimeSource time) {
    return TestServers.fresh(TestServers.sentinel(), time).protocol(Protocol.RESP2).open();
  }

  /** Each makes a store of its own; the law itself is tried in {@link ScriptAgainstLawTest}. */
  @Override
  public int histories() {
    return 1;
  }
}
