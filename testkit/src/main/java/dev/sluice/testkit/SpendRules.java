// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.Bench.ID;
import static dev.sluice.testkit.Bench.OFF;
import static dev.sluice.testkit.DecisionAssert.assertThat;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.Field;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Tests of spends and checks on one bucket. */
interface SpendRules extends DrivenStores {

  @Test
  default void spend_fullBucket_leavesTheRest() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(3)).isAllowed().hasRemaining(7).retriesIn(ZERO);
      assertThat(bench.state()).isAllowed().hasRemaining(7).resetsIn(ofMillis(300));
    }
  }

  @Test
  default void spend_emptyBucket_isDeniedAndChangesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(10)).isAllowed().hasRemaining(0).resetsIn(ofSeconds(1));
      for (int attempt = 0; attempt < 3; attempt++) {
        assertThat(bench.spend(1))
            .isDenied()
            .hasRemaining(0)
            .retriesIn(ofMillis(100))
            .resetsIn(ofSeconds(1));
      }
      bench.time.advance(ofMillis(100));
      assertThat(bench.spend(1)).isAllowed().hasRemaining(0);
    }
  }

  @Test
  default void spend_costOfBurst_isAllowedOnAFullBucketOnly() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(10)).isAllowed().hasRemaining(0).retriesIn(ofSeconds(1));
      bench.time.advanceNanos(ofSeconds(1).toNanos() - 1);
      assertThat(bench.spend(10)).isDenied().hasRemaining(9).retriesIn(ofNanos(1));
      bench.time.advanceNanos(1);
      assertThat(bench.spend(10)).isAllowed().hasRemaining(0);
    }
  }

  @Test
  default void spend_costZero_readsTheBucketInAnyState() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(0)).isAllowed().hasRemaining(10).retriesIn(ZERO).resetsIn(ZERO);
      assertThat(bench.spend(4)).isAllowed();
      assertThat(bench.spend(0)).isAllowed().hasRemaining(6).resetsIn(ofMillis(400));
      assertThat(bench.spend(6)).isAllowed();
      assertThat(bench.spend(0)).isAllowed().hasRemaining(0).retriesIn(ZERO).resetsIn(ofSeconds(1));
    }
  }

  @Test
  default void spend_aPartOfATokenEarned_countsForTheWaitAndNotForTheRest() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(10)).isAllowed();
      bench.time.advance(ofMillis(250));
      assertThat(bench.spend(3)).isDenied().hasRemaining(2).retriesIn(ofMillis(50));
      assertThat(bench.spend(2)).isAllowed().hasRemaining(0).retriesIn(ofMillis(150));
    }
  }

  @Test
  default void spend_allowed_saysWhenTheSameCostFitsAgain() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Decision first = bench.spend(6);
      assertThat(first).isAllowed().hasRemaining(4).retriesIn(ofMillis(200));
      bench.time.advanceNanos(first.retryInNanos() - 1);
      assertThat(bench.check(6)).isDenied();
      bench.time.advanceNanos(1);
      assertThat(bench.spend(6)).isAllowed().hasRemaining(0);
    }
  }

  @Test
  default void spendUpTo_takesWhatIsThere_andIsDeniedWhereNothingIs() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Decision some = bench.limiter.spendUpTo(Bench.A, ID, 4);
      assertThat(some).isAllowed().hasRemaining(6).retriesIn(ZERO).resetsIn(ofMillis(400));
      assertThat(some.taken()).isEqualTo(4);
      Decision rest = bench.limiter.spendUpTo(Bench.A, ID, Long.MAX_VALUE);
      assertThat(rest).isAllowed().hasRemaining(0).retriesIn(ofMillis(600)).resetsIn(ofSeconds(1));
      assertThat(rest.taken()).isEqualTo(6);
      bench.time.advance(ofMillis(70));
      Decision none = bench.limiter.spendUpTo(Bench.A, ID, 4);
      assertThat(none).isDenied().hasRemaining(0).retriesIn(ofMillis(30)).resetsIn(ofMillis(930));
      assertThat(none.taken()).isZero();
      bench.time.advance(ofMillis(250));
      assertThat(bench.limiter.async().spendUpTo(bench.on(Bench.A, 1), 9))
          .succeedsWithin(ofSeconds(10))
          .extracting(Decision::taken)
          .isEqualTo(3L);
      assertThat(bench.state()).hasRemaining(0).resetsIn(ofMillis(980));
    }
  }

  @Test
  default void spendUpTo_ofNothingLimited_takesAll_andOfLessThanOne_isRefused() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.spendUpTo(OFF, ID, 1_000_000).taken()).isEqualTo(1_000_000);
      for (long most : new long[] {0, -1, Long.MIN_VALUE}) {
        assertThatThrownBy(() -> bench.limiter.spendUpTo(Bench.A, ID, most))
            .isInstanceOf(InvalidRequestException.class)
            .hasMessage("invalid cost, must be >= 1: found " + most + " for A");
      }
      assertThat(bench.state()).hasRemaining(10);
    }
  }

  @Test
  default void check_anyCost_answersAsASpendAndChangesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(4)).isAllowed();
      for (long cost = 0; cost <= 10; cost++) {
        String checked = bench.check(cost).toString();
        assertThat(bench.check(cost)).hasToString(checked);
        assertThat(bench.state()).hasRemaining(6).resetsIn(ofMillis(400));
      }
      String checked = bench.check(5).toString();
      assertThat(bench.spend(5)).hasToString(checked);
    }
  }

  @Test
  default void check_freshBucket_makesNone() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.check(10)).isAllowed().hasRemaining(0);
      assertThat(bench.refund(1)).isDenied().hasRemaining(10);
    }
  }

  @Test
  default void spend_costOutOfRange_isRefusedAndChangesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertCostRefused(bench, -1, "invalid cost, must be >= 0");
      assertCostRefused(bench, Long.MIN_VALUE, "invalid cost, must be >= 0");
      assertCostRefused(bench, 11, "exceeds the burst");
      assertCostRefused(bench, Long.MAX_VALUE, "exceeds the burst");
      assertThat(bench.state()).hasRemaining(10);
    }
  }

  private static void assertCostRefused(Bench bench, long cost, String message) {
    List<Supplier<Decision>> verbs =
        List.of(() -> bench.check(cost), () -> bench.spend(cost), () -> bench.refund(cost));
    for (Supplier<Decision> verb : verbs) {
      assertThatThrownBy(verb::get)
          .isInstanceOf(InvalidRequestException.class)
          .hasMessageContainingAll(message, Long.toString(cost))
          .extracting(thrown -> ((InvalidRequestException) thrown).field())
          .isEqualTo(Field.COST);
    }
  }

  @Test
  default void spend_disabledLimit_isAlwaysAllowedAndStoresNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      for (int i = 0; i < 100; i++) {
        assertThat(bench.limiter.spend(OFF, ID, 1_000_000))
            .isAllowed()
            .hasRemaining(Long.MAX_VALUE)
            .retriesIn(ZERO)
            .resetsIn(ZERO);
      }
    }
  }

  /**
   * A store must raise a TAT in the past to the current time; otherwise a spend would grant one
   * token too many.
   */
  @Test
  default void idle_anyTime_earnsWhatElapsedAndNeverOverTheBurst() {
    for (int halfIntervals = 0; halfIntervals <= 60; halfIntervals++) {
      try (Bench bench = Bench.tenPerSecond(this)) {
        assertThat(bench.spend(10)).isAllowed();
        bench.time.advance(ofMillis(50L * halfIntervals));
        long earned = Math.min(halfIntervals / 2, 10);
        assertThat(bench.state()).hasRemaining(earned);
        for (long token = earned; token > 0; token--) {
          assertThat(bench.spend(1)).isAllowed().hasRemaining(token - 1);
        }
        assertThat(bench.spend(1)).isDenied();
      }
    }
  }

  @Test
  default void denial_anyCost_passesAfterExactlyItsWait() {
    for (long cost = 1; cost <= 10; cost++) {
      try (Bench bench = Bench.of(this, Quota.burst(10).refill(7, ofSeconds(1)))) {
        assertThat(bench.spend(10)).isAllowed();
        Decision denied = bench.spend(cost);
        assertThat(denied).isDenied();
        bench.time.advanceNanos(denied.retryInNanos() - 1);
        assertThat(bench.spend(cost)).isDenied().retriesIn(ofNanos(1));
        bench.time.advanceNanos(1);
        assertThat(bench.spend(cost)).isAllowed();
      }
    }
  }

  /** Floating-point arithmetic would lose tokens at some of the tested rates. */
  @Test
  default void spend_oddRates_leaveExactlyTheRest() {
    for (int burst : new int[] {3, 7, 10, 17}) {
      try (Bench bench = Bench.of(this, Quota.per(burst, ofSeconds(1)))) {
        for (int spent = 1; spent <= burst; spent++) {
          assertThat(bench.spend(1)).isAllowed().hasRemaining(burst - spent);
        }
        assertThat(bench.spend(1)).isDenied();
      }
    }
  }

  /** A store that rounds a time to live down to milliseconds deletes a bucket too early. */
  @Test
  default void idle_untilShortlyBeforeTheBucketIsFull_isStillRemembered() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(10)).isAllowed();
      bench.time.advanceNanos(ofSeconds(1).toNanos() - 400_000);
      assertThat(bench.spend(10)).isDenied().hasRemaining(9).retriesIn(ofNanos(400_000));
    }
  }

  @Test
  default void spend_afterTwoWeeksOfSilence_hasABurstAndNoMore() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(10)).isAllowed();
      bench.time.advanceNanos(TimeUnit.DAYS.toNanos(14));
      for (int token = 9; token >= 0; token--) {
        assertThat(bench.spend(1)).isAllowed().hasRemaining(token);
      }
      assertThat(bench.spend(1)).isDenied();
    }
  }

  @Test
  default void spend_otherIdAndOtherLimit_haveBucketsOfTheirOwn() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(10)).isAllowed();
      assertThat(bench.limiter.spend(Bench.A, "another", 10)).isAllowed();
      assertThat(bench.limiter.spend(Bench.B, ID, 10)).isAllowed();
      assertThat(bench.spend(1)).isDenied();
    }
  }
}
