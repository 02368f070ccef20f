// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs alarms (tasks that are due at an instant) on an unbounded number of daemon threads. In a
 * bounded pool, such as the common pool, tasks that block their threads could delay all other
 * alarms. Thread-safe.
 */
final class AlarmThreads {

  private static final long IDLE_SECONDS = 10;

  private static final AtomicInteger COUNT = new AtomicInteger();
  private static final ThreadPoolExecutor THREADS =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          IDLE_SECONDS,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          AlarmThreads::daemon);

  private AlarmThreads() {}

  static void run(Runnable task) {
    try {
      THREADS.execute(task);
    } catch (OutOfMemoryError e) { // no thread is available, but the alarm must still run
      ForkJoinPool.commonPool().execute(task);
    }
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "sluice-alarm-" + COUNT.incrementAndGet());
    thread.setDaemon(true);
    return thread;
  }
}
