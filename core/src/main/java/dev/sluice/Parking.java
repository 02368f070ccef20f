// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.LockSupport;

/** Blocks and wakes callers' threads; a simulator replaces it. Thread-safe. */
interface Parking {

  /** Parks the thread itself. */
  Parking OF_THREADS =
      new Parking() {
        @Override
        public <T> T await(CompletableFuture<T> future)
            throws InterruptedException, ExecutionException {
          return future.get();
        }

        @Override
        public Runnable wakeUp() {
          Thread caller = Thread.currentThread();
          return () -> LockSupport.unpark(caller);
        }

        @Override
        public void park(Object why, long nanos) {
          LockSupport.parkNanos(why, nanos);
        }
      };

  /** Blocks the caller until a future is done. */
  <T> T await(CompletableFuture<T> future) throws InterruptedException, ExecutionException;

  /** Returns a task that ends {@link #park} of this caller; any thread may run it. */
  Runnable wakeUp();

  /**
   * Blocks the caller until it is woken up or interrupted, or the time is over; may return earlier.
   *
   * @param why the blocker that thread dumps show
   */
  void park(Object why, long nanos);
}
