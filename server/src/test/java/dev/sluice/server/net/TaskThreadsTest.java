// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.server.base.RefusedException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class TaskThreadsTest {

  @Test
  void taskBeyondTheBound_isRefused_andTheOthersRunInTheirOrder() throws Exception {
    TaskThreads threads = new TaskThreads("test-tasks", 1, 2);
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Queue<String> ran = new ConcurrentLinkedQueue<>();
    threads.execute(
        () -> {
          begun.countDown();
          awaitUnchecked(goOn);
          ran.add(Thread.currentThread().getName());
        });
    begun.await();
    threads.execute(() -> ran.add("second"));
    threads.execute(() -> ran.add("third"));

    assertThatThrownBy(() -> threads.execute(() -> ran.add("fourth")))
        .isInstanceOfSatisfying(
            RefusedException.class, e -> assertThat(e.status().code()).isEqualTo(503))
        .hasMessage("all task threads are busy; try again in a second");

    goOn.countDown();
    threads.shutdown();
    assertThat(threads.awaitTermination(20, TimeUnit.SECONDS)).isTrue();
    assertThat(ran).hasSize(3).endsWith("second", "third");
    assertThat(ran.peek()).startsWith("test-tasks-");
  }

  private static void awaitUnchecked(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
