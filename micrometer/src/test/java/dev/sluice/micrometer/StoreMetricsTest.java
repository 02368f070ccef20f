// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.redis.RedisStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Observer.Refusal;
import dev.sluice.store.BucketStore.Observer.State;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class StoreMetricsTest {

  private static final long HOUR = TimeUnit.HOURS.toNanos(1);
  private static final List<Charge> SPEND =
      List.of(new Charge("1:a", Op.SPEND, HOUR, 2 * HOUR, Effect.NO_END));

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final StoreMetrics metrics = new StoreMetrics(registry, "redis");
  private final LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
  private final RedisStore store =
      RedisStore.builder(redis.uri())
          .timeout(Duration.ofSeconds(6))
          .connectTimeout(Duration.ofMinutes(1))
          .failures(2)
          .probe(Duration.ofMillis(50))
          .denials(Duration.ofHours(1))
          .observer(metrics)
          .open();

  @AfterEach
  void stop() {
    store.close();
    redis.close();
  }

  private String scraped() {
    return registry.scrape();
  }

  private String line(String name, String labels) {
    String before = labels.isEmpty() ? "" : labels + ",";
    return "ratelimits_redis_%s{%sserver=\"%s\"} ".formatted(name, before, redis.address());
  }

  @Test
  void serversThatAreAlwaysNew_shareALabelAfterTheFirstThousand() {
    StoreMetrics all = new StoreMetrics(registry, "redis");
    for (int i = 0; i < 1_005; i++) {
      all.changed("node-" + i, State.DOWN, "gone");
    }
    assertThat(scraped())
        .contains("{server=\"node-999\",state=\"down\"} 1.0")
        .contains("{server=\"other\",state=\"down\"} 5.0")
        .doesNotContain("node-1000\"");
  }

  @Test
  void calls_areCountedByResult_timeOutsApart() {
    await().atMost(Duration.ofMinutes(1)).ignoreExceptions().until(() -> pinged());
    for (int i = 0; i < 3; i++) {
      assertThat(store.charge(SPEND)).hasSize(1);
    }
    assertThat(store.charge(SPEND)).hasSize(1); // the denial is known by now
    redis.freeze();
    for (int i = 0; i < 2; i++) {
      assertThatThrownBy(() -> store.charge(other())).isInstanceOf(StoreException.class);
    }
    // A caller waits for its own time-out as well, which a late thread of the store may miss.
    await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> scraped().contains(line("call_latency_count", "result=\"timed_out\"") + 2));
    assertThatThrownBy(() -> store.charge(other())).hasMessageContaining("marked down");
    await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> scraped().contains(line("refused_total", "reason=\"down\"") + "1.0"));
    assertThat(scraped())
        .contains(line("call_latency_count", "result=\"answered\"") + 3)
        .contains(line("call_latency_count", "result=\"timed_out\"") + 2)
        .contains(line("call_latency_count", "result=\"failed\"") + 0)
        .contains(line("call_batches_count", "") + 5)
        .contains(line("up", "") + "0.0")
        .contains(
            "ratelimits_redis_changes_total{server=\"%s\",state=\"down\"} 1.0"
                .formatted(redis.address()))
        .contains("ratelimits_redis_denied_from_memory_total 1.0");
    redis.thaw();
    await().atMost(Duration.ofMinutes(1)).until(() -> scraped().contains("state=\"up\"} 1.0"));
    await().atMost(Duration.ofMinutes(1)).until(() -> scraped().contains(line("up", "") + "1.0"));
  }

  private boolean pinged() {
    store.ping();
    return true;
  }

  private static List<Charge> other() {
    return List.of(new Charge("1:b", Op.SPEND, HOUR, 2 * HOUR, Effect.NO_END));
  }

  @Test
  void serverThatIsGone_isAFailure() {
    await().atMost(Duration.ofMinutes(1)).ignoreExceptions().until(() -> pinged());
    redis.kill();
    assertThatThrownBy(() -> store.charge(SPEND)).isInstanceOf(StoreException.class);
    await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> scraped().contains(line("call_latency_count", "result=\"failed\"") + 1));
  }

  @Test
  void everyReason_hasItsSeriesFromTheFirst() {
    metrics.refused("there:1", Refusal.QUEUE_FULL);
    assertThat(scraped())
        .contains("ratelimits_redis_refused_total{reason=\"queue_full\",server=\"there:1\"} 1.0")
        .contains(
            "ratelimits_redis_refused_total{reason=\"waited_too_long\",server=\"there:1\"} 0.0");
  }
}
