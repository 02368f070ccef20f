// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

class TickingTimeTest {

  @Test
  void readings_goOnAndNeverRunAhead() {
    try (TickingTime time = TickingTime.every(Duration.ofMillis(1))) {
      long first = time.nanos();
      long last = first;
      while (last - first < 20_000_000) {
        long now = time.nanos();
        assertThat(now).isBetween(last, time.exact.nanos());
        last = now;
        LockSupport.parkNanos(100_000);
      }
    }
  }

  @Test
  void closed_clockStandsStill() {
    TimeSource.Ticking time = TimeSource.ticking(Duration.ofMillis(1));
    time.close();
    // The thread of this clock, and those of other tests' clocks that have not ended yet.
    List<Thread> threads =
        Thread.getAllStackTraces().keySet().stream()
            .filter(t -> t.getName().equals("sluice-ticking-time"))
            .toList();
    while (threads.stream().anyMatch(Thread::isAlive)) {
      LockSupport.parkNanos(100_000);
    }
    assertThat(time.nanos()).isEqualTo(time.nanos());
  }

  @Test
  void ticks_atTheEndsOfTheRange_areAllowed() {
    for (Duration tick : new Duration[] {Duration.ofNanos(100_000), Duration.ofSeconds(1)}) {
      try (TimeSource.Ticking time = TimeSource.ticking(tick)) {
        assertThat(time.nanos()).isPositive();
      }
    }
  }

  /** An application that forgets to close its clock ends all the same. */
  @Test
  void thread_ofAClock_isADaemon() throws Exception {
    FutureTask<TimeSource.Ticking> making =
        new FutureTask<>(() -> TimeSource.ticking(Duration.ofMillis(1)));
    Thread application = new Thread(making);
    application.setDaemon(false); // a thread is as the one that makes it, unless it is told
    application.start();
    try (TimeSource.Ticking time = making.get()) {
      assertThat(time.nanos()).isPositive();
      assertThat(Thread.getAllStackTraces().keySet())
          .filteredOn(thread -> thread.getName().equals("sluice-ticking-time"))
          .isNotEmpty()
          .allMatch(Thread::isDaemon);
    }
  }

  @Test
  void ticks_outOfRange_areRefused() {
    for (Duration tick : new Duration[] {Duration.ZERO, Duration.ofSeconds(2)}) {
      assertThatThrownBy(() -> TimeSource.ticking(tick))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("expected 100 microseconds to 1 second");
    }
  }
}
