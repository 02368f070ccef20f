// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.RedisStoreBuilder.Protocol;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.BucketStoreContract;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The whole contract, over RESP3, where a store has more than one server. */
@Tag("slow")
final class TopologyContractTest {

  @Nested
  final class Sentinel extends BucketStoreContract {
    @Override
    public BucketStore newStore(TimeSource time) {
      return TestServers.fresh(TestServers.sentinel(), time).protocol(Protocol.RESP3).open();
    }

    @Override
    public int histories() {
      return 1;
    }
  }

  @Nested
  final class Cluster extends BucketStoreContract {
    @Override
    public BucketStore newStore(TimeSource time) {
      return TestServers.fresh(TestServers.cluster(), time).protocol(Protocol.RESP3).open();
    }

    @Override
    public int histories() {
      return 1;
    }
  }

  @Nested
  final class Ring extends BucketStoreContract {
    @Override
    public BucketStore newStore(TimeSource time) {
      return TestServers.fresh(TestServers.ring(), time).protocol(Protocol.RESP3).open();
    }

    @Override
    public int histories() {
      return 1;
    }
  }
}
