// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.servletlogin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.redis.RedisStore;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The server with its buckets in a real Redis, which is killed and comes back. */
class KilledRedisTest {

  private static final String CLIENT = "192.0.2.7";
  private static final String GOOD = "the password of ann";

  @Test
  void whileRedisIsDead_theApiIsOpen_andTheLoginIsShut() throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
        RedisStore store =
            RedisStore.builder(redis.uri())
                .timeout(Duration.ofSeconds(10)) // a dead server refuses connections at once
                .connectTimeout(Duration.ofSeconds(10))
                .open();
        LoginServer server = new LoginServer(store, 0)) {
      Visitor visitor = new Visitor(server.start());
      await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> visitor.login(GOOD, CLIENT).statusCode() == 200);
      assertThat(visitor.login("guess", CLIENT).statusCode()).isEqualTo(401);
      assertThat(visitor.call("/api/v1", "key").headers().firstValue("RateLimit")).isPresent();
      assertThat(redis.command("KEYS", "*").toString()).contains("102:" + CLIENT);

      redis.kill();

      HttpResponse<String> shut = visitor.login(GOOD, CLIENT);
      assertThat(shut.statusCode()).isEqualTo(503);
      assertThat(shut.headers().firstValue("Retry-After").orElseThrow()).isIn("1", "2");
      assertThat(shut.headers().firstValue("Content-Type")).hasValue("application/problem+json");
      assertThat(shut.body()).contains("#temporary-reduced-capacity").doesNotContain("welcome");
      for (int i = 0; i < 150; i++) { // more than the limit allows at once
        HttpResponse<String> open = visitor.call("/api/v1", "key");
        assertThat(open.statusCode()).isEqualTo(200);
        assertThat(open.headers().firstValue("RateLimit")).isEmpty();
      }
      assertThat(visitor.get("/metrics").body())
          .contains("ratelimits_degraded_total{limit=\"ApiCallsPerKey\"} 150.0")
          .containsPattern("ratelimits_latency_count\\{call=\"spend\",result=\"error\"} [1-9]");

      redis.startAgain(); // with nothing in it

      await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> visitor.login(GOOD, CLIENT).statusCode() == 200);
      await()
          .atMost(Duration.ofMinutes(1))
          .until(
              () -> visitor.call("/api/v1", "key").headers().firstValue("RateLimit").isPresent());
    }
  }
}
