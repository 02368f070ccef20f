// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The metrics of two limiters, one over memory and one over a real Redis, as a real Prometheus sees
 * them. Runs where one is installed; see the pom.
 */
@Tag("slow")
class PrometheusTest {

  private static final String RATE = "10s";

  private final Watched memory = new Watched();
  private final WatchedRedis redis = new WatchedRedis();
  @TempDir private Path folder;

  @AfterEach
  void stop() {
    redis.close();
  }

  @Test
  void exposition_isWhatPromtoolExpects() throws Exception {
    memory.metrics.overridesLoaded(Instant.now());
    memory.everything();
    await().atMost(Duration.ofMinutes(1)).until(redis::ask);
    for (String exposition : List.of(memory.registry.scrape(), redis.registry.scrape())) {
      Process promtool =
          new ProcessBuilder("/usr/bin/promtool", "check", "metrics")
              .redirectErrorStream(true)
              .start();
      try (OutputStream in = promtool.getOutputStream()) {
        in.write(exposition.getBytes(StandardCharsets.UTF_8));
      }
      String said = new String(promtool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

      assertThat(promtool.waitFor()).as(said).isZero();
    }
  }

  /**
   * Each with a value above 0, while logins are denied, loads fail and the Redis comes and goes.
   */
  @Test
  void everyQueryOfTheDashboard_showsWhatHappens() throws Exception {
    memory.metrics.overridesLoaded(Instant.now());
    memory.metrics.overridesFailed(3);
    memory.metrics.filesFailed(1);
    memory.penalize();
    AtomicInteger turn = new AtomicInteger();
    try (LocalPrometheus prometheus =
        new LocalPrometheus(folder, memory.registry, redis.registry)) {
      for (Dashboard.Query query : Dashboard.queries(RATE)) {
        patiently(query.panel())
            .until(
                () -> {
                  if (turn.getAndIncrement() % 8 < 4) {
                    redis.thaw();
                  } else {
                    redis.freeze();
                  }
                  memory.everything();
                  memory.settle();
                  redis.ask();
                  return prometheus.ask(query.promql()).stream().anyMatch(value -> value > 0);
                });
      }
    } finally {
      redis.thaw();
    }
  }

  private static ConditionFactory patiently(String what) {
    return await(what)
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(300))
        .ignoreException(IOException.class);
  }
}
