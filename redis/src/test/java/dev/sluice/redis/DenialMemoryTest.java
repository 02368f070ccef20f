// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Spending.LIMIT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.testkit.ManualTime;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Denials that are answered without a call, and when they no longer may be. */
final class DenialMemoryTest {

  private final AtomicInteger calls = new AtomicInteger();
  private final AtomicInteger fromMemory = new AtomicInteger();

  private RedisStoreBuilder builder(Duration atMost) {
    return TestServers.fresh(TestServers.single())
        .denials(atMost)
        .observer(
            new RedisObserver() {
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
      await().atMost(Duration.ofSeconds(20)).until(() -> limiter.spend(LIMIT, "a").allowed());
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

  // Over several servers a denial may come from a batch that is given back a moment later.

  private static final String BUCKET = "1:a";
  private static final long NOW = 1_700_000_000_000_000_000L;
  private static final long TAKEN = NOW + Spending.BURST * 3_600_000_000_000L;

  private final Moments moments = new Moments();
  private final DenialMemory overServers =
      new DenialMemory(16, Duration.ofSeconds(1).toNanos(), true, null, moments);

  /** A time that only this test moves. */
  private static final class Moments implements Timing {
    private long nanos;

    @Override
    public long nanoTime() {
      return nanos;
    }

    @Override
    public void after(long nanos, Runnable task) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void every(long nanos, Runnable task) {
      throw new UnsupportedOperationException();
    }

    @Override
    public <T> T await(CompletableFuture<T> future, long nanos) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void elsewhere(Runnable task) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
  }

  private boolean isDenied(double millis) {
    moments.nanos = nanos(millis);
    return overServers.denial(Charges.check(BUCKET).get(0)) != null;
  }

  /** An answer after a round trip of a millisecond. */
  private void found(double sentMillis, long tatNanos) {
    moments.nanos = nanos(sentMillis + 1);
    Charge check = Charges.check(BUCKET).get(0);
    overServers.learn(
        check,
        new Reading(NOW + nanos(sentMillis), tatNanos),
        nanos(sentMillis),
        overServers.stamp(BUCKET));
  }

  private static long nanos(double millis) {
    return (long) (millis * 1_000_000);
  }

  @Test
  void overServers_aDenialFoundOnce_isAskedForAgain() {
    found(0, TAKEN);
    assertThat(isDenied(1.1)).isFalse();
  }

  @Test
  void overServers_aDenialFoundTwice_isKeptForAsLongAgainAsItStood() {
    found(0, TAKEN);
    found(6, TAKEN); // five milliseconds after the first answer
    assertThat(isDenied(11.9)).isTrue();
    assertThat(isDenied(12.1)).isFalse();
  }

  @Test
  void overServers_aDenialThatStands_isAskedForMoreAndMoreSeldom() {
    int asked = 0;
    for (int millis = 0; millis < 10_000; millis++) {
      if (!isDenied(millis)) {
        found(millis, TAKEN);
        asked++;
      }
    }
    assertThat(asked).isBetween(15, 22); // ten until a second has passed, then one each second
  }

  /** Batches that come again and again leave the same TAT each time, if they ask for as much. */
  @Test
  void overServers_anotherTatInBetween_beginsAnew() {
    found(0, TAKEN);
    found(20, NOW);
    found(40, TAKEN);
    assertThat(isDenied(41.1)).isFalse();
  }

  @Test
  void overServers_aLaterTat_beginsAnew() {
    found(0, TAKEN - 5);
    found(20, TAKEN);
    assertThat(isDenied(21.1)).isFalse();
  }

  @Test
  void overServers_aRefundInBetween_beginsAnew() {
    found(0, TAKEN);
    overServers.forget(BUCKET);
    found(40, TAKEN);
    assertThat(isDenied(41.1)).isFalse();
  }
}
