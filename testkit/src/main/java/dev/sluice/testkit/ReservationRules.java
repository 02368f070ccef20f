// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.Bench.A;
import static dev.sluice.testkit.Bench.B;
import static dev.sluice.testkit.Bench.C;
import static dev.sluice.testkit.Bench.ID;
import static dev.sluice.testkit.DecisionAssert.assertThat;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Reservation;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Limits;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Tests of the refund of a cancelled reservation. Each test checks one sentence in the
 * documentation of {@link Reservation}.
 */
interface ReservationRules extends DrivenStores {

  @Test
  default void reserve_tokensThere_spendsThemAtOnce() {
    try (Bench bench = Bench.tenPerSecond(this);
        Reservation reservation = bench.limiter.reserve(A, ID, 4)) {
      assertThat(reservation.decision()).isAllowed().hasRemaining(6);
      assertThat(reservation.allowed()).isTrue();
      assertThat(bench.state()).hasRemaining(6);
    }
  }

  @Test
  default void reserve_tokensNotThere_isDeniedAndCancelDoesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(8)).isAllowed();
      try (Reservation reservation = bench.limiter.reserve(A, ID, 3)) {
        assertThat(reservation.denied()).isTrue();
        assertThat(reservation.decision()).retriesIn(ofMillis(100));
        reservation.cancel();
      }
      assertThat(bench.state()).hasRemaining(2);
    }
  }

  @Test
  default void close_withoutCancel_leavesTheTokensSpent() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation reservation = bench.limiter.reserve(A, ID, 4);
      reservation.close();
      reservation.cancel();
      assertThat(bench.state()).as("cancel after close").hasRemaining(6);
    }
  }

  @Test
  default void cancel_twice_givesBackOnce() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(5)).isAllowed();
      Reservation reservation = bench.limiter.reserve(A, ID, 2);
      reservation.cancel();
      reservation.cancel();
      assertThat(bench.state()).hasRemaining(5).resetsIn(ofMillis(500));
    }
  }

  @Test
  default void cancel_inAnyOrderAtOnce_restoresExactly() {
    for (List<Integer> order :
        List.of(List.of(0, 1, 2), List.of(2, 1, 0), List.of(1, 2, 0), List.of(0, 2, 1))) {
      for (Duration later : List.of(ZERO, ofNanos(1_000))) {
        try (Bench bench = Bench.tenPerSecond(this)) {
          assertThat(bench.spend(3)).isAllowed();
          List<Reservation> reservations =
              List.of(
                  bench.limiter.reserve(A, ID, 1),
                  bench.limiter.reserve(A, ID, 2),
                  bench.limiter.reserve(A, ID, 3));
          bench.time.advance(later);
          order.forEach(index -> reservations.get(index).cancel());
          assertThat(bench.state())
              .as("cancelled in the order %s after %s", order, later)
              .resetsIn(ofMillis(300).minus(later));
        }
      }
    }
  }

  @Test
  default void cancel_aMicrosecondLater_leavesAFullBucketFull() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation reservation = bench.limiter.reserve(A, ID, 4);
      bench.time.advanceNanos(1_000);
      reservation.cancel();
      assertThat(bench.state()).hasRemaining(10).resetsIn(ZERO);
    }
  }

  @Test
  default void cancel_afterOthersSpent_givesBackAll() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation reservation = bench.limiter.reserve(A, ID, 4);
      assertThat(bench.spend(3)).isAllowed();
      reservation.cancel();
      assertThat(bench.state()).hasRemaining(7).resetsIn(ofMillis(300));
    }
  }

  /**
   * A cancellation must not refund tokens that have already refilled: such a refund would return
   * the tokens of later spends.
   */
  @Test
  default void cancel_afterAPartCameBack_givesBackTheRest() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation reservation = bench.limiter.reserve(A, ID, 4);
      bench.time.advance(ofMillis(300));
      assertThat(bench.spend(5)).isAllowed().resetsIn(ofMillis(600));
      reservation.cancel();
      assertThat(bench.state()).resetsIn(ofMillis(500));
    }
  }

  @Test
  default void cancel_afterAllCameBack_givesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation reservation = bench.limiter.reserve(A, ID, 4);
      bench.time.advance(ofMillis(400));
      assertThat(bench.spend(5)).isAllowed();
      reservation.cancel();
      assertThat(bench.state()).hasRemaining(5).resetsIn(ofMillis(500));
    }
  }

  @Test
  default void cancel_afterAReset_givesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation reservation = bench.limiter.reserve(A, ID, 4);
      bench.limiter.reset(A, ID);
      reservation.cancel();
      assertThat(bench.state()).hasRemaining(10);
    }
  }

  @Test
  default void cancel_afterAResetAndNewSpends_givesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation reservation = bench.limiter.reserve(A, ID, 4);
      bench.limiter.reset(A, ID);
      assertThat(bench.spend(6)).isAllowed();
      reservation.cancel();
      assertThat(bench.state()).hasRemaining(4).resetsIn(ofMillis(600));
    }
  }

  @Test
  default void cancel_afterTheLimitShrank_givesNoMoreThanTheNewBucketLacks() {
    try (Bench bench = Bench.of(this, Quota.per(10, ofSeconds(1)))) {
      assertThat(bench.spend(6)).isAllowed();
      Reservation reservation = bench.limiter.reserve(A, ID, 4);
      bench.changeLimits(Quota.per(7, ofMillis(700)));
      reservation.cancel();
      // The smaller bucket has room for only one of the four refunded tokens, so three tokens are
      // lost.
      assertThat(bench.state()).hasRemaining(1).resetsIn(ofMillis(600));
    }
  }

  @Test
  default void cancel_afterTheLimitGotSlower_givesBackTheTimeThatWasTaken() {
    try (Bench bench = Bench.of(this, Quota.per(10, ofSeconds(1)))) {
      assertThat(bench.spend(6)).isAllowed();
      Reservation reservation = bench.limiter.reserve(A, ID, 4);
      bench.changeLimits(Quota.per(10, ofSeconds(10)));
      reservation.cancel();
      assertThat(bench.state()).resetsIn(ofMillis(600));
    }
  }

  @Test
  default void cancel_afterTheLimitGotFaster_givesBackTheTokensAtTheirNewWorth() {
    try (Bench bench = Bench.of(this, Quota.per(10, ofSeconds(10)))) {
      Reservation reservation = bench.limiter.reserve(A, ID, 4);
      bench.changeLimits(Quota.burst(100).refill(10, ofSeconds(1)));
      reservation.cancel();
      assertThat(bench.state()).resetsIn(ofMillis(3_600));
    }
  }

  @Test
  default void cancel_afterTheLimitWasDisabled_givesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation reservation = bench.limiter.reserve(A, ID, 4);
      bench.limits.replace(Limits.builder(Bench.CATALOGUE).build());
      reservation.cancel();
      bench.changeLimits(Quota.per(10, ofSeconds(1)));
      assertThat(bench.state()).hasRemaining(6);
    }
  }

  @Test
  default void cancel_disabledLimit_doesNothing() {
    try (Bench bench = Bench.tenPerSecond(this);
        Reservation reservation = bench.limiter.reserve(Bench.OFF, ID)) {
      assertThat(reservation.allowed()).isTrue();
      reservation.cancel();
    }
  }

  @Test
  default void cancel_batch_givesBackWhatWasTakenFromEach() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      for (String limit : List.of(A, B, C)) {
        assertThat(bench.limiter.spend(limit, ID, 3)).isAllowed();
      }
      Reservation reservation =
          bench.limiter.reserve(
              List.of(bench.on(A, 4), bench.on(B, 4).checkOnly(), bench.on(C, 8).spendOnly()));
      assertThat(reservation.decision()).isAllowed();
      assertThat(bench.state(C))
          .as("remaining tokens after a best-effort spend that did not fit")
          .hasRemaining(7);
      reservation.cancel();
      for (String limit : List.of(A, B, C)) {
        assertThat(bench.state(limit)).hasRemaining(7).resetsIn(ofMillis(300));
      }
    }
  }

  @Test
  default void cancel_deniedBatch_givesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.spend(List.of(bench.on(A, 3), bench.on(B, 9)))).isAllowed();
      Reservation reservation = bench.limiter.reserve(List.of(bench.on(A, 2), bench.on(B, 2)));
      assertThat(reservation.denied()).isTrue();
      reservation.cancel();
      assertThat(bench.state(A)).hasRemaining(7);
      assertThat(bench.state(B)).hasRemaining(1);
    }
  }

  /**
   * When a reservation is cancelled, the tokens of later reservations refill earlier. After one
   * cancellation, the cancellation of a later reservation must refund fewer tokens.
   */
  @Test
  default void cancel_afterAnEarlierOneWasCancelled_givesNoTokenTwice() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation first = bench.limiter.reserve(A, ID);
      Reservation second = bench.limiter.reserve(A, ID);
      bench.time.advance(ofMillis(50));
      first.cancel();
      assertThat(bench.state()).resetsIn(ofMillis(100));
      bench.time.advance(ofMillis(100));
      assertThat(bench.spend(1)).isAllowed().resetsIn(ofMillis(100));
      second.cancel();
      assertThat(bench.state()).resetsIn(ofMillis(100));
    }
  }

  @Test
  default void cancel_afterARefund_givesNoTokenTwice() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(1)).isAllowed();
      Reservation reservation = bench.limiter.reserve(A, ID);
      bench.time.advance(ofMillis(50));
      assertThat(bench.refund(1)).isAllowed().resetsIn(ofMillis(50));
      bench.time.advance(ofMillis(50));
      assertThat(bench.spend(1)).isAllowed().resetsIn(ofMillis(100));
      reservation.cancel();
      assertThat(bench.state()).resetsIn(ofMillis(100));
    }
  }
}
