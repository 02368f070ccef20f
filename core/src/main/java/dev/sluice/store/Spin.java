// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.util.concurrent.locks.LockSupport;

/**
 * Waits for a thread that needs a few more nanoseconds, unless it lost its processor.
 *
 * <p>The caller holds no lock of the table. A scheduler (that of virtual threads, or one with
 * strict priorities) may never resume a thread that yields while others can run. So no thread may
 * depend on a thread that waits here.
 */
final class Spin {

  private static final int BEFORE_YIELDING = 64;
  private static final int BEFORE_PARKING = 128;
  private static final long SHORTEST_PARK_NANOS = 20_000;
  private static final int LONGEST = 6; // the most doublings of the wait, which is then about 1 ms

  private Spin() {}

  /** Waits a little; takes the number of earlier waits and returns it plus 1. */
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
