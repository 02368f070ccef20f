// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.OpenReservations.GiveBack;
import dev.sluice.OpenReservations.Stretch;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A bucket with tokens of 100 ns and a burst of 10. */
class OpenReservationsTest {

  private static final long HUGE = Long.MAX_VALUE / 2;

  private long hereNanos = 1;
  private OptionalLong storeNanos = OptionalLong.empty();
  private final List<Integer> settledEarly = new ArrayList<>();
  private final OpenReservations reservations =
      new OpenReservations(() -> hereNanos, () -> storeNanos, 10_000, settledEarly::add);

  private static Charge charge(Op op, long nanos, long untilNanos) {
    return new Charge("1:a", op, nanos, op == Op.RESET ? 0 : 1_000, untilNanos);
  }

  @CanIgnoreReturnValue
  private Stretch asked(String key) {
    return reservations.open(List.of(new Charge(key, Op.SPEND, 100, 1_000, Effect.NO_END))).get(0);
  }

  private void answered(Stretch stretch, long nowNanos, long tatNanos) {
    reservations.place(stretch, new Reading(nowNanos, tatNanos - 100), tatNanos);
  }

  @CanIgnoreReturnValue
  private Stretch spent(long nowNanos, long tatNanos) {
    Stretch stretch = asked("1:a");
    answered(stretch, nowNanos, tatNanos);
    return stretch;
  }

  private GiveBack cancelled(Stretch stretch) {
    return Objects.requireNonNull(reservations.giveBack(stretch, 100, 1_000));
  }

  private GiveBack sent(Op op, long nanos) {
    return reservations.send(List.of(charge(op, nanos, Effect.NO_END))).get(0);
  }

  private void ended(GiveBack giveBack) {
    reservations.ended(List.of(giveBack), false);
  }

  private void lost(GiveBack giveBack) {
    reservations.ended(List.of(giveBack), true);
  }

  private void lookForWhatIsOver() {
    reservations.close(asked("1:a"));
  }

  // Which ends move

  @Test
  void giveBack_movesTheYoungerOnesUpWhenSent_andNoneBackWhenAnswered() {
    Stretch first = spent(5_000, 5_100);
    Stretch second = spent(5_000, 5_200);
    Stretch third = spent(5_000, 5_300);
    GiveBack giveBack = cancelled(second);
    assertThat(giveBack.charge()).isEqualTo(charge(Op.REFUND, 100, 5_200));
    assertThat(first.untilNanos()).isEqualTo(5_100);
    assertThat(third.untilNanos()).isEqualTo(5_200);
    ended(giveBack);
    assertThat(first.untilNanos()).isEqualTo(5_100);
    assertThat(third.untilNanos()).isEqualTo(5_200);
  }

  @Test
  void giveBack_twice_isNothing() {
    Stretch stretch = spent(5_000, 5_100);
    ended(cancelled(stretch));
    assertThat(reservations.giveBack(stretch, 100, 1_000)).isNull();
    assertThat(reservations.size()).isZero();
    assertThat(reservations.buckets()).isZero();
  }

  @Test
  void giveBack_asksForWhatWasNotRefilled_byTheStoresClockOrByTheTimeSinceItsAnswer() {
    Stretch byTheTimeHere = spent(1_000, 1_100);
    hereNanos += 70;
    GiveBack first = cancelled(byTheTimeHere);
    assertThat(first.charge().incrementNanos()).isEqualTo(30);
    ended(first);
    Stretch byTheStoresClock = spent(2_000, 2_100);
    storeNanos = OptionalLong.of(2_060);
    assertThat(cancelled(byTheStoresClock).charge().incrementNanos()).isEqualTo(40);
    Stretch refilled = spent(2_000, 2_060);
    assertThat(reservations.giveBack(refilled, 100, 1_000)).isNull();
  }

  @Test
  void giveBack_ofOneInFlightBesideAnother_tellsOlderByTheStoresClock_thenByTheTat() {
    for (long laterNanos : new long[] {0, 5}) {
      Stretch younger = asked("1:a");
      Stretch older = asked("1:a");
      answered(younger, 5_000 + laterNanos, 5_200);
      answered(older, 5_000, 5_100);
      ended(cancelled(younger));
      assertThat(older.untilNanos()).isEqualTo(5_100);
      reservations.close(older);
    }
  }

  /** A refund may have come between the two, so the lower TAT may be that of the younger one. */
  @Test
  void giveBack_besideOneOfTheSameTickThatOverlapsARefund_movesBoth() {
    Stretch one = asked("1:a");
    Stretch other = asked("1:a");
    ended(sent(Op.REFUND, 10));
    answered(one, 5_000, 5_300);
    answered(other, 5_000, 5_200);
    ended(cancelled(one));
    assertThat(other.untilNanos()).isEqualTo(5_200 - 10 - 100);
  }

  @Test
  void send_aPlainRefund_movesAllOfItsBucketUp() {
    Stretch first = spent(5_000, 5_100);
    Stretch second = spent(5_000, 5_200);
    Stretch elsewhere = asked("1:b");
    answered(elsewhere, 5_000, 5_100);
    ended(sent(Op.REFUND, 70));
    assertThat(first.untilNanos()).isEqualTo(5_030);
    assertThat(second.untilNanos()).isEqualTo(5_130);
    assertThat(elsewhere.untilNanos()).isEqualTo(5_100);
  }

  /**
   * A receipt says when nothing is left of its tokens: the others move by no more than the rest.
   */
  @Test
  void send_aReceipt_movesTheOthersByWhatIsLeftOfIt() {
    Stretch stretch = spent(5_000, 5_200);
    hereNanos += 80;
    ended(reservations.send(List.of(charge(Op.REFUND, 100, 5_100))).get(0));
    assertThat(stretch.untilNanos()).isEqualTo(5_180);
    ended(reservations.send(List.of(charge(Op.REFUND, 100, 5_050))).get(0));
    assertThat(stretch.untilNanos()).isEqualTo(5_180);
  }

  @Test
  void send_aResetOrAForgivenDebt_makesTheOpenOnesWorthNothing() {
    for (Op op : List.of(Op.RESET, Op.FORGIVE)) {
      Stretch open = spent(5_000, 5_100);
      Stretch inFlight = asked("1:a");
      ended(sent(op, 0));
      answered(inFlight, 5_000, 5_200);
      assertThat(open.untilNanos()).isEqualTo(Gcra.NO_TAT);
      assertThat(reservations.giveBack(inFlight, 100, 1_000)).isNull();
      ended(cancelled(spent(5_000, 5_100)));
    }
  }

  // Those in flight

  @Test
  void place_movesUpByAllThatWasUnderWayAtSomeMomentOfItsCall() {
    GiveBack answeredBefore = sent(Op.REFUND, 1);
    GiveBack answeredMeanwhile = sent(Op.REFUND, 20);
    ended(answeredBefore);
    Stretch stretch = asked("1:a");
    ended(answeredMeanwhile);
    GiveBack unanswered = sent(Op.REFUND, 3);
    answered(stretch, 5_000, 5_100);
    assertThat(stretch.untilNanos()).isEqualTo(5_077);
    ended(unanswered);
    assertThat(spent(5_000, 5_100).untilNanos()).isEqualTo(5_100);
  }

  @Test
  void place_besideACancellation_movesUpByIt() {
    Stretch first = spent(5_000, 5_100);
    Stretch inFlight = asked("1:a");
    ended(cancelled(first));
    answered(inFlight, 5_010, 5_200);
    assertThat(inFlight.untilNanos()).isEqualTo(5_100);
  }

  @Test
  void place_whileAResetIsUnderWay_isWorthNothing() {
    GiveBack reset = sent(Op.RESET, 0);
    Stretch stretch = spent(5_000, 5_100);
    assertThat(stretch.untilNanos()).isEqualTo(Gcra.NO_TAT);
    ended(reset);
    assertThat(reservations.buckets()).isZero();
  }

  @Test
  void place_besideMoreThanALongHolds_isWorthNothing() {
    GiveBack first = sent(Op.REFUND, HUGE);
    GiveBack second = sent(Op.REFUND, HUGE);
    GiveBack third = sent(Op.REFUND, HUGE);
    ended(second);
    assertThat(reservations.giveBack(spent(5_000, 5_100), 100, 1_000)).isNull();
    ended(first);
    ended(third);
    assertThat(spent(5_000, 5_100).untilNanos()).isEqualTo(5_100);
  }

  @Test
  void reset_thatHasEnded_countsNoLonger_thoughItsBucketStaysInUse() {
    asked("1:a");
    for (boolean isUndone : new boolean[] {false, true}) {
      List<GiveBack> reset = List.of(sent(Op.RESET, 0));
      if (isUndone) {
        reservations.undone(reset);
      } else {
        reservations.ended(reset, false);
      }
      assertThat(reservations.isLowering("1:a")).isFalse();
      assertThat(spent(5_000, 5_100).untilNanos()).isEqualTo(5_100);
    }
  }

  // Lost answers

  @Test
  void lost_countsUntilNoServerCanApplyIt() {
    lost(cancelled(spent(5_000, 5_100)));
    assertThat(spent(5_010, 5_200).untilNanos()).isEqualTo(5_100);
    hereNanos += 100 + Duration.ofMillis(50).toNanos();
    reservations.close(spent(5_010, 5_200)); // looks for what is over
    assertThat(spent(5_010, 5_200).untilNanos()).isEqualTo(5_200);
  }

  /** A pass over all others takes many calls; only they use the bucket in the meantime. */
  @Test
  void lost_ofABucketBesideManyOthers_isForgottenAtTheBucketsNextCall() {
    for (int i = 0; i < 5_000; i++) {
      answered(asked("2:" + i), 5_000, Long.MAX_VALUE);
    }
    lost(sent(Op.RESET, 0));
    lost(sent(Op.REFUND, 30));
    assertThat(reservations.isLowering("1:a")).isTrue();
    hereNanos += 60_000_000_000L;
    Stretch stretch = spent(5_000, 5_100);
    assertThat(stretch.untilNanos()).isEqualTo(5_100);
    GiveBack cancelled = cancelled(stretch);
    assertThat(cancelled.charge().incrementNanos()).isEqualTo(100);
    ended(cancelled);
    lost(sent(Op.REFUND, 30));
    hereNanos += 60_000_000_000L;
    assertThat(reservations.isLowering("1:a")).isFalse();
  }

  @Test
  void lost_withoutAnEnd_countsForAMinute() {
    lost(sent(Op.REFUND, 30));
    assertThat(reservations.inFlight()).isZero();
    hereNanos += Duration.ofSeconds(59).toNanos();
    reservations.close(spent(5_000, 5_100));
    assertThat(reservations.isLowering("1:a")).isTrue();
    hereNanos += Duration.ofSeconds(1).toNanos();
    reservations.close(spent(5_000, 5_100));
    assertThat(reservations.isLowering("1:a")).isFalse();
    assertThat(reservations.buckets()).isZero();
  }

  /** A pass over the others is long, so only the bucket's next call forgets the first one. */
  @Test
  void lost_oneAfterTheOther_count_untilTheSecondIsOver() {
    for (int i = 0; i < 50; i++) {
      spent(5_000, Long.MAX_VALUE);
    }
    lost(sent(Op.REFUND, 30));
    hereNanos += Duration.ofSeconds(30).toNanos();
    lost(sent(Op.REFUND, 30));
    hereNanos += Duration.ofSeconds(59).toNanos();
    assertThat(reservations.isLowering("1:a")).isTrue();
    hereNanos += Duration.ofSeconds(1).toNanos();
    assertThat(reservations.isLowering("1:a")).isFalse();
  }

  // Withdrawals

  @Test
  void withdraw_ofTheLastStretch_movesNothing() {
    Stretch before = spent(5_000, 5_300);
    reservations.withdraw(charge(Op.WITHDRAW, 100, 5_400));
    assertThat(before.untilNanos()).isEqualTo(5_300);
  }

  @Test
  void withdraw_whereAReservationTookTheTatToTheSameInstant_movesIt() {
    Stretch behind = spent(5_000, 5_400);
    reservations.withdraw(charge(Op.WITHDRAW, 100, 5_400));
    assertThat(behind.untilNanos()).isEqualTo(5_300);
  }

  @Test
  void withdraw_besideASpendInFlight_movesIt_andWhatEndsWithinTheWithdrawnStretch() {
    Stretch within = spent(5_000, 5_350);
    Stretch inFlight = asked("1:a");
    reservations.withdraw(charge(Op.WITHDRAW, 100, 5_400));
    answered(inFlight, 5_000, 5_400);
    assertThat(inFlight.untilNanos()).isEqualTo(5_300);
    assertThat(within.untilNanos()).isEqualTo(5_250);
  }

  // Bounds

  @Test
  void open_moreThanMayOfABucket_leavesItsOldestSpent() {
    Stretch elsewhere = asked("1:b");
    answered(elsewhere, 5_000, 5_100);
    Stretch first = spent(5_000, 5_100);
    Stretch second = spent(5_000, 5_200);
    for (int i = 2; i < OpenReservations.MOST_OF_A_BUCKET; i++) {
      asked("1:a");
    }
    assertThat(settledEarly).isEmpty();
    asked("1:a");
    assertThat(settledEarly).containsExactly(OpenReservations.MOST_OF_A_BUCKET);
    assertThat(reservations.giveBack(first, 100, 1_000)).isNull();
    assertThat(reservations.giveBack(second, 100, 1_000)).isNotNull();
    assertThat(reservations.giveBack(elsewhere, 100, 1_000)).isNotNull();
  }

  @Test
  void open_moreThanMayOfABucket_whileAllAreInFlight_settlesNone() {
    List<Stretch> inFlight =
        Stream.generate(() -> asked("1:a")).limit(OpenReservations.MOST_OF_A_BUCKET + 1).toList();
    assertThat(settledEarly).isEmpty();
    answered(inFlight.get(0), 5_000, 5_100);
    assertThat(reservations.giveBack(inFlight.get(0), 100, 1_000)).isNotNull();
  }

  @Test
  void open_moreThanMayInAll_leavesTheOldestSpent() {
    List<Stretch> stretches = new ArrayList<>();
    for (int i = 0; i < 11_000; i++) {
      Stretch stretch = asked("1:" + i);
      answered(stretch, 5_000, 5_000 + Duration.ofDays(1).toNanos());
      stretches.add(stretch);
    }
    assertThat(reservations.size()).isEqualTo(10_000);
    assertThat(settledEarly).hasSize(1_000).containsOnly(10_000);
    assertThat(stretches.subList(0, 500)).allMatch(one -> one.untilNanos() == Gcra.NO_TAT);
    assertThat(stretches.subList(2_000, 11_000)).allMatch(one -> one.untilNanos() != Gcra.NO_TAT);
  }

  @Test
  void open_forgetsWhatNobodyClosed_onceItsTokensAreBack() {
    for (int i = 0; i < 1_000; i++) {
      spent(5_000, 5_100);
    }
    hereNanos += 100;
    for (int i = 0; i < 1_000; i++) {
      asked("1:a");
    }
    assertThat(reservations.size()).isEqualTo(1_000);
  }

  @Test
  void open_forgets_byTheStoresClockWhereItIsKnown() {
    Stretch stretch = spent(5_000, 6_000);
    storeNanos = OptionalLong.of(5_999);
    hereNanos += 1_000_000; // does not count
    lookForWhatIsOver();
    assertThat(stretch.untilNanos()).isEqualTo(6_000);
    storeNanos = OptionalLong.of(6_000);
    lookForWhatIsOver();
    assertThat(stretch.untilNanos()).isEqualTo(Gcra.NO_TAT);
  }

  @Test
  void open_forgets_byTheTimeHereWhereTheStoresIsUnknown() {
    Stretch stretch = spent(5_000, 6_000);
    hereNanos += 999;
    lookForWhatIsOver();
    assertThat(stretch.untilNanos()).isEqualTo(6_000);
    hereNanos++;
    lookForWhatIsOver();
    assertThat(stretch.untilNanos()).isEqualTo(Gcra.NO_TAT);
  }

  /** No call waits for a pass over all others, and yet none of them stays for ever. */
  @Test
  void open_looksAtTwoReservations_andTheNextCallGoesOnBehindThem() {
    for (int i = 0; i < 5; i++) {
      spent(5_000, Long.MAX_VALUE);
    }
    List<Stretch> over = Stream.generate(() -> spent(5_000, 6_000)).limit(6).toList();
    hereNanos += 1_000;
    long before = 0;
    for (int i = 0; i < 20; i++) {
      lookForWhatIsOver();
      long forgotten = over.stream().filter(one -> one.untilNanos() == Gcra.NO_TAT).count();
      assertThat(forgotten - before).isBetween(0L, 2L);
      before = forgotten;
    }
    assertThat(before).isEqualTo(6);
  }

  @Test
  void close_twice_isCountedOnce() {
    Stretch stretch = spent(5_000, 5_100);
    assertThat(reservations.inFlight()).isZero();
    reservations.close(stretch);
    reservations.close(List.of(stretch));
    assertThat(reservations.size()).isZero();
    assertThat(reservations.buckets()).isZero();
  }

  @Test
  void inFlight_countsSpendsAndGiveBacks_untilTheyAreAnswered() {
    Stretch stretch = asked("1:a");
    GiveBack refund = sent(Op.REFUND, 10);
    assertThat(reservations.inFlight()).isEqualTo(2);
    ended(refund);
    answered(stretch, 5_000, 5_100);
    assertThat(reservations.inFlight()).isZero();
  }

  @ParameterizedTest
  @ValueSource(ints = {20, 40, 100, 290})
  void refundOrCancel_ofDecades_givesAllBack(int years) {
    LimitName name = LimitName.builder(1, "PerCentury").jitter(0).build();
    Quota quota = Quota.per(10, Duration.ofDays(365L * years));
    Limits limits = Limits.builder(Catalogue.of(name)).limit("PerCentury", quota).build();
    try (BucketStore store = BucketStore.inMemory()) {
      Limiter limiter = Limiter.of(limits, store);
      assertThat(limiter.spend("PerCentury", "a", 10).allowed()).isTrue();
      assertThat(limiter.refund("PerCentury", "a", 10).remaining()).isEqualTo(10);
      Reservation reservation = limiter.reserve("PerCentury", "b", 10);
      reservation.cancel();
      assertThat(limiter.check("PerCentury", "b", 10).allowed()).isTrue();
    }
  }
}
