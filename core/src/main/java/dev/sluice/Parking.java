// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.LockSupport;

/**
 * Blocks and wakes the threads of callers; a simulated clock has its own implementation.
 * Thread-safe.
 */
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

  /**
   * Returns a task that wakes the calling thread from {@link #park}, for any other thread to run.
   */
  Runnable wakeUp();

  /**
   * Blocks the calling thread until it is woken up or interrupted, or until the time is over. Can
   * return earlier.
   *
   * @param why the object that thread dumps show as the reason
   */
  void park(Object why, long nanos);
}
