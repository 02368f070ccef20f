// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

import dev.sluice.benchmarks.report.Figure;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * The measurements of one round of a subject.
 *
 * @param perSecond decisions per second, or answers of an alternative
 * @param p50Micros the median latency
 * @param p99Micros the 99th percentile of the latency
 * @param p999Micros the 99.9th percentile of the latency
 * @param serverMicros processor time of the server per answer
 */
record Round(
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

  /** Returns the median of each number separately. */
  static Round median(List<Round> rounds) {
    return new Round(
        of(rounds, Round::perSecond).median(),
        of(rounds, Round::p50Micros).median(),
        of(rounds, Round::p99Micros).median(),
        of(rounds, Round::p999Micros).median(),
        of(rounds, Round::serverMicros).median());
  }

  /** Returns the figure of one number over the rounds. */
  static Figure of(List<Round> rounds, ToDoubleFunction<Round> number) {
    return Figure.of(rounds.stream().mapToDouble(number));
  }
}
