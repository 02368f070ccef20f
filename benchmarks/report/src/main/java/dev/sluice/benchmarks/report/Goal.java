// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.report;

import java.util.Locale;

/**
 * A goal of a benchmark, and the figure that was measured.
 *
 * @param text the goal in words
 * @param figure the measured number
 * @param wanted the number that the figure must reach
 * @param atLeast true if a higher figure is better, false if a lower figure is better
 */
public record Goal(String text, double figure, double wanted, boolean atLeast) {

  /**
   * Returns whether the figure reaches the goal.
   *
   * @return true if the goal is met
   */
  public boolean met() {
    return atLeast ? figure >= wanted : figure <= wanted;
  }

  /**
   * Returns the goal as a line of a report.
   *
   * @return a line with the text, the figure, the goal, and whether the goal is met
   */
  public String line() {
    return String.format(
        Locale.ROOT,
        "%-62s %8.2f   goal %s %.2f   %s",
        text,
        figure,
        atLeast ? "≥" : "≤",
        wanted,
        met() ? "met" : "NOT MET");
  }
}
