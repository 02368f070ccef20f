// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeoutException;

/**
 * Measures time, schedules tasks and waits, for one store. A simulator has another implementation
 * of this interface. Thread-safe.
 */
public interface Timing {

  /**
   * Returns the time of a clock that never steps, for deadlines.
   *
   * @return the nanoseconds since an unspecified instant, as {@link System#nanoTime}
   */
  long nanoTime();

  /**
   * Runs a task once, after a delay. Can throw any exception or Error if the heap is full. The task
   * is scheduled only if this method returns normally.
   *
   * @throws RejectedExecutionException if the store was closed
   */
  void after(long nanos, Runnable task);

  /**
   * Runs a task periodically until the store is closed. If one run of the task throws an exception,
   * the next runs still follow.
   *
   * @param nanos the delay before the first run, and from the end of one run to the start of the
   *     next run
   * @throws RejectedExecutionException if the store was closed
   */
  void every(long nanos, Runnable task);

  /** Blocks the calling thread until a future is done, at most for the given time. */
  @CanIgnoreReturnValue
  <T> T await(CompletableFuture<T> future, long nanos)
      throws InterruptedException, ExecutionException, TimeoutException;

  /**
   * Runs a task that is allowed to block, such as callers' code. The store's own threads never run
   * a blocking task, since the code of one caller would delay the responses and time-outs of all
   * other callers.
   */
  void elsewhere(Runnable task);

  /**
   * Returns whether the caller must report an event with {@link #tellLater} instead of directly.
   * Returns true on the time-out thread, since an observer or a log that blocks this thread would
   * delay all time-outs. Returns true while other events wait, since an event that is reported
   * directly would overtake the waiting events.
   */
  default boolean tellsLater() {
    return false;
  }

  /**
   * Reports an event to an observer or the log soon, in the order in which this method is called.
   */
  default void tellLater(Runnable event) {
    event.run();
  }

  /** Returns a factory like {@link StoreThread#factory}, for threads that wait for a server. */
  default ThreadFactory threads(String kind, String role) {
    return StoreThread.factory(kind, role);
  }

  /** Returns an empty queue, from which the threads of {@link #threads} take their tasks. */
  default <T> BlockingQueue<T> queue() {
    return new LinkedBlockingQueue<>();
  }

  /** Drops the tasks of {@link #after} and {@link #every} that have not run. */
  void close();

  /**
   * Returns a future that fails with a {@link TimeoutException} if the given future is not done in
   * time.
   */
  default <T> CompletableFuture<T> within(CompletableFuture<T> future, long nanos) {
    CompletableFuture<T> bounded = future.copy();
    try {
      after(nanos, () -> bounded.completeExceptionally(new TimeoutException()));
    } catch (RejectedExecutionException e) {
      bounded.completeExceptionally(e);
    }
    return bounded;
  }
}
