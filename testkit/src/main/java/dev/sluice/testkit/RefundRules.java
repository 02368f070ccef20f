// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.Bench.A;
import static dev.sluice.testkit.Bench.B;
import static dev.sluice.testkit.Bench.ID;
import static dev.sluice.testkit.Bench.OFF;
import static dev.sluice.testkit.DecisionAssert.assertThat;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests of refunds and resets. */
interface RefundRules extends DrivenStores {

  @Test
  default void refund_spentTokens_givesThemBack() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(8)).isAllowed();
      assertThat(bench.refund(3))
          .isAllowed()
          .hasRemaining(5)
          .retriesIn(ZERO)
          .resetsIn(ofMillis(500));
      assertThat(bench.spend(5)).isAllowed().hasRemaining(0);
    }
  }

  @Test
  default void refund_moreThanIsMissing_fillsTheBucketAndNoMore() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(2)).isAllowed();
      bench.time.advance(ofMillis(50));
      assertThat(bench.refund(10)).isAllowed().hasRemaining(10).resetsIn(ZERO);
      assertThat(bench.refund(10)).isDenied().hasRemaining(10);
      assertThat(bench.spend(10)).isAllowed().hasRemaining(0);
      assertThat(bench.spend(1)).isDenied();
    }
  }

  @Test
  default void refund_noBucket_givesNothingAndMakesNone() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.refund(5)).isDenied().hasRemaining(10).retriesIn(ZERO).resetsIn(ZERO);
      assertThat(bench.spend(10)).isAllowed().hasRemaining(0);
    }
  }

  @Test
  default void refund_bucketThatFilledByItself_givesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(5)).isAllowed();
      bench.time.advance(ofMillis(501));
      assertThat(bench.refund(5)).isDenied().hasRemaining(10).resetsIn(ZERO);
      assertThat(bench.spend(10)).isAllowed().hasRemaining(0);
    }
  }

  /** If the current time is the TAT, the bucket is full, so a refund adds no tokens. */
  @Test
  default void refund_atTheInstantWhenTheBucketIsFull_givesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(5)).isAllowed();
      bench.time.advanceNanos(ofMillis(500).toNanos() - 1);
      assertThat(bench.state()).hasRemaining(9).resetsIn(ofNanos(1));
      bench.time.advanceNanos(1);
      assertThat(bench.refund(5)).isDenied().hasRemaining(10);
    }
  }

  @Test
  default void refund_costZero_changesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(5)).isAllowed();
      assertThat(bench.refund(0)).isDenied().hasRemaining(5).resetsIn(ofMillis(500));
    }
  }

  @Test
  default void refund_disabledLimit_givesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.refund(OFF, ID)).isDenied().hasRemaining(Long.MAX_VALUE);
    }
  }

  @Test
  default void refundBatch_onlyDisabledLimits_isAllowed() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.refund(List.of(bench.limiter.transaction(OFF, ID))))
          .isAllowed()
          .hasRemaining(Long.MAX_VALUE);
    }
  }

  @Test
  default void refundBatch_checkOnly_isNeverRefunded() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.spend(List.of(bench.on(A, 4), bench.on(B, 4)))).isAllowed();
      assertThat(
              bench.limiter.refund(List.of(bench.on(A, 3).checkOnly(), bench.on(B, 3).spendOnly())))
          .isAllowed()
          .hasRemaining(9);
      assertThat(bench.state(A)).hasRemaining(6);
      assertThat(bench.state(B)).hasRemaining(9);
    }
  }

  @Test
  default void refundBatch_oneBucketFull_stillGivesToTheOthers() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.spend(B, ID, 4)).isAllowed();
      assertThat(bench.limiter.refund(List.of(bench.on(A, 3), bench.on(B, 3)))).isDenied();
      assertThat(bench.state(A)).hasRemaining(10);
      assertThat(bench.state(B)).hasRemaining(9);
    }
  }

  @Test
  default void reset_emptyBucket_isFull() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(10)).isAllowed();
      bench.limiter.reset(A, ID);
      assertThat(bench.spend(10)).isAllowed().hasRemaining(0);
    }
  }

  @Test
  default void reset_noBucket_isNoError() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      bench.limiter.reset(A, ID);
      bench.limiter.reset(OFF, ID);
      assertThat(bench.state()).hasRemaining(10);
    }
  }

  @Test
  default void resetBatch_anyKind_forgetsEachBucketAndNoOther() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      for (String limit : List.of(A, B, Bench.C)) {
        assertThat(bench.limiter.spend(limit, ID, 10)).isAllowed();
      }
      bench.limiter.reset(List.of(bench.on(A, 1).resetOnly(), bench.on(B, 1).checkOnly()));
      assertThat(bench.state(A)).hasRemaining(10);
      assertThat(bench.state(B)).hasRemaining(10);
      assertThat(bench.state(Bench.C)).hasRemaining(0);
    }
  }
}
