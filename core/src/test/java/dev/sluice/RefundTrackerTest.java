// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.RefundStripe.Lowering;
import dev.sluice.RefundStripe.Stretch;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Requirement.MissingDefault;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.store.TimeSource;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RefundTrackerTest {

  private long hereNanos = 1;
  private final AtomicInteger settledEarly = new AtomicInteger();
  private final RefundTracker refundTracker =
      new RefundTracker(
          () -> hereNanos, OptionalLong::empty, 200_000, settledEarly::incrementAndGet);

  private static List<Charge> spend(String key) {
    return List.of(new Charge(key, Op.SPEND, 100, 1_000, Effect.NO_END));
  }

  private Stretch placed(long spentAtNanos, long untilNanos) {
    Stretch stretch = refundTracker.open(spend("1:a")).get(0);
    place(stretch, spentAtNanos, untilNanos);
    return stretch;
  }

  private void place(Stretch stretch, long spentAtNanos, long untilNanos) {
    refundTracker.place(stretch, new Reading(spentAtNanos, untilNanos - 100), untilNanos);
  }

  private Lowering cancelled(Stretch stretch) {
    Lowering lowering = refundTracker.giveBack(stretch, 100, 1_000);
    assertThat(lowering).isNotNull();
    return Objects.requireNonNull(lowering);
  }

  private List<Lowering> refunding(String key, long refundNanos) {
    return refundTracker.send(
        List.of(new Charge(key, Op.REFUND, refundNanos, 1_000, Effect.NO_END)));
  }

  private void answered(Lowering lowering, long nowNanos, long tatNanos) {
    refundTracker.answered(List.of(lowering), List.of(new Reading(nowNanos, tatNanos)));
  }

  private void refunded(long nowNanos, long tatNanos, long refundNanos) {
    answered(refunding("1:a", refundNanos).get(0), nowNanos, tatNanos);
  }

  @Test
  void giveBack_anEarlierStretch_movesTheLaterOnesUpAtOnce() {
    Stretch first = placed(5_000, 5_100);
    Stretch second = placed(5_000, 5_200);
    Stretch third = placed(5_000, 5_300);
    Lowering lowering = cancelled(second);
    assertThat(first.untilNanos()).isEqualTo(5_100);
    assertThat(third.untilNanos()).isEqualTo(5_200);
    answered(lowering, 5_050, 5_300);
    assertThat(first.untilNanos()).isEqualTo(5_100);
    assertThat(third.untilNanos()).isEqualTo(5_200);
  }

  @Test
  void giveBack_whatIsRefilledAlready_costsTheLaterOnesNothing() {
    Stretch early = placed(1_000, 1_100);
    Stretch late = placed(1_001, 1_200);
    hereNanos += 70;

    Lowering refund = cancelled(early);

    assertThat(refund.charge().incrementNanos()).isEqualTo(29);
    assertThat(late.untilNanos()).isEqualTo(1_171);
  }

  @Test
  void answered_lessThanAsked_movesTheLaterOnesBack() {
    Stretch first = placed(5_000, 5_100);
    Stretch second = placed(5_000, 5_200);
    Lowering lowering = cancelled(first);
    assertThat(second.untilNanos()).isEqualTo(5_100);
    answered(lowering, 5_070, 5_200);
    assertThat(second.untilNanos()).isEqualTo(5_170);
  }

  @Test
  void failed_keepsTheLaterOnesWhereTheyAre() {
    Stretch first = placed(5_000, 5_100);
    Stretch second = placed(5_000, 5_200);
    refundTracker.failed(List.of(cancelled(first)));
    assertThat(second.untilNanos()).isEqualTo(5_100);
  }

  @Test
  void place_whileTheFateOfARefundIsUnknown_countsIt() {
    refundTracker.failed(List.of(cancelled(placed(5_000, 5_100))));
    assertThat(placed(5_010, 5_200).untilNanos()).isEqualTo(5_100);
  }

  @Test
  void place_longAfterARefundOfUnknownFate_doesNotCountIt() {
    refundTracker.failed(List.of(cancelled(placed(5_000, 5_100))));
    hereNanos += RefundStripe.LATE_NANOS + 200;
    assertThat(placed(5_010, 5_200)).isNotNull(); // looks
    assertThat(placed(5_020, 5_300).untilNanos()).isEqualTo(5_300);
  }

  @Test
  void place_inFrontOfAPlacedOne_findsItsPlace() {
    Stretch early = refundTracker.open(spend("1:a")).get(0);
    Stretch late = refundTracker.open(spend("1:a")).get(0);
    place(late, 5_001, 5_200);
    place(early, 5_000, 5_100);
    assertThat(cancelled(late)).isNotNull();
    assertThat(early.untilNanos()).isEqualTo(5_100);
  }

  @Test
  void giveBack_whileAYoungerOneIsInFlight_givesNoMoreThanThatCanBear() {
    Stretch first = placed(5_000, 5_100);
    Stretch second = placed(5_000, 5_200);
    assertThat(cancelled(second).charge().untilNanos()).isEqualTo(5_200);
    assertThat(refundTracker.giveBack(first, 100, 1_000)).isNull();
  }

  @Test
  void send_aPlainRefund_movesAllUp() {
    Stretch stretch = placed(5_000, 5_300);
    refunded(5_050, 5_400, 70);
    assertThat(stretch.untilNanos()).isEqualTo(5_230);
  }

  @Test
  void send_onAnotherBucket_changesNothing() {
    Stretch stretch = placed(5_000, 5_300);
    assertThat(refunding("1:b", 100)).hasSize(1);
    assertThat(stretch.untilNanos()).isEqualTo(5_300);
  }

  /**
   * The race: a refund is made, then the spend, and its news comes while the spend is on its way.
   */
  @Test
  void answered_beforeTheSpend_isIgnored() {
    Stretch stretch = refundTracker.open(spend("1:a")).get(0);
    refunded(4_999, 5_200, 150);
    place(stretch, 5_000, 5_300);
    assertThat(stretch.untilNanos()).isEqualTo(5_300);
  }

  /** The race: the spend is made, then a refund, whose news comes before that of the spend. */
  @Test
  void answered_whileTheSpendWasOnItsWay_counts() {
    Stretch stretch = refundTracker.open(spend("1:a")).get(0);
    refunded(5_001, 5_300, 150);
    place(stretch, 5_000, 5_300);
    assertThat(stretch.untilNanos()).isEqualTo(5_150);
  }

  /** The race: a refund is made, then the spend, whose news comes first. */
  @Test
  void answered_afterALaterSpendWasPlaced_givesThatBackInWhole() {
    List<Lowering> refund = refunding("1:a", 150);
    Stretch stretch = placed(5_000, 5_300);
    assertThat(stretch.untilNanos()).isEqualTo(5_150);
    answered(refund.get(0), 4_999, 5_350);
    assertThat(stretch.untilNanos()).isEqualTo(5_300);
  }

  @Test
  void place_onABucketThatOthersLowered_movesAllUp() {
    Stretch stretch = placed(5_000, 5_300);
    assertThat(placed(5_010, 5_200)).isNotNull();
    assertThat(stretch.untilNanos()).isEqualTo(5_100);
  }

  /** The store takes back 300 that ended at 6,400, and finds that TAT at 5,050. */
  private void withdrawn() {
    refundTracker.withdrawn(
        List.of(new Charge("1:a", Op.WITHDRAW, 300, 1_000, 6_400)),
        List.of(new Reading(5_050, 6_400)));
  }

  @Test
  void withdrawn_whatStretchesTookTheTatTo_movesThem() {
    Stretch below = placed(5_000, 6_100);
    Stretch first = placed(5_010, 6_300);
    Stretch second = placed(5_020, 6_400);
    withdrawn();
    assertThat(below.untilNanos()).isEqualTo(6_100);
    assertThat(first.untilNanos()).isEqualTo(6_000);
    assertThat(second.untilNanos()).isEqualTo(6_100);
  }

  @Test
  void withdrawn_whileSpendsAreOnTheirWay_movesThoseThatItTookBack() {
    List<Stretch> onTheirWay = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      onTheirWay.addAll(refundTracker.open(spend("1:a")));
    }
    withdrawn();
    place(onTheirWay.get(0), 5_000, 6_100);
    place(onTheirWay.get(1), 5_020, 6_400);
    place(onTheirWay.get(2), 5_060, 6_200);
    assertThat(onTheirWay.get(0).untilNanos()).isEqualTo(6_100);
    assertThat(onTheirWay.get(1).untilNanos()).isEqualTo(6_100);
    assertThat(onTheirWay.get(2).untilNanos()).isEqualTo(6_200);
  }

  /** It was spent when the tokens were back, and its answer came before that of the withdrawal. */
  @Test
  void withdrawn_whatWasSpentAfterIt_staysWhereItIs() {
    Stretch before = placed(5_010, 6_300);
    Stretch after = placed(5_051, 6_500);
    withdrawn();
    assertThat(before.untilNanos()).isEqualTo(6_000);
    assertThat(after.untilNanos()).isEqualTo(6_500);
  }

  /** Nobody knows which of two in one tick came first: the caller may lose by it, no other does. */
  @Test
  void withdrawn_whatWasSpentInItsTick_isMoved() {
    Stretch same = placed(5_050, 6_500);
    withdrawn();
    assertThat(same.untilNanos()).isEqualTo(6_200);
  }

  @Test
  void withdrawn_isSeenByThoseThatLookedBefore() {
    Stretch stretch = placed(5_000, 6_400);
    assertThat(stretch.untilNanos()).isEqualTo(6_400);
    withdrawn();
    assertThat(stretch.untilNanos()).isEqualTo(6_100);
  }

  @Test
  void withdrawn_whatWasFollowed_movesNothing() {
    Stretch stretch = placed(5_000, 6_500);
    refundTracker.withdrawn(
        List.of(new Charge("1:a", Op.WITHDRAW, 300, 1_000, 6_400)),
        List.of(new Reading(5_050, 6_500)));
    assertThat(stretch.untilNanos()).isEqualTo(6_500);
  }

  @Test
  void send_aReset_letsAllLapse() {
    Stretch stretch = placed(5_000, 5_300);
    Stretch inFlight = refundTracker.open(spend("1:a")).get(0);
    List<Lowering> reset = refundTracker.send(List.of(new Charge("1:a", Op.RESET, 0, 0, -1)));
    assertThat(stretch.untilNanos()).isZero();
    place(inFlight, 5_000, 5_400);
    assertThat(inFlight.untilNanos()).isZero();
    answered(reset.get(0), 5_000, 5_400);
    assertThat(placed(5_001, 5_101).untilNanos()).isEqualTo(5_101);
  }

  @Test
  void place_manyNeverClosed_areForgottenOnceTheirTokensCameBack() {
    for (int i = 0; i < 100_000; i++) {
      Stretch unused = placed(5_000 + 10L * i, 5_100 + 10L * i);
    }
    assertThat(refundTracker.size()).isLessThan(3_000);
    assertThat(settledEarly).hasValue(0);
  }

  /** It seemed to be refilled, as the refund counted in full until its answer. */
  @Test
  void open_whileARefundIsInFlight_forgetsNothingThatItMayNotHaveMoved() {
    Lowering refund = refunding("1:a", 100).get(0);
    Stretch spent = placed(5_000, 5_100);
    assertThat(spent.untilNanos()).isEqualTo(5_000);
    for (int i = 0; i < 4; i++) {
      assertThat(refundTracker.open(spend("1:a"))).hasSize(1);
    }

    answered(refund, 4_990, 4_990);

    assertThat(spent.untilNanos()).isEqualTo(5_100);
  }

  @Test
  void open_moreThanMay_settlesTheOldest() {
    Stretch oldest = placed(5_000, 1_000_000_000);
    for (int i = 0; i < 200_000; i++) {
      Stretch unused = placed(5_000, 1_000_000_100 + 100L * i);
    }
    assertThat(refundTracker.size()).isEqualTo(200_000);
    assertThat(settledEarly).hasValue(1);
    assertThat(oldest.untilNanos()).isZero();
  }

  /** A cancellation used to walk through all open reservations of its bucket. */
  @Test
  void giveBack_among100000_costsMicroseconds() {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long start = threads.getCurrentThreadCpuTime();
    List<Stretch> stretches = new ArrayList<>();
    for (int i = 0; i < 100_000; i++) {
      stretches.add(placed(5_000, 1_000_000_000 + 100L * i));
    }
    Collections.shuffle(stretches, new Random(1));
    for (Stretch stretch : stretches) {
      Lowering lowering = refundTracker.giveBack(stretch, 100, 1_000);
      if (lowering != null) {
        answered(lowering, 5_000, 2_000_000_000);
      }
    }
    assertThat(refundTracker.size()).isZero();
    assertThat(Duration.ofNanos(threads.getCurrentThreadCpuTime() - start))
        .as("processor time of this thread, which a busy machine does not change")
        .isLessThan(Duration.ofSeconds(20));
  }

  @Test
  void close_twice_isCountedOnce() {
    Stretch stretch = placed(5_000, 5_300);
    refundTracker.close(List.of(stretch));
    refundTracker.close(stretch);
    assertThat(refundTracker.size()).isZero();
  }

  @Test
  void reserve_settledOrDenied_isNotTracked() {
    Limits samples =
        Limits.builder(Catalogue.samples())
            .limit("ApiCallsPerKey", Quota.per(3, Duration.ofSeconds(1)))
            .build();
    CurrentLimits limits = new CurrentLimits(samples);
    Engine engine =
        new Engine(
            limits,
            BucketStore.inMemory(() -> 1),
            Engine.NOBODY,
            new FailureRules(FailureRule.fail(), Map.of(), TimeSource.system()),
            MissingDefault.REFUSE,
            TimeSource.system(),
            Parking.OF_THREADS);
    Transaction two = Transaction.of(samples, "ApiCallsPerKey", "a").withCost(2);
    Reservation cancelled = engine.reserve(List.of(two));
    assertThat(engine.ledger().refundTracker().size()).isEqualTo(1);
    cancelled.cancel();
    engine.reserve(List.of(two)).close();
    assertThat(engine.reserve(List.of(two)).denied()).isTrue();
    assertThat(engine.ledger().refundTracker().size()).isZero();
  }

  @ParameterizedTest
  @ValueSource(ints = {20, 40, 100, 290})
  void refundOrCancel_ofDecades_givesAllBack(int years) {
    LimitName name = LimitName.builder(1, "PerCentury").jitter(0).build();
    Quota quota = Quota.of(10, 10, Duration.ofDays(365L * years));
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
