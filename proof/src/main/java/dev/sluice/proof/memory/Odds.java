// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.Random;

/*
 * Some faults appear only if one thread stops between two reads and another thread then completes a
 * long call. A scan of the table takes hundreds of steps. If a thread change is equally likely at
 * every step, the simulation rarely finds a fault that needs a complete scan between two reads. In
 * half of the runs, threads therefore change mostly at a few code locations, which differ between
 * runs.
 */

/**
 * The probability that the scheduler changes to another thread at a step.
 *
 * @param oneIn the mean number of steps between two thread changes at arbitrary code locations
 * @param places selects the code locations at which thread changes are likely, by their hashes; 0
 *     for none
 */
record Odds(int oneIn, int places) {

  private static final int SPREAD = 0x9E3779B9;
  private static final int ONE_PLACE_IN = 32;

  /** The odds for a run in which the schedule determines when threads change. */
  static final Odds NONE = new Odds(1, 0);

  static Odds random(Random random) {
    int oneIn = 2 << random.nextInt(10);
    return new Odds(oneIn, random.nextBoolean() ? random.nextInt() | 1 : 0);
  }

  /**
   * Decides at random whether another thread runs after a step.
   *
   * @param place the hash of the current thread's code location
   */
  boolean change(Random random, int place) {
    int within = places != 0 && isLikely(place) ? 2 : oneIn;
    return random.nextInt(within) == 0;
  }

  private boolean isLikely(int place) {
    int mixed = (place ^ places) * SPREAD;
    return ((mixed >>> 16) & (ONE_PLACE_IN - 1)) == 0;
  }
}
