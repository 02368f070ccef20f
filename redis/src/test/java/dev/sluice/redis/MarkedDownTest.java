// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.redis.StoreUri.Host;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Observer.State;
import io.lettuce.core.RedisException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** A ring of two servers that nobody reaches. */
final class MarkedDownTest {

  private static final int KEYS = 20; // on both servers

  private final List<String> told = new ArrayList<>();
  private final BucketStore.Observer observer =
      new BucketStore.Observer() {
        @Override
        public void refused(String server, Refusal why) {
          told.add(why + " " + server);
        }

        @Override
        public void changed(String server, State state, String reason) {
          told.add(state + " " + server);
        }
      };

  private static final class Unreachable extends UnusedConnector {
    @Override
    public CompletionStage<? extends Connection> connect(Host server) {
      return CompletableFuture.failedFuture(new RedisException("connection refused"));
    }
  }

  @Test
  void batchOverSeveralServers_isReportedAsRefused_likeASingleCharge() {
    try (RedisStore store =
        RedisStore.builder("redis-ring://here,there")
            .failures(1)
            .observer(observer)
            .open(new ManualTiming(), new Unreachable(), () -> {})) {
      String[] keys = new String[KEYS];
      for (int i = 0; i < KEYS; i++) {
        keys[i] = "1:" + i;
        assertFails(store, keys[i]);
      }
      assertThat(told).contains(State.DOWN + " here:6379", State.DOWN + " there:6379");
      told.clear();
      assertFails(store, keys[0]);
      assertThat(told).hasSize(1).first().asString().startsWith("DOWN ");
      told.clear();
      assertFails(store, keys);
      assertThat(told).hasSize(1).first().asString().startsWith("DOWN ");
    }
  }

  private static void assertFails(RedisStore store, String... keys) {
    assertThatThrownBy(store.chargeAsync(Charges.spend(keys)).toCompletableFuture()::join)
        .hasMessageContaining("nothing was charged");
  }
}
