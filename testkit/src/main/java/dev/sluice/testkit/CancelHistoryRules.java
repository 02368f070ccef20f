// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Reservation;
import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Tests of cancelled reservations. After a random history with cancelled reservations, a bucket
 * must have no more tokens than after the same history without them. The buckets are so large that
 * no request is denied: a denial in only one of the histories would change all later results.
 */
interface CancelHistoryRules extends DrivenStores {

  Quota LARGE = Quota.burst(100_000).refill(1, Duration.ofNanos(1_000));

  /**
   * A history that runs on two buckets: on one bucket with all reservations, on the other bucket
   * without the reservations that are cancelled.
   */
  final class Twins implements AutoCloseable {
    private final Random random;
    private final Bench actual;
    private final Bench without;
    private final List<Reservation> outstanding = new ArrayList<>();

    Twins(DrivenStores stores, Random random) {
      this.random = random;
      this.actual = Bench.of(stores, LARGE);
      this.without = Bench.of(stores, LARGE);
    }

    void advance() {
      long step = random.nextInt(4) == 0 ? random.nextLong(6_000) : random.nextLong(700);
      actual.time.advanceNanos(step);
      without.time.advanceNanos(step);
    }

    void act(boolean refundsAndResets) {
      long cost = 1 + random.nextLong(4);
      switch (random.nextInt(refundsAndResets ? 10 : 6)) {
        case 0, 1, 2 ->
            outstanding.add(actual.limiter.reserve(Bench.A, Bench.ID, 1 + random.nextLong(4)));
        case 3 -> {
          assertThat(actual.spend(cost).allowed()).isTrue();
          assertThat(without.spend(cost).allowed()).isTrue();
        }
        case 4, 5 -> cancelOne();
        case 6 -> {
          actual.refund(cost);
          without.refund(cost);
        }
        case 7 -> {
          if (random.nextInt(8) == 0) {
            actual.limiter.reset(Bench.A, Bench.ID);
            without.limiter.reset(Bench.A, Bench.ID);
          }
        }
        default -> {}
      }
    }

    void cancelOne() {
      if (!outstanding.isEmpty()) {
        outstanding.remove(random.nextInt(outstanding.size())).cancel();
      }
    }

    boolean hasOutstanding() {
      return !outstanding.isEmpty();
    }

    void assertNoMoreAvailable() {
      assertThat(actual.state().resetInNanos())
          .as("the time until the bucket is full, with the cancelled reservations and without them")
          .isGreaterThanOrEqualTo(without.state().resetInNanos());
    }

    void assertSame() {
      assertThat(actual.state().resetInNanos()).isEqualTo(without.state().resetInNanos());
    }

    @Override
    public void close() {
      actual.close();
      without.close();
    }
  }

  private void assertNeverMoreAvailable(boolean refundsAndResets) {
    Seeds.run(
        histories(),
        random -> {
          try (Twins twins = new Twins(this, random)) {
            for (int step = 0; step < 60; step++) {
              twins.advance();
              twins.act(refundsAndResets);
              twins.assertNoMoreAvailable();
            }
            while (twins.hasOutstanding()) {
              twins.cancelOne();
              twins.assertNoMoreAvailable();
            }
          }
        });
  }

  @Test
  default void cancel_amongSpends_leavesNoMoreThanIfItHadNeverBeenMade() {
    assertNeverMoreAvailable(false);
  }

  @Test
  default void cancel_amongRefundsAndResets_leavesNoMoreThanIfItHadNeverBeenMade() {
    assertNeverMoreAvailable(true);
  }

  @Test
  default void cancel_atTheInstantOfTheSpend_leavesExactlyWhatWasThere() {
    Seeds.run(
        histories(),
        random -> {
          try (Twins twins = new Twins(this, random)) {
            twins.advance();
            for (int step = 0; step < 30; step++) {
              twins.act(false);
            }
            while (twins.hasOutstanding()) {
              twins.cancelOne();
            }
            twins.assertSame();
          }
        });
  }
}
