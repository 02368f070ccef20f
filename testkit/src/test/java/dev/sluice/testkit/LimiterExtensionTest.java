// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.DecisionAssert.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.AsyncLimiter;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(LimiterExtension.class)
class LimiterExtensionTest {

  private static final LimitName CALLS = LimitName.builder(1, "Calls").build();
  private static final Transaction CALL =
      Transaction.of(CALLS, Quota.per(1, Duration.ofSeconds(1)), "someone");

  private Limiter before;

  @BeforeEach
  void spend(Limiter limiter) {
    before = limiter;
    assertThat(limiter.spend(CALL)).as("no other test has spent").isAllowed();
  }

  @Test
  void parameters_ofOneTest_belongTogether(
      Limiter limiter,
      AsyncLimiter async,
      ManualTime time,
      BucketStore store,
      CurrentLimits limits) {
    assertThat(limiter).isSameAs(before);
    assertThat(limiter.limits()).isSameAs(limits);
    assertThat(store.nowNanos()).hasValue(time.nanos());
    assertThat(async.spend(CALL).toCompletableFuture().join()).isDenied();
    time.advance(Duration.ofSeconds(1));
    assertThat(limiter.spend(CALL)).isAllowed();
  }

  @Test
  void buckets_ofAnotherTest_areItsOwn(Limiter limiter) {
    assertThat(limiter.spend(CALL)).isDenied();
  }
}
