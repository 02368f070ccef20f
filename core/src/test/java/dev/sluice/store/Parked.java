// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.store.BucketTable.Spin;

/** A thread that waits for another one by {@link Spin}: in the end it parks. */
final class Parked {

  private Parked() {}

  /** Returns when the thread has parked, or has ended. */
  static void await(Thread thread) {
    while (thread.isAlive() && thread.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
  }
}
