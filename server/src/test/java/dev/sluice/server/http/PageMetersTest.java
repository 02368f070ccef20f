// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.micrometer.BulkSummary;
import dev.sluice.server.http.HttpPart.MetricsPart;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class PageMetersTest {

  private final PrometheusMeterRegistry ours = MetricsPart.newRegistry();

  private static DistributionSummary histogram(MeterRegistry registry, String tag) {
    return DistributionSummary.builder("some.latency")
        .description("How long something took")
        .tag("tag", tag)
        .serviceLevelObjectives(0.5, 1, 4, 16)
        .register(registry);
  }

  /** Whole numbers: the library rounds others up before it looks for their bucket. */
  private static void record(DistributionSummary summary) {
    Random random = new Random(15);
    for (int i = 0; i < 1_000; i++) {
      double value = random.nextInt(20) - 1;
      int times = random.nextInt(4);
      if (summary instanceof BulkSummary bulk) {
        bulk.record(value, times);
      } else {
        for (int time = 0; time < times; time++) {
          summary.record(value);
        }
      }
    }
  }

  @Test
  void page_showsWhatTheLibraryWould() {
    PrometheusMeterRegistry library = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    for (MeterRegistry registry : new MeterRegistry[] {ours, library}) {
      record(histogram(registry, "a"));
      histogram(registry, "b").record(9);
      histogram(registry, "empty").record(-1);
      DistributionSummary.builder("plain").register(registry).record(3);
      registry.counter("counted").increment();
      registry.counter("named", "label", "a \"quoted\" \\ text\nof two lines").increment(0.5);
    }

    assertThat(histogram(ours, "a")).isInstanceOf(BulkSummary.class);
    assertThat(sorted(ours)).isEqualTo(sorted(library));
  }

  /** The order of families is free, and that of the lines of a family with them. */
  private static List<String> sorted(PrometheusMeterRegistry registry) {
    return registry.scrape().lines().sorted().toList();
  }

  @Test
  void valueBelowOne_isCountedInItsBucket() {
    DistributionSummary summary = histogram(ours, "a");
    summary.record(0.5);
    summary.record(0.75);

    assertThat(ours.scrape().lines())
        .contains(
            "some_latency_bucket{tag=\"a\",le=\"0.5\"} 1",
            "some_latency_bucket{tag=\"a\",le=\"1.0\"} 2");
  }

  @Test
  void summary_tellsWhatWasRecorded() {
    DistributionSummary summary = histogram(ours, "a");
    ((BulkSummary) summary).record(0.75, 3);
    summary.record(2);

    assertThat(summary.count()).isEqualTo(4);
    assertThat(summary.totalAmount()).isEqualTo(4.25);
    assertThat(summary.max()).isEqualTo(2);
  }

  @Test
  void removedSummary_isGoneFromThePage() {
    DistributionSummary summary = histogram(ours, "a");
    ours.remove(summary);

    assertThat(ours.scrape()).doesNotContain("some_latency");
  }
}
