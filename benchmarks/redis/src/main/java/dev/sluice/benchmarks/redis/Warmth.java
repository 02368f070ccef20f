// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.ArrayList;
import java.util.List;

/**
 * Detects when the JVM has warmed up, which means that the rate in equal time spans no longer
 * rises. Not thread-safe.
 */
final class Warmth {

  private static final int SPANS = 3;
  // Noise changes the mean of three time spans by less than this factor.
  private static final double RISE = 1.05;

  private final List<Double> rates = new ArrayList<>();

  void add(double perSecond) {
    rates.add(perSecond);
  }

  /**
   * Returns whether the rate in the last time spans was hardly higher than in the same number of
   * spans before.
   */
  boolean isStable() {
    int size = rates.size();
    return size >= 2 * SPANS
        && sum(rates.subList(size - SPANS, size))
            <= RISE * sum(rates.subList(size - 2 * SPANS, size - SPANS));
  }

  private static double sum(List<Double> numbers) {
    return numbers.stream().mapToDouble(Double::doubleValue).sum();
  }
}
