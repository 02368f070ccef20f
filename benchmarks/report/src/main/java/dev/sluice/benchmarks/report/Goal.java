// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.report;

import java.util.Locale;

/**
 * A goal and the figure that was measured for it.
 *
 * @param text the goal in words
 * @param figure the measured number, in the goal's unit
 * @param wanted the number to reach
 * @param atLeast whether more is better
 */
public record Goal(String text, double figure, double wanted, boolean atLeast) {

  /**
   * Returns whether the figure reaches the goal.
   *
   * @return true if it does
   */
  public boolean met() {
    return atLeast ? figure >= wanted : figure <= wanted;
  }

  /**
   * Returns the goal as a line of a report.
   *
   * @return text, figure, goal, and whether it is met
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
