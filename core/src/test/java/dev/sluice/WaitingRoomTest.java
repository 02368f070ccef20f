// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.limit.LimitName;
import dev.sluice.store.Reading;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How long a caller waits for a store that goes by a clock of this process. */
class WaitingRoomTest {

  private static final long ASKED_NANOS = 5_000_000_000L; // by the clock here
  private static final long STORE_NANOS = 1_700_000_000_000_000_000L; // when it decided
  private static final long HOUR = Duration.ofHours(1).toNanos(); // no alarm rings in a test

  private long storeNanos = STORE_NANOS;
  private volatile long hereNanos = ASKED_NANOS;
  private final List<CompletableFuture<List<Reading>>> withdrawals = new ArrayList<>();
  private final WaitingRoom room =
      new WaitingRoom(
          () -> hereNanos,
          () -> OptionalLong.of(storeNanos),
          charges -> {
            withdrawals.add(new CompletableFuture<>());
            return withdrawals.get(withdrawals.size() - 1);
          },
          key -> false);

  /** A caller that has to wait for an hour after the decision, and asked 10 ms ago. */
  private long leftNanos() {
    hereNanos = ASKED_NANOS + Duration.ofMillis(10).toNanos();
    return room.leftNanos(waits(STORE_NANOS + 1_000 + HOUR, () -> {}));
  }

  @Test
  void enter_sinceTheDecision_waitsForTheRest() {
    storeNanos += Duration.ofMillis(4).toNanos();
    assertThat(leftNanos()).isEqualTo(HOUR - Duration.ofMillis(4).toNanos());
  }

  @Test
  void enter_theStoresClockSteppedBack_waitsAsLongAsTold() {
    storeNanos -= Duration.ofSeconds(3).toNanos();
    assertThat(leftNanos()).isEqualTo(HOUR);
  }

  @ParameterizedTest
  @ValueSource(longs = {11, 3_000, 3_600_000, 7_200_000})
  void enter_theStoresClockSteppedForward_waitsFromTheQuestionAtLeast(long millis) {
    storeNanos += Duration.ofMillis(millis).toNanos();
    assertThat(leftNanos()).isEqualTo(HOUR - Duration.ofMillis(10).toNanos());
  }

  private Turn waits(long endNanos, Runnable onCome) {
    return waits(endNanos, STORE_NANOS, onCome);
  }

  private Turn waits(long endNanos, long decidedNanos, Runnable onCome) {
    return enters(100, endNanos, decidedNanos, onCome);
  }

  private Turn enters(long lengthNanos, long endNanos, long decidedNanos, Runnable onCome) {
    LimitName limit = LimitName.builder(1, "A").longestWait(Duration.ofDays(1)).build();
    Place place = new Place("1:a", limit, lengthNanos, 1_000, endNanos, decidedNanos);
    return room.enter(List.of(place), ASKED_NANOS, onCome);
  }

  /** A batch is answered when its slowest server has answered. */
  @ParameterizedTest
  @ValueSource(longs = {0, 100})
  void enter_anAnswerThatTookLong_keepsNobodyWhoWasFasterWaiting(long behindNanos) {
    long endNanos = STORE_NANOS + 1_000 + HOUR;
    hereNanos = ASKED_NANOS + Duration.ofMillis(60).toNanos();
    Turn slow = waits(endNanos, () -> {});
    hereNanos = ASKED_NANOS;
    Turn fast = waits(endNanos + behindNanos, () -> {});
    hereNanos = ASKED_NANOS + HOUR + behindNanos;
    room.look(fast);
    assertThat(slow.hasCome()).isTrue();
    assertThat(fast.hasCome()).isTrue();
  }

  @Test
  void enter_anAnswerThatTookLong_learnsFromThoseBehind() {
    long endNanos = STORE_NANOS + 1_000 + HOUR;
    hereNanos = ASKED_NANOS;
    Turn fast = waits(endNanos + 100, () -> {});
    hereNanos = ASKED_NANOS + Duration.ofMillis(60).toNanos();
    Turn slow = waits(endNanos, () -> {});
    assertThat(room.leftNanos(slow)).isEqualTo(room.leftNanos(fast) - 100);
  }

  /** What the last one knows reaches the first one past one in the middle that learned, too. */
  @Test
  void enter_answersThatTookLessAndLess_teachAllBeforeThem() {
    long endNanos = STORE_NANOS + 1_000 + HOUR;
    Turn first = waitsBehind(100, endNanos);
    Turn second = waitsBehind(59, endNanos + 100);
    Turn third = waitsBehind(0, endNanos + 200);
    hereNanos = ASKED_NANOS;
    assertThat(room.leftNanos(third)).isEqualTo(HOUR + 200);
    assertThat(room.leftNanos(second)).isEqualTo(HOUR + 100);
    assertThat(room.leftNanos(first)).isEqualTo(HOUR);
  }

  /** The one that comes last, and first in the line, learns what its neighbour has learned. */
  @Test
  void enter_beforeOneThatHasLearned_learnsAllOfIt() {
    long endNanos = STORE_NANOS + 1_000 + HOUR;
    Turn second = waitsBehind(59, endNanos + 100);
    Turn third = waitsBehind(0, endNanos + 200);
    Turn first = waitsBehind(100, endNanos);
    hereNanos = ASKED_NANOS;
    assertThat(room.leftNanos(third)).isEqualTo(HOUR + 200);
    assertThat(room.leftNanos(second)).isEqualTo(HOUR + 100);
    assertThat(room.leftNanos(first)).isEqualTo(HOUR);
  }

  private Turn waitsBehind(long millis, long endNanos) {
    hereNanos = ASKED_NANOS + Duration.ofMillis(millis).toNanos();
    return waits(endNanos, () -> {});
  }

  /** The store's clock stepped back in between, so the two answers can't be compared. */
  @Test
  void enter_takenEarlierByTheStoresClock_teachesNothing() {
    long endNanos = STORE_NANOS + 1_000 + HOUR;
    hereNanos = ASKED_NANOS + Duration.ofMillis(60).toNanos();
    Turn first = waits(endNanos, () -> {});
    hereNanos = ASKED_NANOS;
    storeNanos -= 1;
    Turn second = waits(endNanos + 100, storeNanos, () -> {});
    assertThat(room.leftNanos(first)).isEqualTo(HOUR + Duration.ofMillis(60).toNanos());
    assertThat(second.hasCome()).isFalse();
  }

  /** Stretches overlap where tokens were refunded while callers waited. */
  @Test
  void giveUp_whoMovesUpPastAnother_passesBeforeIt() {
    long inAnHour = STORE_NANOS + 1_000 + HOUR;
    Turn other = enters(100, inAnHour + 250, STORE_NANOS, () -> {});
    Turn leaving = enters(300, inAnHour + 300, STORE_NANOS, () -> {});
    Turn movesUp = enters(100, inAnHour + 400, STORE_NANOS, () -> {});
    assertThat(room.giveUp(leaving)).isTrue();
    assertThat(room.leftNanos(movesUp)).isEqualTo(HOUR + 100);
    hereNanos = ASKED_NANOS + HOUR + 100;
    room.look(movesUp);
    assertThat(movesUp.hasCome()).isTrue();
    assertThat(other.hasCome()).isFalse();
  }

  /** Two holes in a row: who moves up into the second one stands directly behind the first. */
  @Test
  void giveUp_holesInARow_areBothMovedUpInto() {
    long inAnHour = STORE_NANOS + 1_000 + HOUR;
    Turn first = waits(inAnHour, () -> {});
    assertThat(room.giveUp(first)).isTrue();
    Turn second = waits(inAnHour + 100, () -> {});
    assertThat(room.giveUp(second)).isTrue();
    withdrawals.get(0).complete(List.of(new Reading(STORE_NANOS, inAnHour + 100)));
    Turn third = waits(inAnHour + 200, () -> {});
    withdrawals.get(1).complete(List.of(new Reading(STORE_NANOS, inAnHour + 200)));
    assertThat(room.leftNanos(third)).isEqualTo(leftOfAnHour());
    assertThat(withdrawals).as("the second hole, which lies behind now").hasSize(3);
    withdrawals.get(2).complete(List.of(new Reading(STORE_NANOS, inAnHour + 200)));
    assertThat(withdrawals).as("the first hole, behind which nothing lies").hasSize(4);
    withdrawals.get(3).complete(List.of(new Reading(STORE_NANOS, inAnHour + 100)));
    assertThat(room.size()).isOne();
  }

  private long leftOfAnHour() {
    return HOUR - (hereNanos - ASKED_NANOS);
  }

  /** The race: two turns have come before an alarm rings, and the first caller holds its thread. */
  @Test
  void turnsThatComeTogether_areToldOnThreadsOfTheirOwn() throws Exception {
    CountDownLatch released = new CountDownLatch(1);
    CompletableFuture<Boolean> second = new CompletableFuture<>();
    long endNanos = STORE_NANOS + 1_000 + HOUR;
    Turn first = waits(endNanos, () -> awaitQuietly(released));
    var unused = waits(endNanos + 100, () -> second.complete(true));
    hereNanos = ASKED_NANOS + 2 * HOUR;
    CompletableFuture<Void> looking = CompletableFuture.runAsync(() -> room.look(first));
    assertThat(second.get(10, TimeUnit.SECONDS)).isTrue();
    released.countDown();
    looking.get(10, TimeUnit.SECONDS);
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      boolean unused = latch.await(10, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
