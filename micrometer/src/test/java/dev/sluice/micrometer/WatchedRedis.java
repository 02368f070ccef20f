// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.redis.RedisStore;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;

/** A limiter over a real Redis, both of which are watched. */
final class WatchedRedis implements AutoCloseable {

  final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
  private final RedisStore store =
      RedisStore.builder(redis.uri())
          .timeout(Duration.ofMillis(200))
          .connectTimeout(Duration.ofSeconds(10))
          .failures(2)
          .probe(Duration.ofMillis(50))
          .observer(new StoreMetrics(registry, "redis"))
          .open();
  private final CurrentLimits limits =
      new CurrentLimits(
          Limits.builder(Catalogue.samples())
              .limit("ApiCallsPerKey", Quota.per(1_000_000, Duration.ofMinutes(1)))
              .build());
  private final Limiter limiter =
      Limiter.builder(limits, store).observer(new LimiterMetrics(registry, limits, store)).build();

  /**
   * Three spends: of a frozen Redis two time out, and give it up.
   *
   * @return whether all were answered
   */
  @CanIgnoreReturnValue
  boolean ask() {
    boolean answered = true;
    for (int i = 0; i < 3; i++) {
      try {
        var unused = limiter.spend("ApiCallsPerKey", "key-of-ann");
      } catch (StoreException e) {
        answered = false;
      }
    }
    return answered;
  }

  void freeze() {
    redis.freeze();
  }

  void thaw() {
    redis.thaw();
  }

  @Override
  public void close() {
    store.close();
    redis.close();
  }
}
