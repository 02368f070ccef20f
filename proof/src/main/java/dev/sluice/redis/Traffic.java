// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.ArrayList;
import java.util.List;

/*
 * Two calls can affect each other only if they use the same bucket and overlap in time. Calls that
 * are spread evenly over all seconds and buckets rarely affect each other. In some plans, calls
 * therefore come in crowds: many calls within a short time. In some plans, all calls use only one
 * or two ids.
 */

/** Chooses the times and ids of a plan's calls at random. Not thread-safe. */
final class Traffic {

  private static final int IDS = 6;

  private final Dice dice;
  private final long nanos;
  // the start times of the bursts of calls; if empty, calls are spread evenly
  private final List<Long> crowds = new ArrayList<>();
  private final long crowdNanos;
  private final List<Integer> ids = new ArrayList<>();

  private Traffic(Dice dice, long nanos, long crowdNanos) {
    this.dice = dice;
    this.nanos = nanos;
    this.crowdNanos = crowdNanos;
  }

  /**
   * Makes random traffic.
   *
   * @param nanos the time from the first to the last call
   * @param latencyNanos the travel time of a message
   */
  static Traffic random(Dice dice, long nanos, long latencyNanos) {
    Traffic traffic = new Traffic(dice, nanos, latencyNanos * dice.one(1, 4, 20));
    int crowds = dice.one(0, 0, 2, 8, 30);
    for (int i = 0; i < crowds; i++) {
      traffic.crowds.add(dice.between(0, nanos));
    }
    int ids = dice.one(IDS, IDS, 1, 2);
    for (int i = 0; i < ids; i++) {
      traffic.ids.add(ids == IDS ? i : dice.below(IDS));
    }
    return traffic;
  }

  /** Returns a time for a call, in nanoseconds since the start of the run. */
  long moment() {
    return crowds.isEmpty()
        ? dice.between(0, nanos)
        : crowds.get(dice.below(crowds.size())) + dice.between(0, crowdNanos);
  }

  int id() {
    return ids.get(dice.below(ids.size()));
  }
}
