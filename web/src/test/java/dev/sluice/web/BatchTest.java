// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.LimiterObserver;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Batches of transactions on buckets of 5,000 tokens. */
class BatchTest {

  private static final int MORE_THAN_ONE_BUCKET_KEEPS_OPEN = 4_100;
  private static final LimitName CALLS = LimitName.builder(2001, "Calls").jitter(0).build();
  private static final Quota QUOTA = Quota.per(5_000, Duration.ofHours(1));

  private final AtomicInteger settledEarly = new AtomicInteger();
  private final Limiter limiter =
      Limiter.builder(
              new CurrentLimits(Limiters.limits()), BucketStore.inMemory(() -> Bucket.START_NANOS))
          .observer(
              new LimiterObserver() {
                @Override
                public void settledEarly(int most) {
                  settledEarly.addAndGet(most);
                }
              })
          .build();

  private static Transaction on(String id) {
    return Transaction.of(CALLS, QUOTA, id);
  }

  private static void settle(Batch<String> batch, boolean async) {
    if (async) {
      batch.settleAsync("done", Assertions::fail).toCompletableFuture().join();
    } else {
      batch.settle("done", Assertions::fail);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void functionThatFails_leavesTheTokensSpent_andNoReservationOpen(boolean async) {
    for (int i = 0; i < MORE_THAN_ONE_BUCKET_KEEPS_OPEN; i++) {
      Batch<String> batch = new Batch<>();
      batch.addEstimate(
          on("a"),
          null,
          outcome -> {
            throw new IllegalStateException("no cost");
          });
      assertThat(batch.spend(limiter).allowed()).isTrue();
      assertThatThrownBy(() -> settle(batch, async)).isInstanceOf(IllegalStateException.class);
    }
    assertThat(settledEarly).hasValue(0);
    assertThat(left("a")).isEqualTo(5_000 - MORE_THAN_ONE_BUCKET_KEEPS_OPEN);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void trueCost_isCharged_thoughABucketWasOnlyChecked(boolean async) {
    Batch<String> batch = new Batch<>();
    batch.add(on("checked").checkOnly(), outcome -> false);
    batch.addEstimate(on("charged").withCost(10), null, outcome -> 4L);
    assertThat(batch.spend(limiter).allowed()).isTrue();

    settle(batch, async);

    assertThat(left("charged")).isEqualTo(4_996);
    assertThat(left("checked")).isEqualTo(5_000);
  }

  private long left(String id) {
    return limiter.check(List.of(on(id).withCost(0))).remaining();
  }
}
