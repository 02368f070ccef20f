// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.Bench.A;
import static dev.sluice.testkit.Bench.B;
import static dev.sluice.testkit.Bench.C;
import static dev.sluice.testkit.Bench.ID;
import static dev.sluice.testkit.Bench.OWES;
import static dev.sluice.testkit.DecisionAssert.assertThat;
import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Reservation;
import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Receipt;
import dev.sluice.Reservation.Settlement;
import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Tests of settlements. A settlement replaces the reserved cost of a reservation with the true
 * cost.
 */
interface SettleRules extends DrivenStores {

  private static void requirePart(
      Settlement settled, int at, long charged, long givenBack, long owed, long cut, long left) {
    Settlement.Part part = settled.parts().get(at);
    assertThat(List.of(part.charged(), part.givenBack(), part.owed(), part.cut(), part.remaining()))
        .as("the tokens charged, given back, owed, cut and remaining")
        .containsExactly(charged, givenBack, owed, cut, left);
  }

  @Test
  default void settle_atALowerCost_givesBackWhatIsNotRefilled() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation call = bench.limiter.reserve(A, ID, 8);
      bench.time.advance(ofMillis(250));

      requirePart(call.settle(Map.of(A, 5L)), 0, 5, 3, 0, 0, 7);

      assertThat(bench.state()).resetsIn(ofMillis(250));
    }
  }

  @Test
  default void settle_atAHigherCost_chargesToTheEndOfTheBucket() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation call = bench.limiter.reserve(A, ID, 8);
      bench.time.advance(ofMillis(250));

      requirePart(call.settle(Map.of(A, 50L)), 0, 12, 0, 0, 38, 0);

      assertThat(bench.state()).resetsIn(ofMillis(950));
    }
  }

  @Test
  default void settle_atAHigherCost_isOwedToTheDeclaredDepth() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation call = bench.limiter.reserve(OWES, ID, 8);

      requirePart(call.settle(Map.of(OWES, 13L)), 0, 13, 0, 3, 0, 0);

      assertThat(bench.limiter.spend(OWES, ID)).isDenied().retriesIn(ofMillis(400));
      Reservation empty = bench.limiter.reserve(OWES, ID, 0);
      requirePart(empty.settle(Map.of(OWES, 9L)), 0, 7, 0, 10, 2, 0);
    }
  }

  @Test
  default void settle_ofABatch_settlesEachBucket() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation call =
          bench.limiter.reserve(List.of(bench.on(A, 2), bench.on(B, 3), bench.on(C, 4)));

      Settlement settled = call.settle(Map.of(A, 6L, C, 1L));

      requirePart(settled, 0, 6, 0, 0, 0, 4);
      requirePart(settled, 1, 3, 0, 0, 0, 7);
      requirePart(settled, 2, 1, 3, 0, 0, 9);
    }
  }

  @Test
  default void settle_withoutBlocking_isTheSame() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation call = bench.limiter.reserve(List.of(bench.on(A, 2), bench.on(B, 3)));

      Settlement settled = call.settleAsync(Costs.of(A, 6).and(B, 1)).toCompletableFuture().join();

      requirePart(settled, 0, 6, 0, 0, 0, 4);
      requirePart(settled, 1, 1, 2, 0, 0, 9);
    }
  }

  @Test
  default void settle_twice_doesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation call = bench.limiter.reserve(A, ID, 8);
      assertThat(call.settle(Map.of(A, 5L)).settled()).isTrue();

      assertThat(call.settle(Map.of(A, 1L)).settled()).isFalse();

      assertThat(bench.state()).hasRemaining(5);
    }
  }

  @Test
  default void settle_underAnotherLimit_usesTheReservationsInterval() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation lower = bench.limiter.reserve(A, ID, 4);
      Reservation higher = bench.limiter.reserve(B, ID, 4);
      bench.changeLimits(Quota.per(5, Duration.ofSeconds(1)));

      requirePart(lower.settle(Map.of(A, 2L)), 0, 2, 2, 0, 0, 4);
      requirePart(higher.settle(Map.of(B, 6L)), 0, 6, 0, 0, 0, 2);
    }
  }

  @Test
  default void settle_byReceipt_isTheSame() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Receipt receipt = bench.limiter.reserve(List.of(bench.on(A, 8), bench.on(OWES, 2))).receipt();
      bench.time.advance(ofMillis(250));

      Settlement settled =
          Bench.limiter(bench.limits, bench.store, bench.time)
              .settle(receipt, Costs.of(A, 5).and(OWES, 14));

      requirePart(settled, 0, 5, 3, 0, 0, 7);
      requirePart(settled, 1, 14, 0, 2, 0, 0);
    }
  }
}
