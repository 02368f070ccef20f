// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Estimate;
import dev.sluice.Reservation.Estimate.EstimatedCost;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Estimates of costs, and what they learn from settlements. */
final class EstimateTest {

  private static final LimitName KEY = LimitName.builder(1, "Tokens").id(IdFormat.string()).build();
  private static final LimitName TEAM = LimitName.builder(2, "Team").id(IdFormat.string()).build();
  private static final Quota QUOTA = Quota.per(1_000, Duration.ofSeconds(1));

  private final Limiter limiter =
      Limiter.of(
          Limits.builder(Catalogue.of(KEY, TEAM))
              .limit("Tokens", QUOTA)
              .limit("Team", QUOTA)
              .build(),
          BucketStore.inMemory(() -> 1_000));
  private final Estimate estimate = Estimate.mean(16, 8_192);

  private void learn(String group, long hint, long cost, int times) {
    for (int i = 0; i < times; i++) {
      estimate.of(group, hint).learn(cost);
    }
  }

  @Test
  void estimate_withoutSettlements_isTheUpperBound() {
    learn("small", 10, 20, 19);
    assertThat(estimate.of("small", 10).tokens()).isEqualTo(8_192);
    assertThat(estimate.of("other").tokens()).isEqualTo(8_192);
  }

  @Test
  void estimate_ofAGroup_isItsMeanInProportionToTheHint() {
    learn("small", 10, 30, 10);
    learn("small", 30, 130, 10); // 1,600 tokens for hints of 400
    assertThat(estimate.of("small", 100).tokens()).isEqualTo(400);
    assertThat(estimate.of("small", 1).tokens()).as("bounded below").isEqualTo(16);
    assertThat(estimate.of("small", 0).tokens()).isEqualTo(16);
    assertThat(estimate.of("small", Long.MAX_VALUE).tokens()).isEqualTo(8_192);
  }

  @Test
  void estimate_ofANewGroup_isTheMeanOfAll() {
    learn("small", 10, 20, 20);
    learn("large", 10, 80, 10);
    assertThat(estimate.of("large", 100).tokens()).isEqualTo(400);
    learn("large", 10, 80, 10);
    assertThat(estimate.of("large", 100).tokens()).isEqualTo(800);
    assertThat(estimate.of("unknown", 100).tokens()).isEqualTo(500);
  }

  @Test
  void estimate_followsChangedCosts() {
    learn("model", 1, 1_000, 5_000);
    learn("model", 1, 100, 5_000);
    assertThat(estimate.of("model", 1).tokens()).isBetween(100L, 110L);
  }

  @Test
  void groupUsedLeastRecently_isForgotten() {
    learn("kept", 1, 100, 20);
    learn("forgotten", 1, 100, 20);
    for (int i = 0; i < 999; i++) {
      learn("group " + i, 1, 300, 20);
      assertThat(estimate.of("kept").tokens()).isEqualTo(100);
    }
    assertThat(estimate.of("kept").tokens()).isEqualTo(100);
    assertThat(estimate.of("forgotten").tokens()).as("that of all").isGreaterThan(200);
  }

  @Test
  void boundsAndHints_outOfTheirRange_areRefused() {
    assertThatIllegalArgumentException().isThrownBy(() -> Estimate.mean(0, 5));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Estimate.mean(6, 5))
        .withMessage(
            "found estimates from 6 to 5, expected a lowest estimate of 1 or more, and a highest estimate that is not lower");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> estimate.of("a", -1))
        .withMessage("hint: found -1, expected 0 or more");
  }

  @Test
  void estimateAboveTheBurst_countsAsTheBurst() {
    Transaction call = limiter.transaction("Tokens", "a").withCost(estimate.of("model"));
    assertThat(call.cost()).isEqualTo(1_000);
    assertThat(limiter.reserve(call).allowed()).isTrue();
  }

  @Test
  void settlement_teachesOnce_whateverTheKindAndTheNumberOfTransactions() {
    for (int i = 0; i < 20; i++) {
      EstimatedCost cost = estimate.of("model", 2);
      Reservation call =
          limiter.reserve(
              List.of(
                  limiter.transaction("Tokens", "a" + i).withCost(cost),
                  limiter.transaction("Team", "a" + i).withCost(cost).spendOnly()));
      call.settle(Map.of("Tokens", 50L, "Team", 70L));
      call.settle(Map.of("Tokens", 90L));
    }
    assertThat(estimate.of("model", 2).tokens()).isEqualTo(50);
  }

  @Test
  void costThatIsLeftOut_cancelled_orRefused_teachesNothing() {
    for (int i = 0; i < 20; i++) {
      EstimatedCost cost = estimate.of("model");
      Reservation call = limiter.reserve(limiter.transaction("Tokens", "a" + i).withCost(cost));
      assertThatIllegalArgumentException().isThrownBy(() -> call.settle(Map.of("Tokens", 0L)));
      if (i % 2 == 0) {
        call.cancel();
      } else {
        call.settle(Map.of());
      }
    }
    assertThat(estimate.of("model").tokens()).isEqualTo(8_192);
    Reservation free = limiter.reserve(limiter.transaction("Tokens", "b").withCost(5));
    assertThat(free.settle(Costs.of("Tokens", 0).allowZero()).settled()).isTrue();
  }

  @Test
  void costBeyondAllBounds_teachesTenTimesTheHighestEstimate() {
    learn("model", 1, 100, 20);
    learn("model", 1, Long.MAX_VALUE, 1);
    assertThat(estimate.of("model").tokens()).isEqualTo(Math.round((20 * 100 + 81_920) / 21.0));
  }

  @Test
  void manyThreads_loseNoSettlement() {
    CompletableFuture<?>[] threads =
        IntStream.range(0, 4)
            .mapToObj(thread -> CompletableFuture.runAsync(() -> learn("g" + thread, 1, 100, 250)))
            .toArray(CompletableFuture<?>[]::new);
    CompletableFuture.allOf(threads).join();
    assertThat(IntStream.range(0, 4).mapToLong(i -> estimate.of("g" + i, 3).tokens()))
        .containsOnly(300L);
  }
}
