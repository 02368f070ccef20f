// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.Random;

/*
 * Some faults need one thread to stop between two reads while another thread completes a long call.
 * Evenly spread turns rarely find such a fault, since a scan of a table takes hundreds of steps. So
 * in half of the runs most turns happen at a few places of the code. These places differ in each
 * run, and threads run for a long time between the turns.
 */

/**
 * The probability, at each step, that another thread takes over.
 *
 * @param oneIn the mean number of steps between turns, at any place
 * @param places selects, by hash, the places where turns are likely; 0 for no such places
 */
record Odds(int oneIn, int places) {

  private static final int SPREAD = 0x9E3779B9;
  private static final int ONE_PLACE_IN = 32;

  /** The odds for a run whose turns are given. */
  static final Odds NONE = new Odds(1, 0);

  static Odds random(Random random) {
    int oneIn = 2 << random.nextInt(10);
    return new Odds(oneIn, random.nextBoolean() ? random.nextInt() | 1 : 0);
  }

  /**
   * Decides at random whether to change threads.
   *
   * @param place the hash of the current thread's place in the code
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
