// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.internal.async.Stages.DaemonThread;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Timing with the system's clock. One daemon thread runs delayed tasks; callers' code runs on as
 * many threads as needed. Thread-safe.
 */
public final class SystemTiming implements Timing {

  private static final long IDLE_SECONDS = 10;

  private final String kind;
  private final ThreadFactory timerThreads;
  private final ScheduledThreadPoolExecutor timer =
      new ScheduledThreadPoolExecutor(1, this::timerThread);
  private final AtomicInteger userThreads = new AtomicInteger();
  private final ThreadPoolExecutor users =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE, // with a bound, enough blocked callers would stop all other callers
          IDLE_SECONDS,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          this::userThread);
  private final EventQueue events;
  private volatile @Nullable Thread timerThread;

  /**
   * Creates a timing.
   *
   * @param kind the kind of the store, such as {@code redis}, for the names of threads and the log
   */
  public SystemTiming(String kind) {
    this(kind, StoreThread.factory(kind, "timer"));
  }

  /**
   * Creates a timing.
   *
   * @param kind the kind of the store, such as {@code redis}, for the names of threads and the log
   * @param timerThreads makes a {@link StoreThread} for delayed tasks
   */
  public SystemTiming(String kind, ThreadFactory timerThreads) {
    this.kind = kind;
    this.timerThreads = timerThreads;
    this.events = new EventQueue(this::elsewhere, new StoreLog(kind));
    timer.setRemoveOnCancelPolicy(true);
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  private Thread timerThread(Runnable task) {
    Thread thread = timerThreads.newThread(task);
    timerThread = thread;
    return thread;
  }

  /**
   * Creates a plain thread, not a {@link StoreThread}, since tasks on this thread are allowed to
   * block.
   */
  private Thread userThread(Runnable task) {
    return new DaemonThread(task, "sluice-" + kind + "-callers-" + userThreads.incrementAndGet());
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public void after(long nanos, Runnable task) {
    var unused = timer.schedule(task, nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void every(long nanos, Runnable task) {
    var unused =
        timer.scheduleWithFixedDelay(() -> runOnce(task), nanos, nanos, TimeUnit.NANOSECONDS);
  }

  private static void runOnce(Runnable task) {
    try {
      task.run();
    } catch (Throwable e) {
      // Without this catch, a task that throws would never run again.
    }
  }

  @Override
  public <T> T await(CompletableFuture<T> future, long nanos)
      throws InterruptedException, ExecutionException, TimeoutException {
    if (future instanceof Request request) {
      request.sleep(nanos);
      return future.get(0, TimeUnit.NANOSECONDS);
    }
    return future.get(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public <T> CompletableFuture<T> within(CompletableFuture<T> future, long nanos) {
    // If the copy of the future completes in time, it cancels the timer of orTimeout.
    return future.copy().orTimeout(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void elsewhere(Runnable task) {
    users.execute(task);
  }

  @Override
  public boolean tellsLater() {
    return Thread.currentThread() == timerThread || !events.isEmpty();
  }

  @Override
  public void tellLater(Runnable event) {
    events.add(event);
  }

  @Override
  public void close() {
    timer.shutdownNow();
    users.shutdown(); // submitted tasks still run
  }
}
