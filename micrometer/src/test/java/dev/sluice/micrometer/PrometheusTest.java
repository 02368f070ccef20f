// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
    await().until(redis::ask);
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
                  redis.ask();
                  return prometheus.ask(query.promql()).stream().anyMatch(value -> value > 0);
                });
      }
    } finally {
      redis.thaw();
    }
  }

  @Test
  void alertsOfTheDocs_areSilentWhileAllIsWell_andCryWhenItIsNot() throws Exception {
    List<String> alerts = alerts();
    assertThat(alerts).hasSize(9);
    // The server's own meters, which it registers beside these.
    AtomicInteger mistakes = new AtomicInteger();
    AtomicInteger daysLeft = new AtomicInteger(90);
    Gauge.builder("sluice.generation.mistakes", mistakes::get).register(memory.registry);
    Gauge.builder(
            "sluice.tls.certificate.end.timestamp.seconds",
            () -> Instant.now().plus(Duration.ofDays(daysLeft.get())).getEpochSecond())
        .register(memory.registry);
    Counter failedReads =
        Counter.builder("sluice.runtime.reads.failed")
            .tag("source", "penalties_table")
            .register(memory.registry);
    memory.metrics.overridesLoaded(Instant.now());
    try (LocalPrometheus prometheus =
        new LocalPrometheus(folder, memory.registry, redis.registry)) {
      patiently("calls are seen")
          .until(
              () ->
                  redis.ask()
                      && !prometheus
                          .ask("sum(rate(ratelimits_latency_count[%s])) > 0".formatted(RATE))
                          .isEmpty());
      // A first call that was too slow is an error too, for as long as the rate remembers it.
      patiently("silence")
          .until(
              () -> {
                boolean silent = redis.ask();
                for (String alert : alerts) {
                  silent &= prometheus.ask(alert).isEmpty();
                }
                return silent;
              });

      memory.metrics.overridesLoaded(Instant.now().minusSeconds(601));
      memory.metrics.overridesFailed(2);
      mistakes.set(3);
      daysLeft.set(13);
      memory.metrics.filesFailed(1);
      memory.nearlyFill();
      redis.freeze();

      for (String alert : alerts) {
        patiently(alert)
            .until(
                () -> {
                  redis.ask();
                  failedReads.increment();
                  return !prometheus.ask(alert).isEmpty();
                });
      }
    } finally {
      redis.thaw();
    }
  }

  /** The lines of the page's last block, without their remarks. */
  private static List<String> alerts() throws IOException {
    String page = Files.readString(Path.of("../docs/metrics.md"));
    Matcher block = Pattern.compile("Alerts:\n\n```\n(.*?)```", Pattern.DOTALL).matcher(page);
    assertThat(block.find()).isTrue();
    return block
        .group(1)
        .lines()
        .map(line -> line.substring(0, line.indexOf('#')).strip().replace("5m", RATE))
        .toList();
  }

  private static ConditionFactory patiently(String what) {
    return await(what)
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(300))
        .ignoreException(IOException.class);
  }
}
