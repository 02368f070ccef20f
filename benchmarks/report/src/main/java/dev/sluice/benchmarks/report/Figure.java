// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.report;

import java.util.stream.DoubleStream;

/**
 * A number that was measured in several rounds.
 *
 * @param median the median; of an even number of rounds, the higher of the middle two
 * @param lowest the lowest round
 * @param highest the highest round
 */
public record Figure(double median, double lowest, double highest) {

  /** Marks a figure whose rounds overlap with those of the figure that it is compared with. */
  public static final String NO_DIFFERENCE = "~";

  /**
   * Combines the numbers of several rounds.
   *
   * @param rounds the number of each round, at least one round
   * @return the median and the range
   */
  public static Figure of(DoubleStream rounds) {
    double[] sorted = rounds.sorted().toArray();
    return new Figure(sorted[sorted.length / 2], sorted[0], sorted[sorted.length - 1]);
  }

  /**
   * Returns the range of the rounds as a share of their median.
   *
   * @return 0 where all rounds agree
   */
  public double spread() {
    return (highest - lowest) / median;
  }

  /**
   * Returns whether the rounds of two subjects overlap, so that neither is measurably faster.
   *
   * @param other the figure to compare with
   * @return true if the ranges have a number in common
   */
  public boolean overlaps(Figure other) {
    return lowest <= other.highest && other.lowest <= highest;
  }
}
