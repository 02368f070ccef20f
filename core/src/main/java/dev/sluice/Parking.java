// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.LockSupport;

/**
 * How the thread of a caller waits: everything about it that a simulator must be able to replace.
 * Thread-safe.
 */
interface Parking {

  /** Holds up the thread itself. */
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

  /** Returns what ends {@link #park} of this caller; any thread may run it. */
  Runnable wakeUp();

  /**
   * Blocks the caller until it is woken up or interrupted, at most for some time, or for less.
   *
   * @param why told by thread dumps
   */
  void park(Object why, long nanos);
}
