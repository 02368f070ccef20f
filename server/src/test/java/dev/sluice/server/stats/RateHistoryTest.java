// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.stats.RateHistory.Rates;
import dev.sluice.server.stats.RateHistory.SpendOutcome;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.cumulative.CumulativeCounter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class RateHistoryTest {

  private final MeterRegistry meters = new SimpleMeterRegistry();
  private final RateHistory history = new RateHistory(meters);

  private void count(String limit, String decision, int decisions) {
    meters
        .counter("ratelimits.decisions", "limit", limit, "decision", decision)
        .increment(decisions);
  }

  private Rates only() {
    assertThat(history.rates()).hasSize(1);
    return history.rates().get(0);
  }

  @Test
  void sample_keepsWhatWasCountedSinceTheLast_andTheNewestIsAtTheEnd() {
    count("Logins", "allowed", 3);
    history.sample();
    history.sample();
    count("Logins", "allowed", 2);
    count("Logins", "denied", 1);
    history.sample();

    assertThat(only().limit()).isEqualTo("Logins");
    assertThat(only().perSecond().get(SpendOutcome.ALLOWED))
        .hasSize(RateHistory.SECONDS)
        .endsWith(3, 0, 2);
    assertThat(only().perSecond().get(SpendOutcome.DENIED)).endsWith(0, 0, 1);
  }

  @Test
  void outcomesWithoutACount_areMissing() {
    count("Logins", "shadow_denied", 1);
    count("Logins", "allowed", 0);
    history.sample();

    assertThat(only().perSecond()).containsOnlyKeys(SpendOutcome.SHADOW_DENIED);
  }

  @Test
  void aMinuteLater_countsAreForgotten() {
    count("Logins", "allowed", 7);
    history.sample();
    for (int second = 1; second < RateHistory.SECONDS; second++) {
      history.sample();
    }
    assertThat(only().perSecond().get(SpendOutcome.ALLOWED)).startsWith(7);
    history.sample();

    assertThat(only().perSecond()).isEmpty();
  }

  @Test
  void limitsBeyondTheBound_haveNoHistory() {
    IntStream.range(0, RateHistory.MOST_LIMITS + 10).forEach(i -> count("Limit" + i, "allowed", 1));
    history.sample();

    assertThat(history.rates()).hasSize(RateHistory.MOST_LIMITS);
  }

  @Test
  void otherMeters_areNotDecisions() {
    meters.counter("ratelimits.degraded", "limit", "Logins").increment();
    history.sample();

    assertThat(history.rates()).isEqualTo(List.of());
  }

  @Test
  void readingThatThrows_isTriedAgainASecondLater() {
    AtomicInteger readings = new AtomicInteger();
    MeterRegistry broken =
        new SimpleMeterRegistry() {
          @Override
          protected Counter newCounter(Meter.Id id) {
            return new CumulativeCounter(id) {
              @Override
              public double count() {
                if (readings.incrementAndGet() == 1) {
                  throw new NoClassDefFoundError("as the test wants");
                }
                return super.count();
              }
            };
          }
        };
    broken.counter("ratelimits.decisions", "limit", "Logins", "decision", "allowed").increment();
    try (RateHistory running = RateHistory.start(broken)) {
      await()
          .until(
              () ->
                  running.rates().stream()
                      .anyMatch(rates -> rates.perSecond().containsKey(SpendOutcome.ALLOWED)));
    }
    assertThat(readings.get()).isGreaterThan(1);
  }
}
