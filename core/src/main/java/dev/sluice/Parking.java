// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.LockSupport;

/** Blocks and wakes the threads of callers; a simulator has its own implementation. Thread-safe. */
interface Parking {

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

  <T> T await(CompletableFuture<T> future) throws InterruptedException, ExecutionException;

  /** Returns a task that ends {@link #park} of this caller; every thread can run the task. */
  Runnable wakeUp();

  /**
   * Blocks the caller until it is woken up or interrupted, or the time is over; can return earlier.
   *
   * @param why the object that thread dumps show as blocker
   */
  void park(Object why, long nanos);
}
