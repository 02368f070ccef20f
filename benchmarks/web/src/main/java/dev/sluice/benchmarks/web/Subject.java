// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.web;

/**
 * What is measured.
 *
 * @param family subjects of one family do the same work otherwise; the first of them is the empty
 *     one
 * @param name what stands in the way of the work
 * @param load does the work some times, one after the other
 * @param times how often a round asks for it
 */
record Subject(String family, String name, Load load, int times) {

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
