// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.RedisStoreBuilder.Protocol;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.BucketStoreContract;

/** The whole contract on one server; {@link TopologyContractTest} has the other topologies. */
final class SingleContractTest extends BucketStoreContract {

  @Override
  public BucketStore newStore(TimeSource time) {
    return TestServers.fresh(TestServers.newestSingle(), time).protocol(Protocol.RESP3).open();
  }

  /** Each makes a store of its own; the law itself is tried in {@link ScriptAgainstLawTest}. */
  @Override
  public int histories() {
    return 1;
  }
}
