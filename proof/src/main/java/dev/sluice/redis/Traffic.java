// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.ArrayList;
import java.util.List;

/*
 * Two calls disturb each other only where they meet: at one bucket, within the time that one of
 * them is on its way. Calls that come evenly over some seconds to many buckets hardly ever meet.
 * So in a part of the worlds they come in crowds, and in a part of them to one bucket or two.
 */

/** When the calls of a plan come, and to which ids. For one thread. */
final class Traffic {

  private static final int IDS = 6;

  private final Dice dice;
  private final long nanos;
  private final List<Long> crowds = new ArrayList<>(); // when they begin; empty: evenly
  private final long crowdNanos;
  private final List<Integer> ids = new ArrayList<>();

  private Traffic(Dice dice, long nanos, long crowdNanos) {
    this.dice = dice;
    this.nanos = nanos;
    this.crowdNanos = crowdNanos;
  }

  /**
   * Traffic by the dice.
   *
   * @param nanos how long there are calls
   * @param latencyNanos how long a message takes
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

  /** Returns when a call comes, in nanoseconds since the world began. */
  long moment() {
    return crowds.isEmpty()
        ? dice.between(0, nanos)
        : crowds.get(dice.below(crowds.size())) + dice.between(0, crowdNanos);
  }

  int id() {
    return ids.get(dice.below(ids.size()));
  }
}
