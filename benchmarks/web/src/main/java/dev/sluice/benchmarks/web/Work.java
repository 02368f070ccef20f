// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.web;

/**
 * Work that is timed.
 *
 * @param load carries out the work a number of times in sequence
 * @param times the repetitions in a round
 */
record Work(Load load, int times) {

  /** Carries out some work repeatedly. */
  @FunctionalInterface
  interface Load {
    void run(int times) throws Exception;
  }

  /** Returns the time of one repetition, measured over a round. */
  double microsOnce() throws Exception {
    long start = System.nanoTime();
    load.run(times);
    return (System.nanoTime() - start) / 1e3 / times;
  }
}
