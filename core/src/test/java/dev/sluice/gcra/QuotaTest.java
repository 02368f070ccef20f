// SPDX-License-Identifier: Apache-2.0
package dev.sluice.gcra;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigInteger;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class QuotaTest {

  private static final long MAX = Long.MAX_VALUE;
  private static final List<Long> EDGES = List.of(-1L, 0L, 1L, 1L << 31, 1L << 53, MAX);

  @Test
  void of_seedDefaults_derivesIntervalAndOffset() {
    Quota quota = Quota.per(300, Duration.ofHours(3));
    assertThat(quota.intervalNanos()).isEqualTo(36_000_000_000L);
    assertThat(quota.offsetNanos()).isEqualTo(10_800_000_000_000L);
    assertThat(quota.incrementNanos(7)).isEqualTo(252_000_000_000L);
    assertThat(quota.burst()).isEqualTo(300);
    assertThat(quota.count()).isEqualTo(300);
    assertThat(quota.period()).isEqualTo(Duration.ofHours(3));
  }

  @Test
  void of_periodNotDivisible_roundsTheIntervalDown() {
    assertThat(Quota.burst(1).refill(3, Duration.ofNanos(10)).intervalNanos()).isEqualTo(3);
  }

  @Test
  void of_everyEdgeWithEveryOther_isRightOrRefused() {
    for (long burst : EDGES) {
      for (long count : EDGES) {
        for (long periodNanos : EDGES) {
          assertRightOrRefused(burst, count, periodNanos);
        }
      }
    }
  }

  private static void assertRightOrRefused(long burst, long count, long periodNanos) {
    String what = "burst %s, %s per %s ns".formatted(burst, count, periodNanos);
    boolean positive = burst > 0 && count > 0 && periodNanos > 0;
    BigInteger interval =
        positive
            ? BigInteger.valueOf(periodNanos).divide(BigInteger.valueOf(count))
            : BigInteger.ZERO;
    BigInteger offset = interval.multiply(BigInteger.valueOf(burst));
    boolean valid = interval.signum() > 0 && offset.bitLength() <= 63;
    Duration period = Duration.ofNanos(periodNanos);
    assertThat(Quota.faults(burst, count, period).isEmpty()).as(what).isEqualTo(valid);
    if (!valid) {
      assertThatThrownBy(() -> Quota.burst(burst).refill(count, period))
          .as(what)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("found")
          .hasMessageContaining("expected");
      return;
    }
    Quota quota = Quota.burst(burst).refill(count, period);
    assertThat(quota.intervalNanos()).as(what).isEqualTo(interval.longValueExact());
    assertThat(quota.offsetNanos()).as(what).isEqualTo(offset.longValueExact());
    for (long cost : EDGES) {
      if (cost >= 0 && cost <= burst) {
        assertThat(quota.incrementNanos(cost))
            .as(what)
            .isEqualTo(interval.multiply(BigInteger.valueOf(cost)).longValueExact());
      }
    }
  }

  @Test
  void of_severalMistakes_namesEach() {
    assertThatThrownBy(() -> Quota.burst(0).refill(-3, Duration.ZERO))
        .hasMessageContaining("burst: found 0, expected a whole number > 0")
        .hasMessageContaining("count: found -3, expected a whole number > 0")
        .hasMessageContaining("period: found PT0S, expected a duration > 0");
    assertThatThrownBy(() -> Quota.burst(0).refill(1_000_000_001, Duration.ofSeconds(1)))
        .hasMessageContaining("burst: found 0, expected a whole number > 0")
        .hasMessageContaining("count: found 1000000001 in 1000000000 ns, expected at most one");
  }

  @Test
  void of_fasterThanTheUnit_isRefused() {
    assertThatThrownBy(() -> Quota.per(1_000_000_001, Duration.ofSeconds(1)))
        .hasMessageContainingAll("count: found 1000000001", "would round to 0");
    assertThat(Quota.per(1_000_000_000, Duration.ofSeconds(1)).intervalNanos()).isEqualTo(1);
  }

  @Test
  void of_offsetThatOverflows_namesTheLargestBurst() {
    assertThatThrownBy(() -> Quota.burst(MAX).refill(1, Duration.ofDays(7)))
        .hasMessageContaining("burst: found 9223372036854775807, expected at most 15250");
    assertThat(Quota.burst(15_250).refill(1, Duration.ofDays(7)).offsetNanos()).isPositive();
    assertThatThrownBy(() -> Quota.burst(15_251).refill(1, Duration.ofDays(7)))
        .hasMessageContaining("overflows");
  }

  @Test
  void of_periodBeyondTheRange_isRefused() {
    assertThat(Quota.per(1, Duration.ofNanos(MAX)).offsetNanos()).isEqualTo(MAX);
    assertThatThrownBy(() -> Quota.per(1, Duration.ofNanos(MAX).plusNanos(1)))
        .hasMessageContaining("period: found");
    assertThatThrownBy(() -> Quota.per(1, Duration.ofSeconds(MAX)))
        .hasMessageContaining("period: found");
    assertThatThrownBy(() -> Quota.per(1, Duration.ofSeconds(-MAX)))
        .hasMessageContaining("period: found");
  }

  @Test
  void equals_sameNumbers_areEqual() {
    Quota quota = Quota.burst(5).refill(2, Duration.ofSeconds(1));
    assertThat(quota)
        .isEqualTo(Quota.burst(5).refill(2, Duration.parse("PT1.000S")))
        .hasSameHashCodeAs(Quota.burst(5).refill(2, Duration.parse("PT1.000S")))
        .isNotEqualTo(Quota.burst(5).refill(4, Duration.ofSeconds(2)))
        .hasToString("burst 5, 2 per PT1S");
  }

  @Test
  void isLowerThan_comparesRatesFirst_thenBursts() {
    Quota quota = Quota.per(10, Duration.ofMinutes(1));
    assertThat(Quota.burst(10).refill(600, Duration.ofHours(1)).isLowerThan(quota)).isFalse();
    assertThat(Quota.burst(9).refill(600, Duration.ofHours(1)).isLowerThan(quota)).isTrue();
    assertThat(Quota.burst(900).refill(599, Duration.ofHours(1)).isLowerThan(quota)).isTrue();
    assertThat(Quota.burst(1).refill(601, Duration.ofHours(1)).isLowerThan(quota)).isFalse();
    Quota slowest = Quota.per(1, Duration.ofNanos(Long.MAX_VALUE));
    Quota next = Quota.per(1, Duration.ofNanos(Long.MAX_VALUE - 1));
    assertThat(slowest.isLowerThan(next)).isTrue();
    assertThat(next.isLowerThan(slowest)).isFalse();
  }
}
