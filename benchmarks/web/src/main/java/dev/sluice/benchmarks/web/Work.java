// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.web;

/**
 * Work whose time is measured.
 *
 * @param load does the work a given number of times, one after the other
 * @param times how often to repeat the work in a round
 */
record Work(Load load, int times) {

  /** Does the work repeatedly. */
  @FunctionalInterface
  interface Load {
    void run(int times) throws Exception;
  }

  /** Runs one round, and returns the mean time of one repetition in microseconds. */
  double microsOnce() throws Exception {
    long start = System.nanoTime();
    load.run(times);
    return (System.nanoTime() - start) / 1e3 / times;
  }
}
