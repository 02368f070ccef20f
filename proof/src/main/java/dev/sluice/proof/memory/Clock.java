// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

/** The clock of a run. Moved and read by threads of a simulation, which take turns. */
public final class Clock {

  private long nowNanos = Setup.START_NANOS;

  Clock() {}

  /**
   * The present.
   *
   * @return nanoseconds since the epoch
   */
  public long nanos() {
    return nowNanos;
  }

  void move(long nanos) {
    nowNanos += nanos;
  }
}
