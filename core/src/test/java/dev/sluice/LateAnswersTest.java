// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/**
 * Cancellations whose calls are slow, lost or overtaken. If calls that give back overlap, the
 * bucket may be fuller than without the cancelled reservations: by at most what it refills from the
 * first of these calls to the last. If one of them is a plain refund, by at most what the open
 * reservations took.
 */
class LateAnswersTest {

  private static final String LIMIT = "ApiCallsPerKey";
  private static final String ID = "a";

  private long nowMillis = 10_000;
  private final SlowStore store = new SlowStore(() -> nowMillis * 1_000_000);
  private final Limiter limiter =
      Limiter.builder(
              new CurrentLimits(
                  Limits.builder(Catalogue.samples())
                      .limit(LIMIT, Quota.per(10, Duration.ofSeconds(1)))
                      .build()),
              store)
          .time(() -> nowMillis * 1_000_000) // at the pace of the store's
          .build();

  private void spend() {
    assertThat(limiter.spend(LIMIT, ID).allowed()).isTrue();
  }

  private void assertFullInNoLessThan(long millis) {
    assertThat(limiter.check(LIMIT, ID, 0).resetIn())
        .isGreaterThanOrEqualTo(Duration.ofMillis(millis));
  }

  /** The race: an older reservation was given back, and its answer is under way. */
  @Test
  void cancel_whileAnOlderCancelIsUnderWay_givesNoTokenTwice() {
    Reservation older = limiter.reserve(LIMIT, ID);
    Reservation younger = limiter.reserve(LIMIT, ID);
    nowMillis += 50;
    older.cancelAsync();
    SlowStore.Call slow = store.last().apply();
    nowMillis += 50;
    spend();
    nowMillis += 40;
    younger.cancel();
    assertFullInNoLessThan(60);
    slow.answer();
  }

  /** The race: an older reservation was given back, and nobody ever learns of it. */
  @Test
  void cancel_afterTheAnswerOfAnOlderCancelWasLost_givesNoTokenTwice() {
    Reservation older = limiter.reserve(LIMIT, ID);
    Reservation younger = limiter.reserve(LIMIT, ID);
    nowMillis += 50;
    older.cancelAsync();
    store.last().apply().lose();
    nowMillis += 50;
    spend();
    nowMillis += 40;
    younger.cancel();
    assertFullInNoLessThan(60);
  }

  /** The race: two refunds within the tick of a spend, of which the second is answered first. */
  @Test
  void cancel_afterTwoRefundsInTheTickOfTheSpend_givesNoTokenTwice() {
    spend();
    spend();
    spend();
    CompletionStage<Reservation> reserved = limiter.async().reserve(LIMIT, ID, 1);
    SlowStore.Call spent = store.last().apply();
    var first = limiter.async().refund(LIMIT, ID, 1);
    SlowStore.Call firstRefund = store.last().apply();
    var second = limiter.async().refund(LIMIT, ID, 1);
    SlowStore.Call secondRefund = store.last().apply();
    secondRefund.answer();
    firstRefund.answer();
    spent.answer();
    assertThat(first).isCompleted();
    assertThat(second).isCompleted();
    nowMillis += 200;
    spend();
    nowMillis += 50;
    reserved.toCompletableFuture().join().cancel();
    assertFullInNoLessThan(50);
  }

  /** The race: a cancellation that was sent later is applied first. */
  @Test
  void cancel_overtakingThatOfAYoungerReservation_givesAtMostWhatIsRefilledMeanwhile() {
    Reservation older = limiter.reserve(LIMIT, ID);
    Reservation younger = limiter.reserve(LIMIT, ID);
    nowMillis += 50;
    younger.cancelAsync();
    SlowStore.Call late = store.last();
    older.cancel();
    nowMillis += 50;
    spend();
    nowMillis += 10;
    late.apply().answer();
    assertFullInNoLessThan(90 - 60);
  }

  /** The race: a refund that was sent later is applied before a cancellation. */
  @Test
  void refund_overtakingACancel_givesAtMostWhatTheReservationTookTwice() {
    Reservation reservation = limiter.reserve(LIMIT, ID);
    reservation.cancelAsync();
    SlowStore.Call late = store.last();
    Decision refund = limiter.refund(LIMIT, ID, 1);
    assertThat(refund.resetIn()).as("what it left").isZero();
    spend();
    spend();
    nowMillis += 10;
    late.apply().answer();
    assertFullInNoLessThan(190 - 100);
  }

  @Test
  void cancel_ofTwoInFlight_restoresExactlyWhatWasThere() {
    spend();
    nowMillis += 1;
    Reservation older = limiter.reserve(LIMIT, ID, 2);
    Reservation younger = limiter.reserve(LIMIT, ID, 3);
    older.cancelAsync();
    SlowStore.Call first = store.last().apply();
    younger.cancelAsync();
    store.last().apply().answer();
    first.answer();
    assertThat(limiter.check(LIMIT, ID, 0).resetIn()).isEqualTo(Duration.ofMillis(99));
  }

  @Test
  void cancel_afterAnotherWasAnswered_restoresExactlyWhatWasThere() {
    Reservation older = limiter.reserve(LIMIT, ID, 2);
    Reservation younger = limiter.reserve(LIMIT, ID, 3);
    nowMillis += 150;
    older.cancelAsync();
    store.last().apply().answer();
    younger.cancel();
    assertThat(limiter.check(LIMIT, ID, 0).resetIn()).isZero();
  }
}
