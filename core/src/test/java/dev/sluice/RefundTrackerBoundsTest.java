// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.RefundStripe.Lowering;
import dev.sluice.RefundStripe.Stretch;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * To the nanosecond: where stretches lie, when they are forgotten, and which end a refund names.
 */
class RefundTrackerBoundsTest {

  private static final long SECOND = 1_000_000_000;
  private static final long QUARTER = TimeLine.FREE / 4;

  private long hereNanos = 1;
  private OptionalLong storeNanos = OptionalLong.empty();
  private final RefundTracker refundTracker =
      new RefundTracker(() -> hereNanos, () -> storeNanos, 100, () -> {});

  @CanIgnoreReturnValue
  private Stretch opened() {
    return refundTracker
        .open(List.of(new Charge("1:a", Op.SPEND, 100, 1_000, Effect.NO_END)))
        .get(0);
  }

  /** A spend of 100 ns that left this TAT. */
  @CanIgnoreReturnValue
  private Stretch placed(long spentAtNanos, long untilNanos) {
    return placed(opened(), spentAtNanos, untilNanos);
  }

  @CanIgnoreReturnValue
  private Stretch placed(Stretch stretch, long spentAtNanos, long untilNanos) {
    refundTracker.place(stretch, new Reading(spentAtNanos, untilNanos - 100), untilNanos);
    return stretch;
  }

  @CanIgnoreReturnValue
  private Lowering cancelled(Stretch stretch) {
    return cancelled(stretch, 100);
  }

  @CanIgnoreReturnValue
  private Lowering cancelled(Stretch stretch, long worthNanos) {
    Lowering lowering = refundTracker.giveBack(stretch, worthNanos, Long.MAX_VALUE);
    assertThat(lowering).as("something to give back").isNotNull();
    return Objects.requireNonNull(lowering);
  }

  @CanIgnoreReturnValue
  private Lowering sent(Op op, long refundNanos) {
    return refundTracker
        .send(List.of(new Charge("1:a", op, refundNanos, Long.MAX_VALUE, Effect.NO_END)))
        .get(0);
  }

  private void answered(Lowering lowering, long nowNanos, long tatNanos) {
    refundTracker.answered(List.of(lowering), List.of(new Reading(nowNanos, tatNanos)));
  }

  // Answers

  @Test
  void answered_lessThanAsked_leavesTheEarlierOnesWhereTheyAre() {
    Stretch first = placed(5_000, 5_100);
    Stretch second = placed(5_000, 5_200);
    Stretch third = placed(5_000, 5_300);
    Lowering lowering = cancelled(second);
    answered(lowering, 5_150, 5_300);
    assertThat(third.untilNanos()).isEqualTo(5_250);
    assertThat(first.untilNanos()).isEqualTo(5_100);
  }

  @Test
  void answered_lessThanAPlainRefundAskedFor_movesAllBack() {
    Stretch stretch = placed(5_000, 5_300);
    Lowering refund = sent(Op.REFUND, 70);
    assertThat(stretch.untilNanos()).isEqualTo(5_230);
    answered(refund, 5_280, 5_300);
    assertThat(stretch.untilNanos()).isEqualTo(5_280);
  }

  @Test
  void answered_withALowerTatThanKnown_movesAllDownToIt() {
    Stretch stretch = placed(5_000, 5_300);
    answered(sent(Op.REFUND, 70), 5_050, 5_200);
    assertThat(stretch.untilNanos()).isEqualTo(5_130);
  }

  @Test
  void answered_betweenTwoSpendsOnTheirWay_countsForBoth() {
    Stretch first = opened();
    Stretch second = opened();
    answered(sent(Op.REFUND, 70), 5_010, 5_400);
    assertThat(placed(first, 5_000, 5_100).untilNanos()).isEqualTo(5_030);
    assertThat(placed(second, 5_001, 5_200).untilNanos()).isEqualTo(5_130);
  }

  /** Within one tick of the store's clock the refund counts as the later one. */
  @Test
  void answered_inTheTickOfTheSpend_counts() {
    Stretch stretch = opened();
    answered(sent(Op.REFUND, 70), 5_000, 5_400);
    assertThat(placed(stretch, 5_000, 5_300).untilNanos()).isEqualTo(5_230);
  }

  @Test
  void answered_whileASpendIsOnItsWay_counts_thoughTheRefundWasSentBefore() {
    Lowering refund = sent(Op.REFUND, 70);
    Stretch stretch = opened();
    answered(refund, 5_010, 5_400);
    assertThat(placed(stretch, 5_000, 5_300).untilNanos()).isEqualTo(5_230);
  }

  @Test
  void answered_tellsTheStoresPresent() {
    Stretch first = placed(5_000, 9_000);
    Stretch second = placed(5_000, 9_100);
    answered(sent(Op.REFUND, 10), 8_000, 9_100);
    hereNanos += 50;
    assertThat(cancelled(first, 2_000).charge().incrementNanos()).isEqualTo(8_990 - 8_050);
    assertThat(second.untilNanos()).isEqualTo(9_090 - 940);
  }

  /** Only a spend whose news came after the refund was sent may have been made after it. */
  @Test
  void answered_afterTheStoresClockSteppedBack_movesNoSpendThatWasPlacedBefore() {
    Stretch first = placed(5_000, 5_100);
    Stretch second = placed(5_010, 5_200);
    answered(cancelled(first), 5_005, 5_200);
    assertThat(second.untilNanos()).isEqualTo(5_110);
  }

  /** Nobody knows which came first: the refund counts as the later one, and moves the spend. */
  @Test
  void answered_inTheTickOfASpendThatWasPlacedMeanwhile_counts() {
    Lowering refund = sent(Op.REFUND, 70);
    Stretch stretch = placed(5_000, 5_300);
    answered(refund, 5_000, 5_400);
    assertThat(stretch.untilNanos()).isEqualTo(5_230);
  }

  @Test
  void answered_ofAReset_endsIt_alsoForASpendThatWasOnItsWay() {
    Lowering reset = sent(Op.RESET, 0);
    Stretch later = opened();
    answered(reset, 5_000, 5_400);
    assertThat(placed(later, 5_001, 5_101).untilNanos()).isEqualTo(5_101);
  }

  @Test
  void send_aRefund_isSeenByThoseThatLookedBefore() {
    Stretch stretch = placed(5_000, 5_300);
    assertThat(stretch.untilNanos()).isEqualTo(5_300);
    sent(Op.REFUND, 70);
    assertThat(stretch.untilNanos()).isEqualTo(5_230);
  }

  @Test
  void send_moreThanFitsBesideWhatIsInFlight_givesBackLess() {
    assertThat(sent(Op.REFUND, QUARTER - 30).charge().incrementNanos()).isEqualTo(QUARTER - 30);
    assertThat(sent(Op.REFUND, 100).charge().incrementNanos()).isEqualTo(30);
    assertThat(sent(Op.REFUND, 100).charge().incrementNanos()).isZero();
  }

  /** What was answered is not in flight any more, and limits nobody. */
  @Test
  void send_afterTheEarlierOnesWereAnswered_givesBackAll() {
    opened(); // keeps the line
    for (int i = 0; i < 20; i++) {
      Lowering refund = sent(Op.REFUND, QUARTER - 30);
      assertThat(refund.charge().incrementNanos()).isEqualTo(QUARTER - 30);
      answered(refund, 5_000, 5_000 + QUARTER - 30);
    }
  }

  // Places

  @Test
  void place_afterMoreWasGivenBackThanALineHolds_isSettled() {
    Stretch stretch = opened();
    for (long refundNanos : new long[] {QUARTER, QUARTER, TimeLine.FREE / 2 - 2 * QUARTER}) {
      answered(sent(Op.REFUND, refundNanos), 5_000, 5_000 + TimeLine.FREE);
    }
    placed(stretch, 5_000, 5_100);
    assertThat(refundTracker.size()).isZero();
  }

  @Test
  void open_moreThanMay_whileAllAreOnTheirWay_settlesNone() {
    AtomicInteger settled = new AtomicInteger();
    RefundTracker two =
        new RefundTracker(() -> hereNanos, () -> storeNanos, 2, settled::incrementAndGet);
    Charge spend = new Charge("1:a", Op.SPEND, 100, 1_000, Effect.NO_END);
    assertThat(two.open(List.of(spend, spend, spend))).hasSize(3);
    assertThat(settled).hasValue(0);
    assertThat(two.size()).isEqualTo(3);
  }

  @Test
  void place_ofTwoSpendsInOneTick_goesByWhatTheyLeft_refundsUnderWayIncluded() {
    Stretch later = opened();
    Stretch earlier = opened();
    sent(Op.REFUND, 100);
    assertThat(placed(later, 5_000, 5_200).untilNanos()).isEqualTo(5_100);
    assertThat(placed(earlier, 5_000, 5_150).untilNanos()).isEqualTo(5_050);
    assertThat(cancelled(earlier).charge().incrementNanos()).isEqualTo(50);
    assertThat(later.untilNanos()).isEqualTo(5_050);
  }

  @Test
  void place_behindARefundThatWasAppliedAlready_movesNothing() {
    Stretch first = placed(5_000, 5_100);
    assertThat(cancelled(placed(5_000, 5_200)).charge().incrementNanos()).isEqualTo(100);
    placed(5_010, 5_200); // found 5_100
    assertThat(first.untilNanos()).isEqualTo(5_100);
  }

  @Test
  void place_onABucketThatOthersLowered_isSeenByThoseThatLookedBefore() {
    Stretch stretch = placed(5_000, 5_300);
    assertThat(stretch.untilNanos()).isEqualTo(5_300);
    placed(5_010, 5_200);
    assertThat(stretch.untilNanos()).isEqualTo(5_100);
  }

  @Test
  void place_duringAReset_isSettled() {
    Stretch stretch = opened();
    sent(Op.RESET, 0);
    placed(stretch, 5_000, 5_100);
    assertThat(refundTracker.size()).isZero();
  }

  // Refunds

  @Test
  void giveBack_isSeenByThoseThatLookedBefore() {
    Stretch first = placed(5_000, 5_100);
    Stretch second = placed(5_000, 5_200);
    assertThat(second.untilNanos()).isEqualTo(5_200);
    cancelled(first);
    assertThat(second.untilNanos()).isEqualTo(5_100);
  }

  @Test
  void giveBack_ofNothing_settles() {
    Stretch first = placed(5_000, 5_100);
    Stretch second = placed(5_000, 5_200);
    cancelled(second);
    assertThat(refundTracker.giveBack(first, 100, 1_000)).isNull();
    assertThat(refundTracker.size()).isZero();
    assertThat(first.untilNanos()).isEqualTo(Gcra.NO_TAT);
  }

  /** Nothing stands in front of it, and nothing can: the refund may arrive when it will. */
  @Test
  void giveBack_theOnlyOne_namesItsOwnEnd() {
    Stretch alone = placed(SECOND, 2 * SECOND);
    assertThat(cancelled(alone).charge().untilNanos()).isEqualTo(2 * SECOND);
  }

  @Test
  void giveBack_beforeAnother_namesItsOwnEnd() {
    Stretch first = placed(SECOND, 2 * SECOND);
    placed(SECOND, 2 * SECOND + 100);
    assertThat(cancelled(first).charge().untilNanos()).isEqualTo(2 * SECOND);
  }

  @Test
  void giveBack_behindAnother_namesAnEarlierEnd() {
    placed(SECOND, 2 * SECOND);
    Stretch second = placed(SECOND, 2 * SECOND + 100);
    assertThat(cancelled(second).charge().untilNanos())
        .isEqualTo(SECOND + RefundStripe.LATE_NANOS + 100);
  }

  @Test
  void giveBack_whileASpendIsOnItsWay_namesAnEarlierEnd() {
    Stretch first = placed(SECOND, 2 * SECOND);
    opened();
    assertThat(cancelled(first).charge().untilNanos())
        .isEqualTo(SECOND + RefundStripe.LATE_NANOS + 100);
  }

  @Test
  void giveBack_behindOneThatWasClosed_namesItsOwnEnd() {
    Stretch first = placed(SECOND, 2 * SECOND);
    Stretch second = placed(SECOND, 2 * SECOND + 100);
    refundTracker.close(first);
    assertThat(cancelled(second).charge().untilNanos()).isEqualTo(2 * SECOND + 100);
  }

  @Test
  void giveBack_besideASpendThatWasGivenUp_namesItsOwnEnd() {
    Stretch first = placed(SECOND, 2 * SECOND);
    refundTracker.close(opened());
    assertThat(cancelled(first).charge().untilNanos()).isEqualTo(2 * SECOND);
  }

  @Test
  void giveBack_withoutTheStoresClock_countsFromItsSpend() {
    Stretch first = opened();
    Stretch second = opened();
    hereNanos += 30;
    placed(first, SECOND, 2 * SECOND);
    placed(second, SECOND, 2 * SECOND + 100);
    hereNanos += 40;
    assertThat(cancelled(second).charge().untilNanos())
        .isEqualTo(SECOND + 70 + RefundStripe.LATE_NANOS + 100);
  }

  @Test
  void giveBack_withoutTheStoresClock_countsFromTheLastAnswer() {
    placed(SECOND, 2 * SECOND);
    Stretch second = placed(SECOND, 2 * SECOND + 100);
    hereNanos += 10;
    placed(SECOND + 500, 2 * SECOND + 200);
    hereNanos += 40;
    assertThat(cancelled(second).charge().untilNanos())
        .isEqualTo(SECOND + 540 + RefundStripe.LATE_NANOS + 100);
  }

  @Test
  void giveBack_withTheStoresClock_countsFromIt() {
    placed(SECOND, 2 * SECOND);
    Stretch second = placed(SECOND, 2 * SECOND + 100);
    storeNanos = OptionalLong.of(SECOND + 900);
    assertThat(cancelled(second).charge().untilNanos())
        .isEqualTo(SECOND + 900 + RefundStripe.LATE_NANOS + 100);
  }

  /** Sums of shifts must not overflow. */
  @Test
  void giveBack_moreThanALineHolds_givesBackNothing() {
    Stretch first = placed(5_000, 2 * QUARTER);
    Stretch second = placed(5_000, 3 * QUARTER);
    assertThat(cancelled(first, QUARTER + 1).charge().incrementNanos()).isEqualTo(QUARTER);
    assertThat(refundTracker.giveBack(second, 100, Long.MAX_VALUE)).isNull();
  }

  // Time

  @Test
  void open_forgetsAStretch_whenItsTokensHaveComeBack_byTheTimeHere() {
    Stretch stretch = placed(5_000, 6_000);
    hereNanos += 999;
    opened();
    assertThat(stretch.untilNanos()).isEqualTo(6_000);
    hereNanos += 1;
    opened();
    assertThat(stretch.untilNanos()).isEqualTo(Gcra.NO_TAT);
  }

  @Test
  void open_forgetsAStretch_whenItsTokensHaveComeBack_byTheStoresClock() {
    Stretch stretch = placed(5_000, 6_000);
    hereNanos += SECOND; // does not count where the store's clock is known
    storeNanos = OptionalLong.of(5_999);
    opened();
    assertThat(stretch.untilNanos()).isEqualTo(6_000);
    storeNanos = OptionalLong.of(6_000);
    opened();
    assertThat(stretch.untilNanos()).isEqualTo(Gcra.NO_TAT);
  }

  @Test
  void open_forgetsAStretch_whenItsTokensHaveComeBack_byTheLastAnswer() {
    Stretch stretch = placed(5_000, 6_000);
    placed(5_999, 6_100);
    opened();
    assertThat(stretch.untilNanos()).isEqualTo(6_000);
    placed(6_000, 6_200);
    opened();
    opened();
    assertThat(stretch.untilNanos()).isEqualTo(Gcra.NO_TAT);
  }

  /** No call waits for a sweep through all. */
  @Test
  void open_looksAtTwoStretches_andGoesOnBehindThem() {
    List<Stretch> stretches = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      stretches.add(placed(5_000, 6_000 + 100L * i));
    }
    hereNanos += 10_000;
    opened();
    List<Boolean> firstLook = stretches.stream().map(RefundTrackerBoundsTest::isForgotten).toList();
    assertThat(firstLook).filteredOn(forgotten -> forgotten).hasSize(2);
    opened();
    assertThat(stretches).filteredOn(RefundTrackerBoundsTest::isForgotten).hasSize(4);
  }

  /** The one that is looked at next may be closed before. */
  @Test
  void open_afterTheNextOneWasClosed_looksAtThoseBehindIt() {
    List<Stretch> stretches = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      stretches.add(placed(5_000, 6_000 + 100L * i)); // the sixth looked at the first two
    }
    refundTracker.close(stretches.get(2));
    hereNanos += 10_000;
    opened();
    assertThat(stretches)
        .filteredOn(RefundTrackerBoundsTest::isForgotten)
        .containsExactly(stretches.get(2), stretches.get(3), stretches.get(4));
  }

  private static boolean isForgotten(Stretch stretch) {
    return stretch.untilNanos() == Gcra.NO_TAT;
  }

  /** The fate of a refund is known when no server can apply it any more. */
  @Test
  void failed_countsUntilTheRefundCanGiveBackNothing_andNoLonger() {
    Lowering refund = cancelled(placed(5_000, 5_100), 60);
    assertThat(refund.charge().untilNanos()).isEqualTo(5_100);
    refundTracker.failed(List.of(refund));
    hereNanos += 100 + RefundStripe.LATE_NANOS - 1;
    opened();
    assertThat(placed(5_010, 5_200).untilNanos()).isEqualTo(5_140);
    hereNanos += 1;
    opened();
    opened();
    assertThat(placed(5_020, 5_300).untilNanos()).isEqualTo(5_300);
  }

  // What failed

  @Test
  void refused_movesAllBack_andIsForgottenAtOnce() {
    Stretch before = placed(5_000, 5_300);
    Lowering refund = sent(Op.REFUND, 70);
    Lowering cancellation = cancelled(placed(5_010, 5_400));
    Stretch after = placed(5_020, 5_500);
    refundTracker.refused(List.of(refund, cancellation));
    assertThat(before.untilNanos()).isEqualTo(5_300);
    assertThat(after.untilNanos()).isEqualTo(5_500);
    assertThat(refundTracker.isLowering("1:a")).isFalse();
    assertThat(refundTracker.inFlight()).isZero();
    refundTracker.close(List.of(before, after));
    assertThat(refundTracker.buckets()).isZero();
  }

  @Test
  void refused_reset_isForgottenAtOnce() {
    refundTracker.refused(List.of(sent(Op.RESET, 0)));
    assertThat(refundTracker.isLowering("1:a")).isFalse();
    assertThat(refundTracker.buckets()).isZero();
  }

  /** A process that only refunds has no reservations that would forget for it. */
  @Test
  void failed_isForgottenByLaterRefunds() {
    List<Charge> charges = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      charges.add(new Charge("1:" + i, Op.REFUND, 10, Long.MAX_VALUE, Effect.NO_END));
    }
    refundTracker.failed(refundTracker.send(charges));
    assertThat(refundTracker.buckets()).isEqualTo(1_000);
    hereNanos += 61 * SECOND;
    charges.forEach(
        charge -> {
          List<Lowering> sent = refundTracker.send(List.of(charge));
          refundTracker.answered(sent, List.of(new Reading(5_000, 0)));
        });
    assertThat(refundTracker.buckets()).isLessThan(100);
  }

  @Test
  void failed_isLowering_forAMinute() {
    Lowering refund = sent(Op.REFUND, 70);
    assertThat(refundTracker.isLowering("1:a")).isTrue();
    refundTracker.failed(List.of(refund));
    hereNanos += 60 * SECOND - 1;
    assertThat(refundTracker.isLowering("1:a")).isTrue();
    hereNanos += 1;
    assertThat(refundTracker.isLowering("1:a")).isFalse();
    sent(Op.RESET, 0);
    assertThat(refundTracker.isLowering("1:a")).as("another one, in flight").isTrue();
  }

  @Test
  void failed_two_areLowering_untilTheLaterOneIsOver() {
    Lowering forThreeMinutes = cancelled(placed(5_000, 180 * SECOND));
    Lowering forAMinute = sent(Op.REFUND, 70);
    refundTracker.failed(List.of(forThreeMinutes));
    refundTracker.failed(List.of(forAMinute));
    hereNanos += 170 * SECOND;
    assertThat(refundTracker.isLowering("1:a")).as("the first one lasts longer").isTrue();
    hereNanos += 20 * SECOND;
    assertThat(refundTracker.isLowering("1:a")).isFalse();
  }

  @Test
  void failed_oneAfterTheOther_areLowering_untilTheSecondIsOver() {
    refundTracker.failed(List.of(sent(Op.REFUND, 70)));
    hereNanos += 30 * SECOND;
    refundTracker.failed(List.of(sent(Op.REFUND, 70)));
    hereNanos += 59 * SECOND;
    assertThat(refundTracker.isLowering("1:a")).isTrue();
    hereNanos += SECOND;
    assertThat(refundTracker.isLowering("1:a")).isFalse();
  }

  @Test
  void failed_whichHauntsForCenturies_isNotForgottenAtOnce() {
    Lowering refund = cancelled(placed(5_000, Long.MAX_VALUE - 10));
    refundTracker.failed(List.of(refund));
    assertThat(refundTracker.isLowering("1:a")).isTrue();
    opened();
    assertThat(refundTracker.isLowering("1:a")).isTrue();
  }

  // Counts

  @Test
  void inFlight_countsSpendsAndRefunds_untilTheyAreAnsweredOrFailed() {
    assertThat(refundTracker.inFlight()).isZero();
    Stretch spend = opened();
    Stretch given = opened();
    assertThat(refundTracker.inFlight()).isEqualTo(2);
    placed(spend, 5_000, 5_100);
    placed(given, 5_000, 5_200);
    assertThat(refundTracker.inFlight()).isZero();
    Lowering cancellation = cancelled(given);
    Lowering refund = sent(Op.REFUND, 10);
    assertThat(refundTracker.inFlight()).isEqualTo(2);
    refundTracker.failed(List.of(cancellation));
    assertThat(refundTracker.inFlight()).isEqualTo(1);
    answered(refund, 5_050, 5_200);
    assertThat(refundTracker.inFlight()).isZero();
  }

  @Test
  void buckets_areForgottenWithTheirLastMember() {
    Stretch spend = opened();
    Stretch other = placed(5_000, 5_100);
    refundTracker.close(spend);
    assertThat(refundTracker.buckets()).isEqualTo(1);
    refundTracker.close(other);
    assertThat(refundTracker.buckets()).isZero();
  }
}
