// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.redis.RedisStore;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What requests get while a real Redis is dead, and after it has come back. */
@Tag("slow")
class KilledRedisTest {

  /** A slow machine is waited for; a dead server refuses connections at once. */
  private static BucketStore patient(LocalRedis redis) {
    return RedisStore.builder(redis.uri())
        .timeout(Duration.ofSeconds(10))
        .connectTimeout(Duration.ofSeconds(10))
        .open();
  }

  @ParameterizedTest
  @EnumSource
  void killedRedis_meansWhatTheFailureRulesSay_untilItIsBack(Container container) throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.newest());
        BucketStore store = patient(redis);
        WebServer web = container.server()) {
      Limiter limiter =
          Limiter.builder(new CurrentLimits(Limiters.limits()), store)
              .onFailure("PerKey", FailureRule.allow())
              .build();
      web.servlet("/", Pages.status())
          .filter(
              RateLimitFilter.builder(limiter)
                  .rule(Rule.on("/login").limit("PerAddress", VaryBy.clientAddress()).build())
                  .rule(Rule.on("/page").limit("PerKey", VaryBy.constant("a")).build())
                  .build())
          .start();
      await().atMost(Duration.ofMinutes(1)).until(() -> web.get("/login").statusCode() == 200);
      assertThat(web.get("/page").headers().firstValue("RateLimit")).isPresent();

      redis.kill();

      assertThat(web.get("/login").statusCode()).isEqualTo(503);
      for (int i = 0; i < 4; i++) {
        assertThat(web.get("/page").statusCode()).isEqualTo(200);
      }

      redis.startAgain();

      await().atMost(Duration.ofMinutes(1)).until(() -> web.get("/login").statusCode() == 200);
    }
  }

  @ParameterizedTest
  @EnumSource
  void killedRedis_conditionalRule_countsFailuresLocally_andGoodOnesCostNothing(Container container)
      throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.newest());
        BucketStore store = patient(redis);
        WebServer web = container.server()) {
      Limiter limiter =
          Limiter.builder(new CurrentLimits(Limiters.limits()), store)
              .onFailure("FailedPerAddress", FailureRule.local(10)) // 3 of 30
              .onFailure("PerKey", FailureRule.allow())
              .build();
      web.servlet("/", Pages.status())
          .filter(
              RateLimitFilter.builder(limiter)
                  .rule(
                      Rule.on("/login")
                          .limit("FailedPerAddress", VaryBy.clientAddress())
                          .countOnly(401)
                          .build())
                  .rule(
                      Rule.on("/page").limit("PerKey", VaryBy.constant("a")).countOnly(401).build())
                  .build())
          .start();
      assertThat(web.get("/login?status=401").statusCode()).isEqualTo(401);
      assertThat(Limiters.remaining(limiter, "FailedPerAddress", "127.0.0.1")).isEqualTo(29);

      redis.kill();

      for (int i = 0; i < 10; i++) {
        assertThat(web.get("/login").statusCode()).isEqualTo(200);
        assertThat(web.get("/page").statusCode()).isEqualTo(200);
      }
      for (int i = 0; i < 3; i++) {
        assertThat(web.get("/login?status=401").statusCode()).isEqualTo(401);
      }
      assertThat(web.get("/login").statusCode()).isEqualTo(429);

      redis.startAgain(); // empty: nothing was taken there since, and nothing is given back there

      await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> web.get("/login?status=401").statusCode() == 401);
      await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> Limiters.remaining(limiter, "FailedPerAddress", "127.0.0.1") == 29);
      assertThat(redis.command("EXISTS", "1003:a")).isEqualTo(0L);
    }
  }
}
