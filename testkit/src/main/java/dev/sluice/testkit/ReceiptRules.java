// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.Bench.A;
import static dev.sluice.testkit.Bench.B;
import static dev.sluice.testkit.Bench.ID;
import static dev.sluice.testkit.DecisionAssert.assertThat;
import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.Reservation.Receipt;
import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Tests of cancelling a reservation with its {@link Receipt}, in a process that did not make the
 * reservation.
 */
interface ReceiptRules extends DrivenStores {

  private static Limiter otherProcess(Bench bench) {
    return Bench.limiter(bench.limits, bench.store, bench.time);
  }

  @Test
  default void cancel_byReceiptAtOnce_restoresExactly() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(3)).isAllowed();
      Receipt receipt = bench.limiter.reserve(A, ID, 4).receipt();

      otherProcess(bench).cancel(receipt);

      assertThat(bench.state()).hasRemaining(7).resetsIn(ofMillis(300));
    }
  }

  @Test
  default void cancel_byReceiptLater_givesBackWhatIsNotRefilled() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Receipt receipt = bench.limiter.reserve(A, ID, 4).receipt();
      assertThat(bench.spend(5)).isAllowed();
      bench.time.advance(ofMillis(250));

      otherProcess(bench).cancel(receipt);

      // The reservation took tokens that refill in 400 ms, and the spend took tokens that refill in
      // 500 ms. After 250 ms, reserved tokens worth 150 ms have not refilled and are refunded, so
      // the bucket is full after 900 - 250 - 150 = 500 ms.
      assertThat(bench.state()).resetsIn(ofMillis(500));
    }
  }

  @Test
  default void cancel_byReceiptAfterAllIsRefilled_changesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Receipt receipt = bench.limiter.reserve(A, ID, 4).receipt();
      bench.time.advance(ofMillis(400));
      assertThat(bench.spend(6)).isAllowed();

      otherProcess(bench).cancel(receipt);

      assertThat(bench.state()).hasRemaining(4).resetsIn(ofMillis(600));
    }
  }

  @Test
  default void cancel_byReceiptWithoutBlocking_isTheSame() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Receipt receipt = bench.limiter.reserve(A, ID, 4).receipt();

      otherProcess(bench).async().cancel(receipt).toCompletableFuture().join();

      assertThat(bench.state()).hasRemaining(10);
    }
  }

  @Test
  default void cancel_byReceiptOfABatch_givesBackEachPart() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Receipt receipt = bench.limiter.reserve(List.of(bench.on(A, 2), bench.on(B, 3))).receipt();

      otherProcess(bench).cancel(receipt);

      assertThat(bench.state(A)).hasRemaining(10);
      assertThat(bench.state(B)).hasRemaining(10);
    }
  }

  @Test
  default void cancel_byReceiptUnderAnotherLimit_countsTokensByTheLesserInterval() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Receipt receipt = bench.limiter.reserve(A, ID, 4).receipt();
      bench.changeLimits(Quota.per(20, Duration.ofSeconds(1)));

      otherProcess(bench).cancel(receipt);

      assertThat(bench.state()).resetsIn(ofMillis(200));
    }
  }

  @Test
  default void receipt_ofADenial_hasNoParts() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(8)).isAllowed();

      assertThat(bench.limiter.reserve(A, ID, 3).receipt().parts()).isEmpty();
    }
  }

  @Test
  default void receipt_afterTheBucketWasReset_givesNothingBack() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      var reservation = bench.limiter.reserve(A, ID, 4);
      bench.limiter.reset(A, ID);
      assertThat(bench.spend(6)).isAllowed();

      otherProcess(bench).cancel(reservation.receipt());

      assertThat(bench.state()).hasRemaining(4);
    }
  }

  @Test
  default void receipt_takesNothingFromTheReservation() {
    try (Bench bench = Bench.tenPerSecond(this);
        var reservation = bench.limiter.reserve(A, ID, 4)) {
      assertThat(reservation.receipt().parts()).hasSize(1);

      reservation.cancel();

      assertThat(bench.state()).hasRemaining(10);
    }
  }
}
