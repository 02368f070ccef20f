// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.store.BucketStore;
import dev.sluice.testkit.LiveBucketStoreContract;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The contract on the servers' own clock, on every topology. */
final class LiveContractTest {

  @Nested
  final class Single extends LiveBucketStoreContract {
    @Override
    protected BucketStore newStore() {
      return TestServers.fresh(TestServers.single()).open();
    }
  }

  @Nested
  @Tag("slow")
  final class Sentinel extends LiveBucketStoreContract {
    @Override
    protected BucketStore newStore() {
      return TestServers.fresh(TestServers.sentinel()).open();
    }
  }

  @Nested
  @Tag("slow")
  final class Cluster extends LiveBucketStoreContract {
    @Override
    protected BucketStore newStore() {
      return TestServers.fresh(TestServers.cluster()).open();
    }
  }

  @Nested
  @Tag("slow")
  final class Ring extends LiveBucketStoreContract {
    @Override
    protected BucketStore newStore() {
      return TestServers.fresh(TestServers.ring()).open();
    }
  }
}
