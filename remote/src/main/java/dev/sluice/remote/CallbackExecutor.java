// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An executor for callers' code that is chained to a store's results. Runs the callers' code in the
 * order of the results, on threads that are allowed to block. If the executor's threads are
 * blocked, starts more threads, so that the code of one caller does not delay the results of other
 * callers. Thread-safe; never blocks.
 */
public final class CallbackExecutor {

  private static final long STUCK_AFTER_NANOS = 1_000_000;
  // Without a bound, a stalled machine would start too many threads.
  private static final int MOST_AT_ONCE = 16;

  private final Timing timing;
  private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final AtomicInteger runners = new AtomicInteger();
  private final AtomicBoolean watched = new AtomicBoolean();
  private volatile long lastTaken;

  public CallbackExecutor(Timing timing) {
    this.timing = timing;
  }

  public void run(Runnable task) {
    tasks.add(task);
    if (runners.compareAndSet(0, 1)) {
      start();
    } else {
      watch();
    }
  }

  private void start() {
    try {
      timing.elsewhere(this::runAll);
    } catch (Throwable e) { // no thread available: this thread must run the tasks
      runAll();
    }
  }

  private void runAll() {
    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
      lastTaken = timing.nanoTime();
      try {
        task.run();
      } catch (Throwable e) {
        // The caller's code threw an exception, which the caller's own stage reports.
      }
    }
    runners.decrementAndGet();
    if (!tasks.isEmpty() && runners.compareAndSet(0, 1)) {
      start(); // a task was added after the last poll
    }
  }

  /** Schedules a check whether tasks wait behind a task that does not end. */
  private void watch() {
    if (!watched.compareAndSet(false, true)) {
      return;
    }
    try {
      timing.after(STUCK_AFTER_NANOS, this::look);
    } catch (RejectedExecutionException e) {
      watched.set(false); // the store is closed, so a blocked task delays no other work
    } catch (Throwable e) { // no check was scheduled: assume that the running thread is blocked
      watched.set(false);
      join();
    }
  }

  private void look() {
    watched.set(false);
    if (tasks.isEmpty()) {
      return;
    }
    if (timing.nanoTime() - lastTaken >= STUCK_AFTER_NANOS) {
      // Doubles the number of threads that run tasks.
      for (int more = Math.min(runners.get(), MOST_AT_ONCE); more > 0; more--) {
        join();
      }
    }
    watch();
  }

  /** Adds a thread that runs tasks. */
  private void join() {
    runners.incrementAndGet();
    start();
  }
}
