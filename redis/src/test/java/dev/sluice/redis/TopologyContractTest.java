// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.RedisStoreBuilder.Protocol;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.BucketStoreContract;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The whole contract, over RESP3, where a store has more than one server. */
@Tag("slow")
@ParameterizedClass
@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "SINGLE")
final class TopologyContractTest extends BucketStoreContract {

  @Parameter Servers servers;

  /** The servers of a store. */
  enum Servers {
    SINGLE,
    SENTINEL,
    CLUSTER,
    RING;

    String uri() {
      return switch (this) {
        case SINGLE -> TestServers.single();
        case SENTINEL -> TestServers.sentinel();
        case CLUSTER -> TestServers.cluster();
        case RING -> TestServers.ring();
      };
    }
  }

  @Override
  public BucketStore newStore(TimeSource time) {
    return TestServers.fresh(servers.uri(), time).protocol(Protocol.RESP3).open();
  }

  @Override
  public long mostLost(long asked) {
    return servers == Servers.SENTINEL ? 0 : 8 * asked;
  }

  @Override
  public int histories() {
    return 1;
  }
}
