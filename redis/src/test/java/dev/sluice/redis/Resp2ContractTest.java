// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.RedisStoreBuilder.Protocol;
import dev.sluice.redis.TopologyContractTest.Servers;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.ShortBucketStoreContract;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The short contract over RESP2: only the replies differ from those of RESP3. */
@Tag("slow")
@ParameterizedClass
@EnumSource
final class Resp2ContractTest extends ShortBucketStoreContract {

  @Parameter Servers servers;

  @Override
  public BucketStore newStore(TimeSource time) {
    return TestServers.fresh(servers.uri(), time).protocol(Protocol.RESP2).open();
  }
}
