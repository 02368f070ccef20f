// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.WaitQueues.Place;
import dev.sluice.WaitQueues.Turn;
import dev.sluice.limit.LimitName;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How long a caller waits for a store that uses a clock of this process. */
class WaitQueuesTest {

  private static final long ASKED_NANOS = 5_000_000_000L; // by the clock here
  private static final long STORE_NANOS = 1_700_000_000_000_000_000L; // when it decided
  private static final long HOUR = Duration.ofHours(1).toNanos(); // no alarm rings in a test

  private long storeNanos = STORE_NANOS;
  private volatile long hereNanos = ASKED_NANOS;
  private final WaitQueues queues =
      new WaitQueues(
          () -> hereNanos, () -> OptionalLong.of(storeNanos), withdrawals -> {}, key -> false);

  /** A caller that has to wait for an hour after the decision, and asked 10 ms ago. */
  private long leftNanos() {
    hereNanos = ASKED_NANOS + Duration.ofMillis(10).toNanos();
    return queues.leftNanos(waits(STORE_NANOS + 1_000 + HOUR, () -> {}));
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

  @Test
  void enter_aTurnBeyondTheLastInstant_neverComes() {
    hereNanos = Long.MAX_VALUE - HOUR / 2;
    Turn turn = waits(STORE_NANOS + 1_000 + HOUR, () -> {});
    assertThat(turn.hasCome()).isFalse();
    assertThat(queues.leftNanos(turn)).isEqualTo(HOUR / 2);
  }

  private Turn waits(long endNanos, Runnable onCome) {
    LimitName limit = LimitName.builder(1, "A").longestWait(Duration.ofDays(1)).build();
    Place place = new Place("1:a", limit, 100, 1_000, endNanos, STORE_NANOS);
    return queues.enter(List.of(place), ASKED_NANOS, onCome);
  }

  @Test
  void turnsThatEndAtTheSameInstant_bothCome() {
    long endNanos = STORE_NANOS + 1_000 + HOUR;
    Turn first = waits(endNanos, () -> {});
    Turn second = waits(endNanos, () -> {});
    hereNanos = ASKED_NANOS + 2 * HOUR;
    queues.look(first);
    assertThat(first.hasCome()).isTrue();
    assertThat(second.hasCome()).isTrue();
    assertThat(queues.size()).isZero();
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
    CompletableFuture<Void> looking = CompletableFuture.runAsync(() -> queues.look(first));
    assertThat(second.get(60, TimeUnit.SECONDS)).isTrue();
    released.countDown();
    looking.get(60, TimeUnit.SECONDS);
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      boolean unused = latch.await(60, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
