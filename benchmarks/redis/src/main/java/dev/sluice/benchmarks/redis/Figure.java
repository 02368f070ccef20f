// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * The figure of one load.
 *
 * @param perSecond decisions
 * @param p50Nanos half of the callers waited less; 0 where waits were not taken
 * @param p99Nanos 99 of 100 did
 * @param clientMicros processor time of the measuring process for a decision
 * @param serverMicros processor time of the server for a decision
 * @param failures how many calls failed
 */
record Figure(
    double perSecond,
    double p50Nanos,
    double p99Nanos,
    double clientMicros,
    double serverMicros,
    long failures) {

  private static final double NANOS_PER_MICRO = 1_000;

  String cell() {
    String waits =
        p50Nanos == 0
            ? ""
            : String.format(
                Locale.ROOT,
                " (%.0f / %.0f)",
                p50Nanos / NANOS_PER_MICRO,
                p99Nanos / NANOS_PER_MICRO);
    return String.format(
        Locale.ROOT,
        "%,.0f%s%s",
        perSecond,
        waits,
        failures == 0 ? "" : ", " + failures + " failed");
  }

  String processorCell() {
    return String.format(Locale.ROOT, "%.1f + %.1f", clientMicros, serverMicros);
  }

  /** All numbers, for {@link #parse}. */
  String text() {
    return perSecond
        + " "
        + p50Nanos
        + " "
        + p99Nanos
        + " "
        + clientMicros
        + " "
        + serverMicros
        + " "
        + failures;
  }

  static Figure parse(String text) {
    double[] numbers = Stream.of(text.split(" ")).mapToDouble(Double::parseDouble).toArray();
    return new Figure(
        numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], (long) numbers[5]);
  }

  /** Each number's own median; of the failures the sum. */
  static Figure median(List<Figure> figures) {
    return new Figure(
        median(figures, Figure::perSecond),
        median(figures, Figure::p50Nanos),
        median(figures, Figure::p99Nanos),
        median(figures, Figure::clientMicros),
        median(figures, Figure::serverMicros),
        figures.stream().mapToLong(Figure::failures).sum());
  }

  private static double median(List<Figure> figures, ToDoubleFunction<Figure> number) {
    double[] sorted = figures.stream().mapToDouble(number).sorted().toArray();
    return sorted[sorted.length / 2];
  }
}
