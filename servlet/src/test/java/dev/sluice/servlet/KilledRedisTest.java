package dev.sluice.servlet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.redis.RedisStore;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.LocalRedis;
import dev.sluice.testkit.RedisBinary;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What requests get while a real Redis is dead, and after it has come back. */
class KilledRedisTest {

  @ParameterizedTest
  @EnumSource
  void killedRedis_meansWhatTheFailureRulesSay_untilItIsBack(Container container) throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.newest());
        BucketStore store = RedisStore.builder(redis.uri()).timeout(Duration.ofMillis(500)).open();
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
      await().until(() -> web.get("/login").statusCode() == 200);
      assertThat(web.get("/page").headers().firstValue("RateLimit")).isPresent();

      redis.kill();

      assertThat(web.get("/login").statusCode()).isEqualTo(503);
      for (int i = 0; i < 4; i++) {
        assertThat(web.get("/page").statusCode()).isEqualTo(200);
      }

      redis.startAgain();

      await().until(() -> web.get("/login").statusCode() == 200);
    }
  }
}
