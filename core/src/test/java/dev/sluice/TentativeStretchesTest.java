// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.limit.LimitName;
import dev.sluice.store.BucketStore.Tentative;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class TentativeStretchesTest {

  private static final Charge SPEND = new Charge("1:a", Op.SPEND, 100, 1_000, Effect.NO_END);

  private long hereNanos = 1;
  private final RefundTracker refundTracker =
      new RefundTracker(() -> hereNanos, OptionalLong::empty, RefundTracker.MOST, () -> {});
  private final List<Charge> withdrawn = new ArrayList<>();
  private final WaitingRoom room =
      new WaitingRoom(
          () -> hereNanos,
          OptionalLong::empty,
          charges -> {
            withdrawn.addAll(charges);
            return new CompletableFuture<>();
          },
          refundTracker::isLowering);
  private final TentativeStretches tentative = new TentativeStretches(refundTracker, room);

  private static Charge refund(long nanos, long untilNanos) {
    return new Charge("1:a", Op.REFUND, nanos, 1_000, untilNanos);
  }

  @Test
  void giveBack_alone_isHeldToWhereItsTokensEnd() {
    Tentative.Part part = tentative.begin(SPEND);

    assertThat(part.giveBack(new Reading(1_000, 1_300))).isEqualTo(refund(100, 1_400));
    assertThat(refundTracker.isLowering("1:a")).isTrue();
    part.gaveBack(new Reading(1_010, 1_400));
    assertThat(refundTracker.isLowering("1:a")).isFalse();
    assertThat(refundTracker.inFlight()).isZero();
    assertThat(refundTracker.size()).isZero();
  }

  @Test
  void giveBack_afterARefundInFlight_countsItAsGivenBackBefore() {
    Tentative.Part part = tentative.begin(SPEND);
    List<RefundStripe.Lowering> refund = refundTracker.send(List.of(refund(70, Effect.NO_END)));

    Charge givenBack = part.giveBack(new Reading(1_000, 1_000));

    assertThat(givenBack).isEqualTo(refund(30, 1_030));
    assertThat(refund).hasSize(1);
  }

  @Test
  void giveBack_afterAReset_isNothing() {
    Tentative.Part part = tentative.begin(SPEND);
    Charge reset = new Charge("1:a", Op.RESET, 0, 0, Effect.NO_END);
    refundTracker.answered(refundTracker.send(List.of(reset)), List.of(new Reading(1_010, 1_400)));

    assertThat(part.giveBack(new Reading(1_000, 1_300))).isNull();
    assertThat(refundTracker.size()).isZero();
  }

  @Test
  void giveBack_ofUnknownFate_movesLaterReservations() {
    Tentative.Part part = tentative.begin(SPEND);
    RefundStripe.Stretch later = refundTracker.open(List.of(SPEND)).get(0);
    refundTracker.place(later, new Reading(1_001, 1_400), 1_500);

    assertThat(part.giveBack(new Reading(1_000, 1_300))).isNotNull();
    part.gaveBack(null);

    assertThat(later.untilNanos()).isEqualTo(1_400);
    assertThat(refundTracker.isLowering("1:a")).isTrue();
    hereNanos += Duration.ofMinutes(2).toNanos();
    assertThat(refundTracker.isLowering("1:a")).as("the store decides on it no more").isFalse();
  }

  /** The place of a caller that waits for an hour, behind the part of a batch. */
  private Turn waits() {
    LimitName limit = LimitName.builder(1, "A").longestWait(Duration.ofDays(1)).build();
    long endNanos = 1_000 + 1_000 + Duration.ofHours(1).toNanos();
    Place place = new Place("1:a", limit, 100, 1_000, endNanos, 1_000);
    return room.enter(List.of(place), room.asks(), () -> {});
  }

  @Test
  void kept_thoseWhoWaitMayGiveUpTheirPlace() {
    Tentative.Part part = tentative.begin(SPEND);
    Turn turn = waits();

    part.kept();

    assertThat(room.giveUp(turn)).isTrue();
    assertThat(withdrawn).hasSize(1);
  }

  @Test
  void giveBack_thoseWhoWaitGiveUpTheirPlaceForNothing() {
    Tentative.Part part = tentative.begin(SPEND);
    Turn first = waits();
    Turn second = waits();

    assertThat(part.giveBack(new Reading(1_000, 1_300))).isNotNull();
    assertThat(room.giveUp(first)).isTrue();
    part.gaveBack(new Reading(1_010, 1_400));
    assertThat(room.giveUp(second)).isTrue();

    assertThat(withdrawn).isEmpty();
  }

  @Test
  void gaveBack_thoseWhoAskAfterwardsMayGiveUpTheirPlace() {
    assertThat(room.giveUp(waits())).isTrue();
    withdrawn.clear();
    Tentative.Part part = tentative.begin(SPEND);
    assertThat(part.giveBack(new Reading(1_000, 1_300))).isNotNull();
    part.gaveBack(new Reading(1_010, 1_400));
    hereNanos += 1;

    assertThat(room.giveUp(waits())).isTrue();

    assertThat(withdrawn).hasSize(1);
  }

  @Test
  void kept_isNotTracked() {
    tentative.begin(SPEND).kept();
    assertThat(refundTracker.size()).isZero();
  }
}
