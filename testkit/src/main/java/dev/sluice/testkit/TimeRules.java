// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.DecisionAssert.assertThat;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Limits;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests of clocks that step back, limits that change while buckets exist, and extreme times. */
interface TimeRules extends DrivenStores {

  Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE);

  @Test
  default void decision_anyAct_isDatedByTheStoresClock() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      bench.time.set(1_234_567_890_123_456_789L);
      Instant now = Instant.ofEpochSecond(1_234_567_890, 123_456_789);
      assertThat(bench.spend(2).decidedAt()).isEqualTo(now);
      assertThat(bench.state().tat()).isEqualTo(now.plusMillis(200));
    }
  }

  /**
   * The first spend after the clock has stepped back forgives the debt, so the wait is the same as
   * with an empty bucket. A check forgives nothing, so a check before that spend reports the debt.
   */
  @Test
  default void clock_oneHourBack_locksNobodyOutForAnHour() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(10)).isAllowed();
      bench.time.advance(ofHours(-1));
      assertThat(bench.check(1)).isDenied().hasRemaining(0).retriesIn(ofHours(1).plusMillis(100));
      Decision denied = bench.spend(1);
      assertThat(denied).isDenied().hasRemaining(0).resetsIn(ofSeconds(1));
      bench.time.advanceNanos(denied.retryInNanos() - 1);
      assertThat(bench.spend(1)).isDenied().retriesIn(ofNanos(1));
      bench.time.advanceNanos(1);
      assertThat(bench.spend(1)).isAllowed();
    }
  }

  @Test
  default void clock_stepsBackAgainAndAgain_mintsNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      int granted = 0;
      for (int i = 0; i < 100; i++) {
        bench.time.advance(ofMillis(i % 2 == 0 ? -50 : 40));
        granted += bench.spend(1).allowed() ? 1 : 0;
      }
      assertThat(granted).isEqualTo(10);
    }
  }

  /** A clock that steps back by less than the bucket's refill time τ creates and loses no token. */
  @Test
  default void clock_stepsBackALittle_keepsTheTat() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(3)).isAllowed();
      bench.time.advance(ofMillis(-200));
      assertThat(bench.state()).hasRemaining(5).resetsIn(ofMillis(500));
      bench.time.advance(ofMillis(200));
      assertThat(bench.state()).hasRemaining(7).resetsIn(ofMillis(300));
    }
  }

  @Test
  default void limit_shrunkUnderAnEmptyBucket_waitsAsTheNewLimitSays() {
    try (Bench bench = Bench.of(this, Quota.per(100, ofSeconds(100)))) {
      assertThat(bench.spend(100)).isAllowed();
      bench.changeLimits(Quota.per(10, ofSeconds(10)));
      assertThat(bench.check(1)).isDenied().hasRemaining(0).retriesIn(ofSeconds(91));
      assertThat(bench.spend(1)).isDenied().hasRemaining(0).retriesIn(ofSeconds(1));
      bench.time.advance(ofMillis(500));
      assertThat(bench.spend(1)).isDenied().retriesIn(ofMillis(500));
      bench.time.advanceNanos(ofMillis(500).toNanos() - 1);
      assertThat(bench.spend(1)).isDenied().retriesIn(ofNanos(1));
      bench.time.advanceNanos(1);
      assertThat(bench.spend(1)).isAllowed().hasRemaining(0);
    }
  }

  /**
   * If two limits charge one bucket in turn, the limiter grants no extra tokens, since it forgives
   * a debt only once within the refill time τ.
   */
  @Test
  default void limitsInTurns_giveOutWhatTheLargerAllows_andOneForgivenDebt() {
    try (Bench bench = Bench.of(this, Quota.per(30, ofSeconds(30)))) {
      int granted = 0;
      for (int turn = 0; turn < 20; turn++) {
        for (int i = 0; i < 40; i++) {
          granted += bench.spend(1).allowed() ? 1 : 0;
        }
        long count = turn % 2 == 0 ? 60 : 30;
        bench.changeLimits(Quota.burst(30).refill(count, ofSeconds(30)));
      }
      assertThat(granted).isEqualTo(30 + 15);
    }
  }

  @Test
  default void debt_isLeftAloneByBatchesAndChecks_whichTellItAsItIs() {
    try (Bench bench = Bench.of(this, Quota.per(100, ofSeconds(100)))) {
      assertThat(bench.spend(100)).isAllowed();
      bench.changeLimits(Quota.per(10, ofSeconds(10)));
      List<Transaction> batch = List.of(bench.on(Bench.A, 1), bench.on(Bench.B, 1));
      assertThat(bench.limiter.spend(batch)).isDenied().retriesIn(ofSeconds(91));
      assertThat(bench.check(0)).isAllowed().hasRemaining(0).resetsIn(ofSeconds(100));
      assertThat(bench.check(1)).isDenied().retriesIn(ofSeconds(91));
      bench.time.advanceNanos(ofSeconds(91).toNanos() - 1);
      assertThat(bench.limiter.spend(batch)).isDenied().retriesIn(ofNanos(1));
      bench.time.advanceNanos(1);
      assertThat(bench.limiter.spend(batch)).isAllowed();
    }
  }

  @Test
  default void limit_shrunkUnderABucketInUse_countsFromTheTat() {
    try (Bench bench = Bench.of(this, Quota.per(100, ofSeconds(100)))) {
      assertThat(bench.spend(4)).isAllowed();
      bench.changeLimits(Quota.per(10, ofSeconds(10)));
      assertThat(bench.state()).hasRemaining(6).resetsIn(ofSeconds(4));
    }
  }

  @Test
  default void limit_shrunk_refundsLowerTheDebt_andTheBucketOnceItIsForgiven() {
    try (Bench bench = Bench.of(this, Quota.per(100, ofSeconds(100)))) {
      assertThat(bench.spend(100)).isAllowed();
      bench.changeLimits(Quota.per(10, ofSeconds(10)));
      assertThat(bench.refund(3)).isAllowed().hasRemaining(0).resetsIn(ofSeconds(97));
      assertThat(bench.spend(1)).isDenied().retriesIn(ofSeconds(1));
      assertThat(bench.refund(3)).isAllowed().hasRemaining(3);
      assertThat(bench.spend(3)).isAllowed();
      assertThat(bench.spend(1)).isDenied().retriesIn(ofSeconds(1));
    }
  }

  @Test
  default void limit_grownUnderALiveBucket_givesTheNewBurstAndNoMore() {
    try (Bench bench = Bench.of(this, Quota.per(10, ofSeconds(10)))) {
      assertThat(bench.spend(10)).isAllowed();
      bench.changeLimits(Quota.per(100, ofSeconds(100)));
      assertThat(bench.state()).hasRemaining(90).resetsIn(ofSeconds(10));
      assertThat(bench.spend(90)).isAllowed().hasRemaining(0);
      assertThat(bench.spend(1)).isDenied().retriesIn(ofSeconds(1));
      bench.time.advance(ofDays(14));
      assertThat(bench.state()).hasRemaining(100);
    }
  }

  @Test
  default void limit_disabledAndEnabledAgain_findsItsBucket() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(10)).isAllowed();
      bench.limits.replace(Limits.builder(Bench.CATALOGUE).build());
      assertThat(bench.spend(1_000)).isAllowed().hasRemaining(Long.MAX_VALUE);
      bench.changeLimits(Quota.per(10, ofSeconds(1)));
      assertThat(bench.spend(1)).isDenied();
    }
  }

  @Test
  default void tolerance_ofTenYears_isExact() {
    for (String now : new String[] {"2023-11-14T22:13:20Z", "2095-06-01T00:00:00Z"}) {
      try (Bench bench = Bench.of(this, Quota.burst(10).refill(1, ofDays(365)))) {
        bench.time.set(nanos(Instant.parse(now)));
        assertThat(bench.spend(10)).isAllowed().hasRemaining(0).resetsIn(ofDays(3650));
        bench.time.advance(ofDays(365).minusNanos(1));
        assertThat(bench.spend(1)).isDenied().retriesIn(ofNanos(1));
        bench.time.advanceNanos(1);
        assertThat(bench.spend(1)).isAllowed().hasRemaining(0);
      }
    }
  }

  /** A store must handle a TAT above 2^63 ns, which is a time after April 2262. */
  @Test
  default void tat_pastTheSignedRange_isExact() {
    try (Bench bench = Bench.of(this, Quota.burst(10).refill(1, ofDays(365)))) {
      bench.time.set(nanos(Instant.parse("2261-12-31T00:00:00Z")));
      assertThat(bench.spend(7)).isAllowed().hasRemaining(3).resetsIn(ofDays(7 * 365));
      assertThat(bench.spend(4)).isDenied().retriesIn(ofDays(365));
      assertThat(bench.refund(2)).isAllowed().hasRemaining(5);
      assertThat(bench.spend(5)).isAllowed().hasRemaining(0);
      bench.time.set(Long.MAX_VALUE);
      Duration elapsed = Duration.between(Instant.parse("2261-12-31T00:00:00Z"), end());
      assertThat(bench.state()).hasRemaining(0).resetsIn(ofDays(3650).minus(elapsed));
    }
  }

  @Test
  default void tolerance_ofTheWholeRange_isExact() {
    for (long now : new long[] {0, 1, ManualTime.START_NANOS, Long.MAX_VALUE}) {
      try (Bench bench = Bench.of(this, Quota.per(1, LONGEST))) {
        bench.time.set(now);
        assertThat(bench.spend(1)).as("at " + now).isAllowed().hasRemaining(0).resetsIn(LONGEST);
        assertThat(bench.spend(1)).isDenied().retriesIn(LONGEST).resetsIn(LONGEST);
        bench.time.set(Long.MAX_VALUE);
        assertThat(bench.state()).resetsIn(ofNanos(now));
        assertThat(bench.check(1).allowed()).isEqualTo(now == 0);
      }
    }
  }

  @Test
  default void rate_ofOneTokenANanosecond_isExact() {
    try (Bench bench = Bench.of(this, Quota.per(1_000_000_000, ofSeconds(1)))) {
      assertThat(bench.spend(1_000_000_000)).isAllowed().hasRemaining(0).retriesIn(ofSeconds(1));
      bench.time.advanceNanos(17);
      assertThat(bench.spend(18)).isDenied().hasRemaining(17).retriesIn(ofNanos(1));
      assertThat(bench.spend(17)).isAllowed().hasRemaining(0);
    }
  }

  private static long nanos(Instant instant) {
    return Math.addExact(
        Math.multiplyExact(instant.getEpochSecond(), 1_000_000_000L), instant.getNano());
  }

  private static Instant end() {
    return Instant.EPOCH.plus(LONGEST);
  }
}
