// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * The figure of one load.
 *
 * @param perSecond decisions, or answers of what stands in for them
 * @param p50Micros half of the requests took less
 * @param p99Micros 99 of 100 did
 * @param p999Micros 999 of 1,000 did
 * @param serverMicros processor time of the server for an answer
 */
record Figure(
    double perSecond, double p50Micros, double p99Micros, double p999Micros, double serverMicros) {

  String cells() {
    return String.format(
        Locale.ROOT,
        "%,.0f | %.0f / %.0f / %.0f | %.2f",
        perSecond,
        p50Micros,
        p99Micros,
        p999Micros,
        serverMicros);
  }

  /** Each number's own median. */
  static Figure median(List<Figure> figures) {
    return new Figure(
        median(figures, Figure::perSecond),
        median(figures, Figure::p50Micros),
        median(figures, Figure::p99Micros),
        median(figures, Figure::p999Micros),
        median(figures, Figure::serverMicros));
  }

  /** Returns how far the rates of the rounds lie apart, as a share of their median. */
  static double spread(List<Figure> figures) {
    double least = figures.stream().mapToDouble(Figure::perSecond).min().orElse(0);
    double most = figures.stream().mapToDouble(Figure::perSecond).max().orElse(0);
    return (most - least) / median(figures, Figure::perSecond);
  }

  private static double median(List<Figure> figures, ToDoubleFunction<Figure> number) {
    double[] sorted = figures.stream().mapToDouble(number).sorted().toArray();
    return sorted[sorted.length / 2];
  }
}
