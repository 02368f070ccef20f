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
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
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
    assertThat(history.rates(any -> true)).hasSize(1);
    return history.rates(any -> true).get(0);
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
    assertThat(only().counts().get(SpendOutcome.ALLOWED))
        .hasSize(RateHistory.SECONDS)
        .endsWith(3, 0, 2);
    assertThat(only().counts().get(SpendOutcome.DENIED)).endsWith(0, 0, 1);
  }

  @Test
  void outcomesWithoutACount_areMissing() {
    count("Logins", "shadow_denied", 1);
    count("Logins", "allowed", 0);
    history.sample();

    assertThat(only().counts()).containsOnlyKeys(SpendOutcome.SHADOW_DENIED);
  }

  @Test
  void aMinuteLater_countsAreForgotten() {
    count("Logins", "allowed", 7);
    history.sample();
    for (int second = 1; second < RateHistory.SECONDS; second++) {
      history.sample();
    }
    assertThat(only().counts().get(SpendOutcome.ALLOWED)).startsWith(7);
    history.sample();

    assertThat(only().counts()).isEmpty();
  }

  @Test
  void totals_ofSteps_areTheSumsOfTheDay_untilTheStepIsForgotten() {
    count("Logins", "allowed", 7);
    count("Calls", "denied", 1);
    history.sample();
    for (int second = 0; second < RateHistory.DAY_STEP_SECONDS; second++) {
      history.sample();
    }
    count("Logins", "allowed", 2);
    history.sample();

    assertThat(history.totals(any -> true, 1))
        .isEqualTo(Map.of("Logins", Map.of(SpendOutcome.ALLOWED, 2L)));
    assertThat(history.totals(any -> true, 2))
        .isEqualTo(
            Map.of(
                "Calls",
                Map.of(SpendOutcome.DENIED, 1L),
                "Logins",
                Map.of(SpendOutcome.ALLOWED, 9L)));
    assertThat(history.totals("Calls"::equals, RateHistory.DAY_STEPS)).containsOnlyKeys("Calls");
    for (int step = 1; step < RateHistory.DAY_STEPS; step++) {
      for (int second = 0; second < RateHistory.DAY_STEP_SECONDS; second++) {
        history.sample();
      }
    }
    assertThat(history.totals(any -> true, RateHistory.DAY_STEPS))
        .isEqualTo(Map.of("Logins", Map.of(SpendOutcome.ALLOWED, 2L)));
  }

  @Test
  void totals_areTheSumsOfTheLastMinute() {
    count("Logins", "allowed", 3);
    history.sample();
    count("Logins", "allowed", 4);
    count("Others", "denied", 1);
    history.sample();
    assertThat(history.totals("Logins"::equals))
        .isEqualTo(Map.of("Logins", Map.of(SpendOutcome.ALLOWED, 7L)));
    for (int second = 1; second < RateHistory.SECONDS; second++) {
      history.sample();
    }
    assertThat(history.totals("Logins"::equals).get("Logins"))
        .isEqualTo(Map.of(SpendOutcome.ALLOWED, 4L));
    history.sample();
    assertThat(history.totals(any -> true)).isEmpty();
  }

  @Test
  void day_sumsUpFiveMinutes_andForgetsWhatIsOlderThanADay() {
    count("Logins", "denied", 3);
    seconds(RateHistory.DAY_STEP_SECONDS);
    count("Logins", "denied", 5);
    seconds(10);
    assertThat(history.day("Logins").lastSeconds()).isEqualTo(10);
    assertThat(history.day("Logins").counts().get(SpendOutcome.DENIED))
        .hasSize(RateHistory.DAY_STEPS)
        .endsWith(0, 3, 5);
    assertThat(history.day("Others").counts()).isEmpty();

    seconds(RateHistory.DAY_STEPS * RateHistory.DAY_STEP_SECONDS);
    assertThat(history.day("Logins").counts()).isEmpty();
  }

  private void seconds(int seconds) {
    for (int second = 0; second < seconds; second++) {
      history.sample();
    }
  }

  @Test
  void degradedLimit_isTold_sinceItsFirstDecision_untilAMinuteAfterItsLast() {
    AtomicReference<Instant> wall = new AtomicReference<>(Instant.EPOCH);
    AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - TimeUnit.SECONDS.toNanos(70));
    RateHistory timed = new RateHistory(meters, wall::get, nanos::get);
    Counter degraded = meters.counter("ratelimits.degraded", "limit", "Logins");
    degraded.increment();
    timed.sample();
    wall.set(Instant.EPOCH.plus(Duration.ofHours(1))); // somebody sets the clock
    nanos.addAndGet(TimeUnit.SECONDS.toNanos(50));
    degraded.increment();
    timed.sample();
    nanos.addAndGet(TimeUnit.SECONDS.toNanos(59));
    timed.sample();
    assertThat(timed.degraded()).isEqualTo(Map.of("Logins", Instant.EPOCH));
    nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
    timed.sample();
    assertThat(timed.degraded()).isEmpty();
  }

  @Test
  void limitsBeyondTheBound_haveNoHistory() {
    IntStream.range(0, RateHistory.MOST_LIMITS + 10).forEach(i -> count("Limit" + i, "allowed", 1));
    history.sample();

    assertThat(history.rates(any -> true)).hasSize(RateHistory.MOST_LIMITS);
  }

  @Test
  void otherMeters_areNotDecisions() {
    meters.counter("ratelimits.degraded", "limit", "Logins").increment();
    history.sample();

    assertThat(history.rates(any -> true)).isEqualTo(List.of());
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
                  running.rates(any -> true).stream()
                      .anyMatch(rates -> rates.counts().containsKey(SpendOutcome.ALLOWED)));
    }
    assertThat(readings.get()).isGreaterThan(1);
  }
}
