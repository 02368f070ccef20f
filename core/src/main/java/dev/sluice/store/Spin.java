package dev.sluice.store;

/** How to wait for somebody who needs a few more nanoseconds, unless it lost its processor. */
final class Spin {

  private static final int BEFORE_YIELDING = 64;

  private Spin() {}

  /** Waits a little; takes and returns how often this was done already. */
  @SuppressWarnings("ThreadPriorityCheck") // only the lock's holder is relied on
  static int once(int spins) {
    if (spins < BEFORE_YIELDING) {
      Thread.onSpinWait();
      return spins + 1;
    }
    Thread.yield();
    return spins;
  }
}
