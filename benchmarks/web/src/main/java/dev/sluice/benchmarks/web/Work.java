// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.web;

/**
 * Work that is timed.
 *
 * @param load does the work some times, one after the other
 * @param times how often a round asks for it
 */
record Work(Load load, int times) {

  /** Does some work over and over. */
  @FunctionalInterface
  interface Load {
    void run(int times) throws Exception;
  }

  /** Returns how long the work takes once, in this round. */
  double microsOnce() throws Exception {
    long start = System.nanoTime();
    load.run(times);
    return (System.nanoTime() - start) / 1e3 / times;
  }
}
