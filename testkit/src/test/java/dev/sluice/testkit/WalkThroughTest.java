// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.DecisionAssert.assertThat;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import org.junit.jupiter.api.Test;

/** The walk-through of Boulder's README: burst 20, 20 a second. */
class WalkThroughTest {

  private static final String LIMIT = "NewRegistrationsPerIPAddress";
  private static final String IP = "192.0.2.7";

  private final ManualTime time = new ManualTime();
  private final Limiter limiter =
      Limiter.of(
          Limits.builder(Vectors.names()).limit(LIMIT, Quota.per(20, ofSeconds(1))).build(),
          BucketStore.inMemory(time));

  private void spendTwentyAtOnce() {
    for (int left = 19; left >= 0; left--) {
      assertThat(limiter.spend(LIMIT, IP)).isAllowed().hasRemaining(left);
    }
  }

  @Test
  void twentyAtOnce_pass_andTheNextWithin50MsIsDenied() {
    spendTwentyAtOnce();
    assertThat(limiter.spend(LIMIT, IP)).isDenied().hasRemaining(0).retriesIn(ofMillis(50));
    time.advance(ofMillis(50).minusNanos(1));
    assertThat(limiter.spend(LIMIT, IP)).isDenied().retriesIn(ofNanos(1));
  }

  @Test
  void afterTheBurst_onePassesEvery50Ms() {
    spendTwentyAtOnce();
    for (int i = 0; i < 100; i++) {
      time.advance(ofMillis(50));
      assertThat(limiter.spend(LIMIT, IP)).isAllowed().hasRemaining(0);
      assertThat(limiter.spend(LIMIT, IP)).isDenied().retriesIn(ofMillis(50));
    }
  }

  @Test
  void aSecondOfSilence_fillsTheBucket() {
    spendTwentyAtOnce();
    time.advance(ofSeconds(1));
    spendTwentyAtOnce();
    assertThat(limiter.spend(LIMIT, IP)).isDenied();
  }

  @Test
  void twoWeeksOfSilence_giveAFullBucketAndNoMore() {
    spendTwentyAtOnce();
    time.advance(ofDays(14));
    spendTwentyAtOnce();
    assertThat(limiter.spend(LIMIT, IP)).isDenied();
  }
}
