// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

/** The clock of a run, without synchronization: the threads of a simulation take turns. */
public final class Clock {

  private long nowNanos = Setup.START_NANOS;

  Clock() {}

  /**
   * Returns the current time.
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
