// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.ArrayList;
import java.util.List;

/*
 * Two calls disturb each other only if they use one bucket and overlap in time. Calls spread evenly
 * over seconds and buckets hardly ever do. So in some worlds calls come in crowds, and in some to
 * one or two buckets.
 */

/** Picks the times and ids of a plan's calls. For one thread. */
final class Traffic {

  private static final int IDS = 6;

  private final Dice dice;
  private final long nanos;
  private final List<Long> crowds = new ArrayList<>(); // start times; empty: evenly spread
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
   * @param nanos the time during which there are calls
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

  /** Returns the time of a call, in nanoseconds since the world began. */
  long moment() {
    return crowds.isEmpty()
        ? dice.between(0, nanos)
        : crowds.get(dice.below(crowds.size())) + dice.between(0, crowdNanos);
  }

  int id() {
    return ids.get(dice.below(ids.size()));
  }
}
