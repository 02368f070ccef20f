// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The methods that instrumented code calls before each access to shared memory, and instead of
 * calls that wait. If no simulation is running, {@link #step} does nothing, and the other methods
 * do the same as the replaced calls.
 *
 * <p>Only one simulation runs in a JVM at a time.
 */
public final class Steps {

  /**
   * The scheduler of the running simulation; null if no simulation is running. Only the simulated
   * thread that currently runs accesses this field.
   */
  private static @Nullable Scheduler scheduler;

  private Steps() {}

  static void begin(Scheduler running) {
    scheduler = running;
  }

  static void end() {
    scheduler = null;
  }

  /**
   * Counts a step. If the scheduler decides so, another thread runs before this method returns.
   *
   * @param site the number of the place in the code ({@link Instrumenter.Sites})
   */
  public static void step(int site) {
    Scheduler running = scheduler;
    if (running != null) {
      running.step(site);
    }
  }

  /**
   * Replaces {@link Thread#yield}, {@link Thread#onSpinWait} and timed parking: lets another thread
   * run.
   */
  public static void giveWay(int site) {
    Scheduler running = scheduler;
    if (running != null) {
      running.giveWay(site);
    }
  }

  /**
   * Replaces a call that parks the thread for a given time.
   *
   * @param nanos the length of the timed park; the simulator ignores it and lets another thread run
   */
  public static void parkNanos(long nanos, int site) {
    giveWay(site);
  }

  /** Replaces {@link ReentrantLock#lock}. */
  public static void lock(ReentrantLock lock, int site) {
    Scheduler running = scheduler;
    if (running == null) {
      lock.lock();
    } else {
      running.lock(lock, site);
    }
  }

  /**
   * Replaces {@link ReentrantLock#tryLock()}.
   *
   * @return whether the lock was free
   */
  public static boolean tryLock(ReentrantLock lock, int site) {
    Scheduler running = scheduler;
    return running == null ? lock.tryLock() : running.tryLock(lock, site);
  }

  /** Replaces {@link ReentrantLock#unlock}. */
  public static void unlock(ReentrantLock lock, int site) {
    Scheduler running = scheduler;
    if (running == null) {
      lock.unlock();
    } else {
      running.unlock(lock, site);
    }
  }
}
