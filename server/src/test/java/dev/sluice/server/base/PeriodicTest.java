// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

final class PeriodicTest {

  @Test
  void taskThatThrowsAnError_isDoneAgain() {
    AtomicInteger times = new AtomicInteger();
    Runnable task =
        Periodic.task(
            LoggerFactory.getLogger(PeriodicTest.class),
            "what the test does",
            () -> {
              if (times.incrementAndGet() < 3) {
                throw new NoClassDefFoundError("as the test wants");
              }
            });
    ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    try {
      var unused = timer.scheduleAtFixedRate(task, 0, 1, TimeUnit.MILLISECONDS);
      await().until(() -> times.get() > 5);
    } finally {
      timer.shutdownNow();
    }
    assertThat(times.get()).isGreaterThan(5);
  }
}
