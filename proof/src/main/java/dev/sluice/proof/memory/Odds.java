// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.Random;

/*
 * Some faults need one thread to stop between two reads, while another one does all of a long call.
 * Turns that come evenly hardly ever meet such a fault: a look through a table takes hundreds of
 * steps. So in half of the runs most turns come at a few places of the code, another few in each
 * run, and between them threads go on for long.
 */

/**
 * How likely it is at a step that another thread takes over. Immutable.
 *
 * @param oneIn after how many steps on average, wherever they are
 * @param places which places of the code are likely ones as well, by their hash; 0 for none
 */
record Odds(int oneIn, int places) {

  private static final int SPREAD = 0x9E3779B9;
  private static final int ONE_PLACE_IN = 32;

  /** Of a run by turns that are made already. */
  static final Odds NONE = new Odds(1, 0);

  static Odds random(Random random) {
    int oneIn = 2 << random.nextInt(10);
    return new Odds(oneIn, random.nextBoolean() ? random.nextInt() | 1 : 0);
  }

  /**
   * Whether it is time to change threads.
   *
   * @param place the hash of the place where the present one stands
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
