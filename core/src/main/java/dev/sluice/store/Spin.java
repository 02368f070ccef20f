// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.util.concurrent.locks.LockSupport;

/**
 * How to wait for a thread that needs a few more nanoseconds, unless it lost its processor.
 *
 * <p>The caller holds no lock of the table. A scheduler need not ever run a thread again that
 * yields while others can run: the scheduler of virtual threads may not, nor one with strict
 * priorities. So nobody may depend on a thread that waits.
 */
final class Spin {

  private static final int BEFORE_YIELDING = 64;
  private static final int BEFORE_PARKING = 128;
  private static final long SHORTEST_PARK_NANOS = 20_000;
  private static final int LONGEST = 6; // doublings: about a millisecond

  private Spin() {}

  /** Waits a little; takes and returns how often this was done already. */
  @SuppressWarnings("ThreadPriorityCheck") // nobody depends on a thread that waits here
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
