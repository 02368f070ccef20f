// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinPool.ManagedBlocker;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Blocks one thread until a request is done. Unlike {@link CompletableFuture#get}, the woken thread
 * then helps to wake other threads ({@link WakeUp}). Thread-safe; only {@link #sleep} blocks.
 */
final class BlockingWaiter {

  private final AtomicReference<@Nullable Thread> thread = new AtomicReference<>();
  // The waking thread writes this field before it clears `thread`. The waiting thread reads this
  // field after it reads `thread`.
  private @Nullable WakeUp others;

  /**
   * Blocks until a future is done, at most for the given time. The thread that completes the future
   * calls {@link #wake} next.
   *
   * @throws IllegalStateException if another thread already sleeps in this waiter
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
   * Wakes the sleeping thread. Call this method when the thread's future is done.
   *
   * @param next wakes further threads, on the woken thread; null if the woken thread wakes no other
   *     thread
   * @return false if the thread has already stopped sleeping
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

  /** Wakes the waiting thread if it is virtual; the woken thread does not wake other threads. */
  void wakeIfVirtual() {
    Thread sleeping = thread.get();
    if (sleeping != null && VirtualThreads.isOne(sleeping)) {
      wake(null);
    }
  }

  /**
   * One wait. As this class is a {@link ManagedBlocker}, a fork-join pool can add a thread during
   * the wait.
   */
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

  /** Recognizes virtual threads, which exist since Java 21. */
  private static final class VirtualThreads {

    private static final @Nullable MethodHandle IS_VIRTUAL = isVirtual();

    private VirtualThreads() {}

    private static @Nullable MethodHandle isVirtual() {
      try {
        return MethodHandles.publicLookup()
            .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
      } catch (ReflectiveOperationException e) {
        return null; // this Java has no virtual threads
      }
    }

    static boolean isOne(Thread thread) {
      if (IS_VIRTUAL == null) {
        return false;
      }
      try {
        return (boolean) IS_VIRTUAL.invokeExact(thread);
      } catch (Throwable e) {
        throw new IllegalStateException(e); // cannot happen: isVirtual() throws nothing
      }
    }
  }
}
