// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntConsumer;

/**
 * Runs a task in several threads that start at the same time. An exception in a thread fails the
 * test.
 */
final class Crowd {

  private static final long PATIENCE_SECONDS = 60;

  private Crowd() {}

  /**
   * Runs a task in {@code threads} threads, and waits until all threads have finished.
   *
   * @param task receives the index of the thread that runs the task, from 0
   */
  static void run(int threads, IntConsumer task) {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      CyclicBarrier start = new CyclicBarrier(threads);
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        int thread = i;
        running.add(
            pool.submit(
                () -> {
                  start.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
                  task.accept(thread);
                  return thread;
                }));
      }
      for (Future<?> one : running) {
        one.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      }
    } catch (ExecutionException e) {
      throw new AssertionError("a thread failed", e.getCause());
    } catch (TimeoutException e) {
      throw new AssertionError(
          "a thread did not finish in time, possibly because of a deadlock", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    } finally {
      pool.shutdownNow();
    }
  }
}
