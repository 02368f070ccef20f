// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class AlarmThreadsTest {

  /** Code of callers that blocks holds threads; a pool with a bound would ring for nobody then. */
  @Test
  void run_besideTasksThatBlock_runsAtOnce() throws InterruptedException {
    CountDownLatch end = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(300);
    for (int i = 0; i < 300; i++) {
      AlarmThreads.run(
          () -> {
            awaitZero(end);
            ended.countDown();
          });
    }
    CountDownLatch rung = new CountDownLatch(1);
    AlarmThreads.run(rung::countDown);
    assertThat(rung.await(30, TimeUnit.SECONDS)).isTrue();
    end.countDown();
    assertThat(ended.await(30, TimeUnit.SECONDS)).isTrue();
  }

  /** An application ends while its alarms are asleep. */
  @Test
  void thread_ofAnAlarm_isADaemonWithAName() {
    CompletableFuture<Thread> thread = new CompletableFuture<>();
    AlarmThreads.run(() -> thread.complete(Thread.currentThread()));
    assertThat(thread)
        .succeedsWithin(Duration.ofSeconds(30))
        .satisfies(
            alarm -> {
              assertThat(alarm.isDaemon()).isTrue();
              assertThat(alarm.getName()).matches("sluice-alarm-[1-9]\\d*");
            });
  }

  private static void awaitZero(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
