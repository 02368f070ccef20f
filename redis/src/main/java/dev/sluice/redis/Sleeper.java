// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinPool.ManagedBlocker;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The place of the one thread that waits for a request. Unlike those who wait in a future's own
 * {@code get}, it helps to wake others ({@link WakeUp}). Thread-safe; only {@link #sleep} blocks.
 */
final class Sleeper {

  private final AtomicReference<@Nullable Thread> thread = new AtomicReference<>();
  private @Nullable WakeUp others; // written before the thread is taken, read where it was

  /**
   * Blocks until a future is done, at most for the given time. The thread that completes the future
   * calls {@link #wake} next.
   *
   * @throws IllegalStateException if another thread sleeps here
   */
  void sleep(CompletableFuture<?> future, long nanos) throws InterruptedException {
    Thread own = Thread.currentThread();
    if (!thread.compareAndSet(null, own)) {
      throw new IllegalStateException("two threads wait for one request");
    }
    Sleep sleep = new Sleep(future, System.nanoTime() + nanos);
    try {
      ForkJoinPool.managedBlock(sleep);
    } finally {
      if (!thread.compareAndSet(own, null) && others != null) {
        others.go();
      }
    }
    if (sleep.interrupted) {
      throw new InterruptedException();
    }
  }

  /**
   * Wakes the thread; its future is done.
   *
   * @param next whom the thread wakes in its turn, null for nobody
   * @return false where no thread sleeps any more
   */
  @CanIgnoreReturnValue
  boolean wake(@Nullable WakeUp next) {
    if (thread.get() == null) {
      return false;
    }
    if (next != null) {
      others = next;
    }
    Thread taken = thread.getAndSet(null);
    if (taken == null) {
      return false;
    }
    LockSupport.unpark(taken);
    return true;
  }

  /** The same, for nobody else, if it is a virtual thread. */
  void wakeIfVirtual() {
    Thread sleeping = thread.get();
    if (sleeping != null && VirtualThreads.isOne(sleeping)) {
      wake(null);
    }
  }

  /** A pool is told when one of its threads sleeps. */
  private static final class Sleep implements ManagedBlocker {
    private final CompletableFuture<?> future;
    private final long end;
    private boolean interrupted;

    Sleep(CompletableFuture<?> future, long end) {
      this.future = future;
      this.end = end;
    }

    @Override
    public boolean isReleasable() {
      if (!future.isDone() && Thread.interrupted()) {
        interrupted = true;
      }
      return future.isDone() || interrupted || System.nanoTime() - end >= 0;
    }

    @Override
    public boolean block() {
      LockSupport.parkNanos(future, end - System.nanoTime());
      return isReleasable();
    }
  }
}
