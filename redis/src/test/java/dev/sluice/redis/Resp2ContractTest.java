// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.RedisStoreBuilder.Protocol;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.ShortBucketStoreContract;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The short contract over RESP2: only the replies differ from those of RESP3. */
@Tag("slow")
final class Resp2ContractTest {

  @Nested
  final class Single extends ShortBucketStoreContract {
    @Override
    public BucketStore newStore(TimeSource time) {
      return TestServers.fresh(TestServers.single(), time).protocol(Protocol.RESP2).open();
    }
  }

  @Nested
  final class Sentinel extends ShortBucketStoreContract {
    @Override
    public BucketStore newStore(TimeSource time) {
      return TestServers.fresh(TestServers.sentinel(), time).protocol(Protocol.RESP2).open();
    }
  }

  @Nested
  final class Cluster extends ShortBucketStoreContract {
    @Override
    public BucketStore newStore(TimeSource time) {
      return TestServers.fresh(TestServers.cluster(), time).protocol(Protocol.RESP2).open();
    }
  }

  @Nested
  final class Ring extends ShortBucketStoreContract {
    @Override
    public BucketStore newStore(TimeSource time) {
      return TestServers.fresh(TestServers.ring(), time).protocol(Protocol.RESP2).open();
    }
  }
}
