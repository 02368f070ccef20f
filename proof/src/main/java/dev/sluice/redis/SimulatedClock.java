// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

/**
 * A simulated clock of a server or process, which can be wrong, drift and step. Not thread-safe.
 */
final class SimulatedClock {

  private static final long MILLION = 1_000_000;

  private final World world;
  private long anchorWorld;
  private long anchorNanos;
  private long driftPpm;

  SimulatedClock(World world, long startNanos, long driftPpm) {
    this.world = world;
    this.anchorNanos = startNanos;
    this.driftPpm = driftPpm;
  }

  long nanos() {
    return at(world.now());
  }

  /** Returns the time that the clock shows at a moment after its last step. */
  long at(long moment) {
    long since = moment - anchorWorld;
    return anchorNanos + since + since / MILLION * driftPpm;
  }

  /** Returns the moment at which the clock will show a time, if the clock does not step. */
  long whenItShows(long nanos) {
    long wanted = nanos - anchorNanos;
    long moment = anchorWorld + wanted - wanted / MILLION * driftPpm;
    return moment + Math.max(nanos - at(moment), 0); // corrects the rounding error
  }

  void step(long nanos) {
    anchorNanos = nanos() + nanos;
    anchorWorld = world.now();
  }
}
