// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Eventually.await;
import static dev.sluice.redis.Spending.LIMIT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Denials that are answered without a call, and when they no longer may be. */
final class DenialMemoryTest {

  private final AtomicInteger calls = new AtomicInteger();
  private final AtomicInteger fromMemory = new AtomicInteger();

  private RedisStoreBuilder builder(Duration atMost) {
    return builder(atMost, TestServers.single());
  }

  private RedisStoreBuilder builder(Duration atMost, String server) {
    return TestServers.fresh(server)
        .denials(atMost)
        .observer(
            new BucketStore.Observer() {
              @Override
              public void called(
                  String server, Result result, int batches, int charges, long nanos) {
                calls.incrementAndGet();
              }

              @Override
              public void deniedFromMemory() {
                fromMemory.incrementAndGet();
              }
            });
  }

  /** A call is reported to the observer behind its answer. */
  private void assertCalls(int expected) {
    await().untilAsserted(() -> assertThat(calls).hasValue(expected));
  }

  @Test
  void denial_again_isAnsweredWithoutACallAndWithAShorterWait() {
    try (RedisStore store = builder(Duration.ofHours(1)).open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      assertThat(limiter.spend(LIMIT, "a", 100).allowed()).isTrue();
      Decision first = limiter.spend(LIMIT, "a");
      for (int i = 0; i < 50; i++) {
        Decision again = limiter.spend(LIMIT, "a");
        assertThat(again.allowed()).isFalse();
        assertThat(again.tat()).isEqualTo(first.tat());
        assertThat(again.retryIn()).isLessThanOrEqualTo(first.retryIn());
        assertThat(again.decidedAt()).isAfterOrEqualTo(first.decidedAt());
      }
      assertThat(fromMemory).hasValue(50);
      assertCalls(2);
      // A cost that may fit is asked for.
      assertThat(limiter.check(LIMIT, "a", 0).allowed()).isTrue();
      assertCalls(3);
    }
  }

  @Test
  void settlement_isNotAnsweredFromMemory() {
    try (RedisStore store = builder(Duration.ofHours(1)).open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      Reservation call = limiter.reserve(LIMIT, "a", 100);
      assertThat(limiter.spend(LIMIT, "a").denied()).isTrue();
      call.settle(Map.of(LIMIT, 110L));
      assertCalls(3);
      assertThat(fromMemory).hasValue(0);
    }
  }

  @Test
  void denial_ofAGreatCost_isForgottenWhenASmallOneIsSpent() {
    try (RedisStore store = builder(Duration.ofHours(1)).open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      assertThat(limiter.spend(LIMIT, "a", 90).allowed()).isTrue();
      Decision denied = limiter.spend(LIMIT, "a", 20);
      assertThat(limiter.spend(LIMIT, "a", 5).allowed()).isTrue();
      assertThat(limiter.spend(LIMIT, "a", 20).retryIn()).isGreaterThan(denied.retryIn());
    }
  }

  @Test
  void ownRefundAndReset_areSeenAtOnce() {
    try (RedisStore store = builder(Duration.ofHours(1)).open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      assertThat(Spending.granted(limiter, "a", 102)).isEqualTo(100);
      limiter.refund(LIMIT, "a", 3);
      assertThat(Spending.granted(limiter, "a", 10)).isEqualTo(3);
      limiter.reset(LIMIT, "a");
      assertThat(Spending.granted(limiter, "a", 110)).isEqualTo(100);
      limiter.reset(List.of(limiter.transaction(LIMIT, "a"), limiter.transaction("Other", "a")));
      assertThat(Spending.granted(limiter, "a", 110)).isEqualTo(100);
    }
  }

  @Test
  void resetByAnotherProcess_isSeenByTheGreatestAge() {
    RedisStoreBuilder shared = builder(Duration.ofMillis(200)).prefix("shared-");
    try (RedisStore store = shared.open();
        RedisStore other = shared.open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      assertThat(Spending.granted(limiter, "a", 110)).isEqualTo(100);
      Limiter.of(Spending.LIMITS, other).reset(LIMIT, "a");
      await().until(() -> limiter.spend(LIMIT, "a").allowed());
    }
  }

  @Test
  void resetByAnotherProcess_isSeenByACheckThatMayPass() {
    RedisStoreBuilder shared = builder(Duration.ofHours(1)).prefix("seen-");
    try (RedisStore store = shared.open();
        RedisStore other = shared.open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      assertThat(limiter.spend(LIMIT, "a", 90).allowed()).isTrue();
      assertThat(limiter.spend(LIMIT, "a", 20).denied()).isTrue();
      Limiter.of(Spending.LIMITS, other).reset(LIMIT, "a");
      assertThat(limiter.check(LIMIT, "a", 10).remaining()).isEqualTo(90);
      assertThat(limiter.spend(LIMIT, "a", 20).allowed()).isTrue();
    }
  }

  @Test
  void switchedOff_alwaysAsks() {
    try (RedisStore store = builder(Duration.ZERO).open()) {
      assertThat(Spending.granted(Limiter.of(Spending.LIMITS, store), "a", 110)).isEqualTo(100);
      assertCalls(110);
      assertThat(fromMemory).hasValue(0);
    }
  }

  @Test
  void byAClientsClock_endsToTheNanosecond() {
    ManualTime time = new ManualTime();
    try (RedisStore store = builder(Duration.ofHours(1)).clock(time).skew(Duration.ZERO).open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      assertThat(limiter.spend(LIMIT, "a", 100).allowed()).isTrue();
      Decision denied = limiter.spend(LIMIT, "a");
      time.advanceNanos(denied.retryInNanos() - 1);
      assertThat(limiter.spend(LIMIT, "a").retryInNanos()).isEqualTo(1);
      assertThat(fromMemory).hasValue(1);
      time.advanceNanos(1);
      assertThat(limiter.spend(LIMIT, "a").allowed()).isTrue();
      time.advanceNanos(-Duration.ofDays(1).toNanos());
      assertThat(limiter.spend(LIMIT, "a").retryIn()).isEqualTo(Duration.ofHours(1));
    }
  }

  /** A batch over several servers may have taken the tokens for a moment. */
  @Test
  void overSeveralServers_alwaysAsks() {
    RedisStoreBuilder ring = builder(Duration.ofHours(1), TestServers.ring());
    try (RedisStore store = ring.open()) {
      assertThat(Spending.granted(Limiter.of(Spending.LIMITS, store), "a", 110)).isEqualTo(100);
      assertCalls(110);
      assertThat(fromMemory).hasValue(0);
    }
  }
}
