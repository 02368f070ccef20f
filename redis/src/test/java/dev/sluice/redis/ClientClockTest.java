// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Spending.LIMIT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Limits;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.ManualTime;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Clients that go by clocks of their own, on one bucket. */
final class ClientClockTest {

  private static final Duration TOKEN = Duration.ofHours(1);
  private static final Duration SKEW = Duration.ofMinutes(10);

  private final ManualTime time = new ManualTime();

  private static RedisStoreBuilder builder(String prefix, String options) {
    return TestServers.fresh(TestServers.single() + options).denials(Duration.ZERO).prefix(prefix);
  }

  private TimeSource ahead(Duration by) {
    return () -> time.nanos() + by.toNanos();
  }

  @Test
  void oneHourApart_neitherLocksOutNorGivesTwice() {
    try (RedisStore right = builder("hour-", "").clock(time).skew(Duration.ZERO).open();
        RedisStore ahead = builder("hour-", "").clock(ahead(TOKEN)).skew(Duration.ZERO).open()) {
      assertThat(Spending.granted(Limiter.of(Spending.LIMITS, ahead), "a", 200))
          .isEqualTo(Spending.BURST);
      Decision denied = Limiter.of(Spending.LIMITS, right).spend(LIMIT, "a");
      assertThat(denied.allowed()).isFalse();
      assertThat(denied.retryIn()).isEqualTo(TOKEN); // as if emptied now, no debt
    }
  }

  /** The hole: the one behind puts the TAT right, the one ahead spends what that set free. */
  @Test
  void apartByTheSkew_takeTurns_grantNoMoreThanTheOneAhead() {
    assertThat(inTurns(SKEW)).isEqualTo(Spending.BURST);
    assertThat(inTurns(TOKEN.multipliedBy(5)))
        .as("beyond the skew a TAT is put right")
        .isGreaterThan(Spending.BURST);
  }

  private int inTurns(Duration apart) {
    String prefix = "turns-" + apart + "-";
    try (RedisStore slow = builder(prefix, "").clock(time).skew(SKEW).open();
        RedisStore fast = builder(prefix, "").clock(ahead(apart)).skew(SKEW).open()) {
      int granted = 0;
      for (int turn = 0; turn < 20; turn++) {
        granted += Spending.granted(Limiter.of(Spending.LIMITS, fast), "a", Spending.BURST);
        Limiter behindIt = Limiter.of(Spending.LIMITS, slow);
        granted += Spending.granted(behindIt, "a", 1);
        assertThat(behindIt.spend(LIMIT, "a", 0).allowed()).isTrue();
      }
      return granted;
    }
  }

  /**
   * What comes back between two clocks is granted once, whoever comes first, and not at each turn.
   */
  @Test
  void apartByTheSkew_theOneBehindFirst_grantsTheDifferenceOnce() {
    Quota quota = Quota.burst(100).refill(1, Duration.ofMinutes(1));
    Limits limits = Limits.builder(Spending.LIMITS.catalogue()).limit(LIMIT, quota).build();
    try (RedisStore slow = builder("first-", "").clock(time).skew(SKEW).open();
        RedisStore fast = builder("first-", "").clock(ahead(SKEW)).skew(SKEW).open()) {
      Limiter behind = Limiter.of(limits, slow);
      Limiter before = Limiter.of(limits, fast);
      int granted = 0;
      for (int turn = 0; turn < 10; turn++) {
        granted += Spending.granted(behind, "a", 110) + Spending.granted(before, "a", 110);
      }
      assertThat(granted).isEqualTo(100 + 10);
    }
  }

  @Test
  void apartByTheSkew_refundOfTheOneBehind_givesBackWhatItSays() {
    try (RedisStore slow = builder("back-", "").clock(time).skew(SKEW).open();
        RedisStore fast = builder("back-", "").clock(ahead(SKEW)).skew(SKEW).open()) {
      Limiter quick = Limiter.of(Spending.LIMITS, fast);
      assertThat(Spending.granted(quick, "a", 200)).isEqualTo(Spending.BURST);
      assertThat(Limiter.of(Spending.LIMITS, slow).refund(LIMIT, "a", 3).allowed()).isTrue();
      assertThat(Spending.granted(quick, "a", 200)).isEqualTo(3);
    }
  }

  @Test
  void clockBeforeTheEpoch_chargesNothing_andSaysSoOnce() {
    AtomicLong now = new AtomicLong(5);
    try (RedisStore store = builder("epoch-", "").clock(now::get).skew(Duration.ZERO).open()) {
      now.set(-5);
      assertThatThrownBy(() -> Limiter.of(Spending.LIMITS, store).spend(LIMIT, "a"))
          .isInstanceOfSatisfying(
              StoreException.class, e -> assertThat(e.chargedNothing()).isTrue())
          .hasMessageEndingWith("; correct the TimeSource; nothing was charged");
    }
  }

  @Test
  void skew_isReadWithTheClock_andRefusedWithoutOne() {
    builder("skew-", "?clock=client&skew=100ms").open().close();
    assertThatThrownBy(() -> builder("skew-", "?skew=100ms").open())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("option skew requires clock=client");
    assertThatThrownBy(() -> builder("skew-", "?clock=client&skew=11m"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("option skew: found 11m, expected from 0s to 10m");
  }
}
