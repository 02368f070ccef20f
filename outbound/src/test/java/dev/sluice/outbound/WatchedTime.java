// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.store.TimeSource;
import dev.sluice.testkit.ManualTime;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** A clock that the test moves, and on which it sees that another thread has begun to wait. */
final class WatchedTime implements TimeSource {

  private final ManualTime time = new ManualTime();
  private final Semaphore waiting = new Semaphore(0);

  @Override
  public long nanos() {
    return time.nanos();
  }

  @Override
  public Future<?> alarm(long atNanos, Runnable task) {
    Future<?> alarm = time.alarm(atNanos, task);
    waiting.release();
    return alarm;
  }

  void awaitAlarm() throws InterruptedException {
    assertThat(waiting.tryAcquire(30, TimeUnit.SECONDS)).as("somebody waits").isTrue();
  }

  void advance(Duration step) {
    time.advance(step);
  }
}
