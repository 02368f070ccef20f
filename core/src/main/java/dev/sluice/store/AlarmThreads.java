// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Where alarms ring: on daemon threads, as many as are held up at a moment. A pool with a bound,
 * such as the common one, would ring for nobody any more once the code of so many callers holds its
 * threads. They end when they have been idle for a while. Thread-safe.
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
    } catch (OutOfMemoryError e) { // no thread to be had: it must ring all the same
      ForkJoinPool.commonPool().execute(task);
    }
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "sluice-alarm-" + COUNT.incrementAndGet());
    thread.setDaemon(true);
    return thread;
  }
}
