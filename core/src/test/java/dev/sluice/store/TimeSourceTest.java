// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The system's clock, what a store refuses of others, and the alarms that all of them have. */
class TimeSourceTest {

  private static final long NOW = 1_700_000_000_000_000_000L;
  private static final long SECOND = 1_000_000_000;

  @Test
  void read_negativeTime_isRefusedBeforeAnythingIsCharged() {
    assertThat(TimeSource.read(() -> 0)).isZero();
    assertThat(TimeSource.read(() -> NOW)).isEqualTo(NOW);
    assertThatThrownBy(() -> TimeSource.read(() -> -1))
        .isInstanceOfSatisfying(
            StoreException.class, failure -> assertThat(failure.chargedNothing()).isTrue())
        .hasMessageContaining("the clock returned -1 ns since the epoch");
  }

  @Test
  void system_isTheWallClock_andNeverStepsBack() {
    TimeSource time = TimeSource.system();
    long first = time.nanos();
    assertThat(TimeUnit.NANOSECONDS.toMillis(first))
        .isCloseTo(System.currentTimeMillis(), within(60_000L));
    for (int i = 0; i < 1_000; i++) {
      long next = time.nanos();
      assertThat(next).isGreaterThanOrEqualTo(first);
      first = next;
    }
  }

  @Test
  void alarm_inThePast_ringsAtOnceOnADaemon() throws InterruptedException {
    TimeSource time = () -> NOW;
    CountDownLatch rung = new CountDownLatch(1);
    time.alarm(
        NOW - 3_600 * SECOND,
        () -> {
          if (Thread.currentThread().isDaemon()) {
            rung.countDown();
          }
        });
    assertThat(rung.await(30, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void alarm_ahead_ringsWhenThatTimeHasPassed() throws InterruptedException {
    TimeSource time = () -> NOW;
    CountDownLatch rung = new CountDownLatch(1);
    long startNanos = System.nanoTime();
    time.alarm(NOW + SECOND / 50, rung::countDown);
    assertThat(rung.await(30, TimeUnit.SECONDS)).isTrue();
    assertThat(System.nanoTime() - startNanos).isGreaterThanOrEqualTo(SECOND / 50);
  }

  @Test
  void alarm_cancelled_isNotAwaitedAnyMore() {
    TimeSource time = () -> NOW;
    Future<?> alarm = time.alarm(NOW + 3_600 * SECOND, () -> {});
    assertThat(alarm.isDone()).isFalse();
    assertThat(alarm.cancel(false)).isTrue();
    assertThat(alarm.isCancelled()).isTrue();
  }
}
