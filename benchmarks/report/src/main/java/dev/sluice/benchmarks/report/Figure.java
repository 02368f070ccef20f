// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.report;

import java.util.stream.DoubleStream;

/**
 * A number that was measured in several rounds.
 *
 * @param median the median; for an even number of rounds, the larger of the two middle numbers
 * @param lowest the lowest of the rounds' numbers
 * @param highest the highest of the rounds' numbers
 */
public record Figure(double median, double lowest, double highest) {

  /**
   * The mark of a figure that is not measurably different: its range overlaps with the range of the
   * figure with which it is compared.
   */
  public static final String NO_DIFFERENCE = "~";

  /**
   * Creates a figure from the numbers of several rounds.
   *
   * @param rounds the numbers that the rounds measured, at least one
   * @return the median and the range
   */
  public static Figure of(DoubleStream rounds) {
    double[] sorted = rounds.sorted().toArray();
    return new Figure(sorted[sorted.length / 2], sorted[0], sorted[sorted.length - 1]);
  }

  /**
   * Returns the range of the rounds as a share of their median.
   *
   * @return the share of the median; 0 if all rounds have the same number
   */
  public double spread() {
    return (highest - lowest) / median;
  }

  /**
   * Returns whether the ranges of two figures overlap, so that neither is measurably better.
   *
   * @param other the figure to compare with
   * @return true if the ranges have a number in common
   */
  public boolean overlaps(Figure other) {
    return lowest <= other.highest && other.lowest <= highest;
  }
}
