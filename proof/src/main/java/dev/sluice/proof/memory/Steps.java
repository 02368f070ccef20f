// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The static methods that instrumented code calls before each shared access, and instead of
 * waiting. Without a running simulation, a method does nothing, or does what the replaced call
 * would do.
 *
 * <p>Only one simulation runs in a JVM at a time.
 */
public final class Steps {

  /**
   * The scheduler, which is passed from thread to thread with the baton. Null if no simulation
   * runs.
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
   * Lets another thread run first if the scheduler decides so.
   *
   * @param site the number of the place in the code, see {@link Instrumenter.Sites}
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
   *
   * @param site the number of the place in the code
   */
  public static void giveWay(int site) {
    Scheduler running = scheduler;
    if (running != null) {
      running.giveWay(site);
    }
  }

  /**
   * Replaces a timed park.
   *
   * @param nanos the duration, which is not simulated
   * @param site the number of the place in the code
   */
  public static void parkNanos(long nanos, int site) {
    giveWay(site);
  }

  /**
   * Replaces {@link ReentrantLock#lock}.
   *
   * @param lock the lock
   * @param site the number of the place in the code
   */
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
   * @param lock the lock
   * @param site the number of the place in the code
   * @return whether the lock was free
   */
  public static boolean tryLock(ReentrantLock lock, int site) {
    Scheduler running = scheduler;
    return running == null ? lock.tryLock() : running.tryLock(lock, site);
  }

  /**
   * Replaces {@link ReentrantLock#unlock}.
   *
   * @param lock the lock
   * @param site the number of the place in the code
   */
  public static void unlock(ReentrantLock lock, int site) {
    Scheduler running = scheduler;
    if (running == null) {
      lock.unlock();
    } else {
      running.unlock(lock, site);
    }
  }
}
