// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.DecisionAssert.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * The contract of every {@link BucketStore} with the clock that the store uses in production, as
 * JUnit tests.
 *
 * <p>The tests do not depend on the speed of the store, and the clock of the store can differ from
 * the clock of this machine. Each test must take less than a day by the clock of the store.
 */
public abstract class LiveBucketStoreContract {

  private static final Quota TEN_A_DAY = Quota.per(10, Duration.ofDays(1));
  private static final Duration INTERVAL = Duration.ofDays(1).dividedBy(10);

  /** Creates the contract, for subclasses that test a store. */
  protected LiveBucketStoreContract() {}

  /**
   * Creates the store under test. A test calls this method once and closes the store.
   *
   * @return a store without any bucket, with its own clock
   */
  protected abstract BucketStore newStore();

  private static Limiter limiter(BucketStore store, Quota quota) {
    return Limiter.of(Bench.limits(quota), store);
  }

  @Test
  final void decidedAt_onItsOwnClock_isAboutNowAndNeverStepsBack() {
    try (BucketStore store = newStore()) {
      Limiter limiter = limiter(store, TEN_A_DAY);
      Instant before = limiter.check(Bench.A, Bench.ID).decidedAt();
      assertThat(Duration.between(Instant.now(), before).abs()).isLessThan(Duration.ofHours(1));
      for (int i = 0; i < 1_000; i++) {
        Instant next = limiter.check(Bench.A, Bench.ID).decidedAt();
        assertThat(next).isAfterOrEqualTo(before);
        before = next;
      }
    }
  }

  @Test
  final void spend_onItsOwnClock_grantsTheBurstAndThenDenies() {
    try (BucketStore store = newStore()) {
      Limiter limiter = limiter(store, TEN_A_DAY);
      Instant first = limiter.check(Bench.A, Bench.ID).decidedAt();
      for (int left = 9; left >= 0; left--) {
        assertThat(limiter.spend(Bench.A, Bench.ID)).isAllowed().hasRemaining(left);
      }
      Decision denied = limiter.spend(Bench.A, Bench.ID);
      assertThat(denied).isDenied().hasRemaining(0);
      Duration elapsed = Duration.between(first, denied.decidedAt());
      assertThat(denied.retryIn()).isBetween(INTERVAL.minus(elapsed), INTERVAL);
      assertThat(denied.resetIn()).isBetween(Duration.ofDays(1).minus(elapsed), Duration.ofDays(1));
    }
  }

  @Test
  final void refundAndReset_onItsOwnClock_giveBack() {
    try (BucketStore store = newStore()) {
      Limiter limiter = limiter(store, TEN_A_DAY);
      assertThat(limiter.refund(Bench.A, Bench.ID)).isDenied().hasRemaining(10);
      assertThat(limiter.spend(Bench.A, Bench.ID, 10)).isAllowed();
      assertThat(limiter.refund(Bench.A, Bench.ID, 3)).isAllowed().hasRemaining(3);
      limiter.reset(Bench.A, Bench.ID);
      assertThat(limiter.spend(Bench.A, Bench.ID, 10)).isAllowed();
    }
  }

  @Test
  final void cancel_onItsOwnClock_restoresExactly() {
    try (BucketStore store = newStore()) {
      Limiter limiter = limiter(store, TEN_A_DAY);
      assertThat(limiter.spend(Bench.A, Bench.ID, 4)).isAllowed();
      Instant before = limiter.check(Bench.A, Bench.ID, 0).tat();
      try (Reservation first = limiter.reserve(Bench.A, Bench.ID, 3);
          Reservation second = limiter.reserve(Bench.A, Bench.ID, 2)) {
        first.cancel();
        second.cancel();
      }
      assertThat(limiter.check(Bench.A, Bench.ID, 0).tat()).isEqualTo(before);
    }
  }

  @Test
  final void spendBatch_onItsOwnClock_isAllOrNothing() {
    try (BucketStore store = newStore()) {
      Limiter limiter = limiter(store, TEN_A_DAY);
      assertThat(limiter.spend(Bench.B, Bench.ID, 9)).isAllowed();
      assertThat(
              limiter.spend(
                  List.of(
                      limiter.transaction(Bench.A, Bench.ID).withCost(5),
                      limiter.transaction(Bench.B, Bench.ID).withCost(2))))
          .isDenied()
          .hasRemaining(1);
      assertThat(limiter.check(Bench.A, Bench.ID, 0)).hasRemaining(10);
      assertThat(limiter.check(Bench.B, Bench.ID, 0)).hasRemaining(1);
    }
  }

  /**
   * The wait in a denial is exact: by the clock of the store, no spend is allowed before the wait
   * is over.
   */
  @Test
  final void denial_onItsOwnClock_endsWhenItSaid() {
    try (BucketStore store = newStore()) {
      Limiter limiter = limiter(store, Quota.per(1, Duration.ofMillis(100)));
      Decision decision = limiter.spend(Bench.A, Bench.ID);
      while (decision.allowed()) {
        decision = limiter.spend(Bench.A, Bench.ID);
      }
      Instant promised = decision.decidedAt().plus(decision.retryIn());
      while (decision.denied()) {
        assertThat(decision.decidedAt()).isBefore(promised);
        assertThat(decision.decidedAt().plus(decision.retryIn())).isEqualTo(promised);
        decision = limiter.spend(Bench.A, Bench.ID);
      }
      assertThat(decision.decidedAt()).isAfterOrEqualTo(promised);
    }
  }

  /** The possible race: many threads read the same TAT, and each thread spends the last token. */
  @Test
  final void spend_64ThreadsOnItsOwnClock_grantExactlyTheBurst() {
    try (BucketStore store = newStore()) {
      Limiter limiter = limiter(store, Quota.per(500, Duration.ofDays(500)));
      AtomicInteger granted = new AtomicInteger();
      Crowd.run(
          64,
          thread -> {
            for (int i = 0; i < 20; i++) {
              granted.addAndGet(limiter.spend(Bench.A, Bench.ID).allowed() ? 1 : 0);
            }
          });
      assertThat(granted).hasValue(500);
    }
  }

  /**
   * Half of the threads charge two buckets in one order, the other threads in the opposite order.
   * The store must not deadlock.
   */
  @Test
  final void spendBatch_32ThreadsInBothOrdersOnItsOwnClock_grantsExactlyTheBurst() {
    try (BucketStore store = newStore()) {
      Limiter limiter = limiter(store, Quota.per(500, Duration.ofDays(500)));
      AtomicInteger granted = new AtomicInteger();
      Crowd.run(
          32,
          thread -> {
            for (int i = 0; i < 20; i++) {
              Transaction shared = limiter.transaction(Bench.A, Bench.ID);
              Transaction fresh = limiter.transaction(Bench.B, "fresh" + i);
              Decision decision =
                  limiter.spend(thread % 2 == 0 ? List.of(shared, fresh) : List.of(fresh, shared));
              granted.addAndGet(decision.allowed() ? 1 : 0);
            }
          });
      assertThat(granted).hasValue(500);
    }
  }
}
