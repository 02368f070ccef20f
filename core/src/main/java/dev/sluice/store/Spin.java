// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.util.concurrent.locks.LockSupport;

/**
 * Waits for another thread to release a lock: usually nanoseconds, but longer if the operating
 * system has suspended the thread.
 *
 * <p>The caller must not hold a lock of the table. Some schedulers, such as the scheduler of
 * virtual threads or a scheduler with strict priorities, may never resume a thread that yields
 * while other threads can run. A thread that waits must therefore hold no lock.
 */
final class Spin {

  private static final int BEFORE_YIELDING = 64;
  private static final int BEFORE_PARKING = 128;
  private static final long SHORTEST_PARK_NANOS = 20_000;
  // How many times a caller's wait doubles at most; the longest wait is about 1 ms.
  private static final int LONGEST = 6;

  private Spin() {}

  /**
   * Waits for a short time. The argument is the number of earlier waits; returns this number plus
   * 1.
   */
  @SuppressWarnings("ThreadPriorityCheck") // yield() is only an optimization
  static int once(int spins) {
    if (spins < BEFORE_YIELDING) {
      Thread.onSpinWait();
    } else if (spins < BEFORE_PARKING) {
      Thread.yield();
    } else {
      int doublings = Math.min((spins - BEFORE_PARKING) / 2, LONGEST);
      LockSupport.parkNanos(SHORTEST_PARK_NANOS << doublings);
    }
    return spins + 1;
  }
}
