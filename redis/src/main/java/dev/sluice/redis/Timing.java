// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;

/**
 * How a store measures time, runs something later, and waits: everything that a simulator must be
 * able to replace, in one place. Thread-safe.
 */
interface Timing {

  /**
   * Returns the time of a clock that never steps, for deadlines.
   *
   * @return nanoseconds since an unknown moment, as {@link System#nanoTime}
   */
  long nanoTime();

  /**
   * Runs a task once. It may throw anything where memory is short: nobody may rely on the task
   * before the call has returned.
   *
   * @throws RejectedExecutionException if the store was closed
   */
  void after(long nanos, Runnable task);

  /**
   * Runs a task periodically, until the store is closed. Once it is set, nothing that is thrown
   * ends it.
   *
   * @param nanos until the first time, and from the end of a time to the next
   * @throws RejectedExecutionException if the store was closed
   */
  void every(long nanos, Runnable task);

  /** Blocks the caller until a future is done, at most for the given time. */
  @CanIgnoreReturnValue
  <T> T await(CompletableFuture<T> future, long nanos)
      throws InterruptedException, ExecutionException, TimeoutException;

  /**
   * Runs a task on a thread that may be held up: code of the store's users, and what waits. The
   * store's own threads never run such code, or one caller's would delay the answers and time-outs
   * of all others.
   */
  void elsewhere(Runnable task);

  /**
   * Whether an event must be told by {@link #tellLater}. It must on the thread that ends calls by
   * their time-outs: an observer or a log that blocks there would delay all others. So must what
   * happens while such events wait, as it would overtake them.
   */
  default boolean tellsLater() {
    return false;
  }

  /** Tells an observer or the log of an event soon, in the order of the calls. */
  default void tellLater(Runnable event) {
    event.run();
  }

  /** Ends what {@link #after} and {@link #every} still have to run. */
  void close();

  /**
   * Returns a future that fails with a {@link TimeoutException} if the given one is not in time.
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
