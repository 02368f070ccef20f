// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.store.BucketStore.Observer.Result;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * What can be said of the dashboard without a Prometheus; the rest is in {@link PrometheusTest}.
 */
class DashboardTest {

  private static final Pattern METRIC = Pattern.compile("ratelimits_[a-z_]+");

  @Test
  void everyMetric_thatAQueryNames_isExposed() throws IOException {
    Set<String> exposed = new TreeSet<>();
    Watched memory = new Watched();
    memory.everything();
    memory.settle();
    exposed.addAll(names(memory.registry.scrape()));
    try (WatchedRedis redis = new WatchedRedis()) {
      await().atMost(Duration.ofMinutes(1)).until(redis::ask);
      exposed.addAll(names(redis.registry.scrape()));
    }
    for (String kind : List.of("postgres", "mariadb")) {
      PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
      new StoreMetrics(registry, kind).called("db:1", Result.ANSWERED, 1, 1, 1);
      exposed.addAll(names(registry.scrape()));
    }

    assertThat(asked()).hasSizeGreaterThan(7);
    assertThat(exposed).containsAll(asked());
  }

  @Test
  void everyQueryOfRedis_asksForTheDatabasesToo() throws IOException {
    List<String> ofRedis =
        asked().stream().filter(name -> name.startsWith("ratelimits_redis_")).toList();

    assertThat(ofRedis).isNotEmpty();
    for (String kind : List.of("postgres", "mariadb")) {
      assertThat(asked())
          .containsAll(ofRedis.stream().map(name -> name.replace("redis", kind)).toList());
    }
  }

  private static Set<String> asked() throws IOException {
    Set<String> asked = new TreeSet<>();
    for (Dashboard.Query query : Dashboard.queries("1m")) {
      asked.addAll(names(query.promql()));
    }
    return asked;
  }

  private static Set<String> names(String text) {
    Set<String> names = new TreeSet<>();
    METRIC.matcher(text).results().forEach(found -> names.add(found.group()));
    return names;
  }
}
