// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Eventually.await;
import static dev.sluice.redis.Spending.LIMIT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalCluster;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A call whose connection breaks after it was sent is not sent again: it may have been done. */
@Tag("slow")
final class AtMostOnceTest {

  private static final String ID = "a";

  @Test
  void single_connectionBreaksAfterTheCallWasSent_isNotRepeated() {
    try (LocalRedis server = LocalRedis.start(RedisBinary.bundled())) {
      breakAfterSending(server.uri(), List.of(server));
    }
  }

  @Test
  void cluster_connectionBreaksAfterTheCallWasSent_isNotRepeated() {
    try (LocalCluster cluster = TestServers.newCluster(false)) {
      breakAfterSending(cluster.uri(), cluster.servers());
    }
  }

  /**
   * Servers that postpone writes have received the call and not run it. Once its connection is cut
   * nobody runs it, unless the client sends it again.
   */
  private static void breakAfterSending(String uri, List<LocalRedis> servers) {
    try (RedisStore store = TestServers.fresh(uri).open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      store.ping();
      assertThat(limiter.spend(LIMIT, ID).allowed()).isTrue();
      servers.forEach(server -> server.command("CLIENT", "PAUSE", "60000", "WRITE"));
      CompletableFuture<Decision> call = limiter.async().spend(LIMIT, ID).toCompletableFuture();
      await().until(() -> servers.stream().anyMatch(AtMostOnceTest::postponesACall));
      servers.forEach(server -> server.command("CLIENT", "KILL", "TYPE", "normal"));
      assertThatThrownBy(() -> call.get(60, TimeUnit.SECONDS))
          .hasCauseInstanceOf(StoreException.class)
          .hasMessageContaining("unknown");
      servers.forEach(server -> server.command("CLIENT", "UNPAUSE"));
      await().until(() -> decides(limiter));
      assertThat(limiter.spend(LIMIT, ID).remaining()).isEqualTo(Spending.BURST - 2);
    }
  }

  private static boolean decides(Limiter limiter) {
    try {
      return limiter.check(LIMIT, ID).allowed();
    } catch (StoreException e) {
      return false; // the client connects anew
    }
  }

  private static boolean postponesACall(LocalRedis server) {
    return String.valueOf(server.command("CLIENT", "LIST"))
        .lines() // each with the last command: the flag tells that it waits
        .anyMatch(line -> line.contains(" flags=b ") && line.contains(" cmd=evalsha"));
  }
}
