// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

import dev.sluice.benchmarks.report.Figure;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * What one round measured of a subject.
 *
 * @param perSecond decisions, or answers of what stands in for them
 * @param p50Micros half of the requests took less
 * @param p99Micros 99 of 100 did
 * @param p999Micros 999 of 1,000 did
 * @param serverMicros processor time of the server for an answer
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

  /** Each number's own median. */
  static Round median(List<Round> rounds) {
    return new Round(
        of(rounds, Round::perSecond).median(),
        of(rounds, Round::p50Micros).median(),
        of(rounds, Round::p99Micros).median(),
        of(rounds, Round::p999Micros).median(),
        of(rounds, Round::serverMicros).median());
  }

  /** Returns the figure that one number of the rounds makes. */
  static Figure of(List<Round> rounds, ToDoubleFunction<Round> number) {
    return Figure.of(rounds.stream().mapToDouble(number));
  }
}
