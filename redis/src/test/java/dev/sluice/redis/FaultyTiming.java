// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.remote.Timing;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** Another timing, whose timers cannot be set when a test says so. As thread-safe as that one. */
final class FaultyTiming implements Timing {

  private final Timing real;
  private final AtomicInteger failures = new AtomicInteger();
  private volatile boolean refusesThread;
  private volatile boolean refusesTime;

  FaultyTiming(Timing real) {
    this.real = real;
  }

  /** So many timers, the next ones, cannot be set. */
  void failNext(int timers) {
    failures.set(timers);
  }

  /** The next thread for the code of callers is not to be had, and then not even the time. */
  void refuseThread() {
    refusesThread = true;
  }

  /** Whether it has come to that. */
  boolean hasRefusedThread() {
    return !refusesThread && !refusesTime;
  }

  private void failIfTold() {
    if (failures.getAndUpdate(left -> Math.max(left - 1, 0)) > 0) {
      throw new NoClassDefFoundError("as the test wants");
    }
  }

  @Override
  public long nanoTime() {
    if (refusesTime) {
      refusesTime = false;
      throw new NoClassDefFoundError("as the test wants");
    }
    return real.nanoTime();
  }

  @Override
  public void after(long nanos, Runnable task) {
    failIfTold();
    real.after(nanos, task);
  }

  @Override
  public void every(long nanos, Runnable task) {
    failIfTold();
    real.every(nanos, task);
  }

  @Override
  public <T> T await(CompletableFuture<T> future, long nanos)
      throws InterruptedException, ExecutionException, TimeoutException {
    return real.await(future, nanos);
  }

  @Override
  public void elsewhere(Runnable task) {
    if (refusesThread) {
      refusesThread = false;
      refusesTime = true;
      throw new NoClassDefFoundError("as the test wants");
    }
    real.elsewhere(task);
  }

  @Override
  public void close() {
    real.close();
  }
}
