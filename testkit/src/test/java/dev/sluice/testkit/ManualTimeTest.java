// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ManualTimeTest {

  private static final int ROUNDS = 500;

  /** Race: the alarm looks at the clock while the other thread looks for due alarms. */
  @Test
  void alarmThatIsSetWhileTheClockIsMoved_rings() throws Exception {
    ManualTime[] times = new ManualTime[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
      times[i] = new ManualTime();
    }
    AtomicInteger ready = new AtomicInteger();
    Thread moving =
        new Thread(
            () -> {
              for (int i = 0; i < ROUNDS; i++) {
                meet(i, ready);
                if (i % 2 == 0) {
                  times[i].advanceNanos(9);
                } else {
                  times[i].set(ManualTime.START_NANOS + 9);
                }
              }
            });
    moving.start();
    Future<?>[] alarms = new Future<?>[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
      meet(i, ready);
      alarms[i] = times[i].alarm(ManualTime.START_NANOS + 9, () -> {});
    }
    moving.join();
    assertThat(alarms).filteredOn(alarm -> !alarm.isDone()).isEmpty();
  }

  /** Waits until both threads begin a round. */
  private static void meet(int round, AtomicInteger ready) {
    ready.incrementAndGet();
    while (ready.get() < 2 * (round + 1)) {
      Thread.onSpinWait();
    }
  }
}
