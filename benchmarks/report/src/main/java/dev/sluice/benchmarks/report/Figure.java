// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.report;

import java.util.stream.DoubleStream;

/**
 * A figure: one number of several rounds that measured the same. Immutable.
 *
 * @param median of the rounds; of an even number of them, the higher of the two in the middle
 * @param lowest of the rounds
 * @param highest of the rounds
 */
public record Figure(double median, double lowest, double highest) {

  /** Stands before or after a figure whose rounds overlap with those that it is compared with. */
  public static final String NO_DIFFERENCE = "~";

  /**
   * Takes some rounds together.
   *
   * @param rounds one number of each, at least one
   * @return the median and the range
   */
  public static Figure of(DoubleStream rounds) {
    double[] sorted = rounds.sorted().toArray();
    return new Figure(sorted[sorted.length / 2], sorted[0], sorted[sorted.length - 1]);
  }

  /**
   * Returns how far the rounds lie apart, as a share of their median.
   *
   * @return 0 where all rounds agree
   */
  public double spread() {
    return (highest - lowest) / median;
  }

  /**
   * Returns whether the rounds of two subjects overlap: which of them is faster is not known then.
   *
   * @param other what this is compared with
   * @return true if the ranges have a number in common
   */
  public boolean overlaps(Figure other) {
    return lowest <= other.highest && other.lowest <= highest;
  }
}
