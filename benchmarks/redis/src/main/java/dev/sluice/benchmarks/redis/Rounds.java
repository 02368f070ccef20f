// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import dev.sluice.benchmarks.report.Figure;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;

/** The measured rounds of one subject under one load. Not thread-safe. */
final class Rounds {

  private static final double NANOS_PER_MICRO = 1_000;

  private final List<Round> rounds = new ArrayList<>();

  void add(Round round) {
    rounds.add(round);
  }

  double median(ToDoubleFunction<Round> number) {
    return spread(number).median();
  }

  private Figure spread(ToDoubleFunction<Round> number) {
    return Figure.of(rounds.stream().mapToDouble(number));
  }

  /** Returns the ratio of a figure of this subject to the same figure of another subject. */
  Ratio ratio(ToDoubleFunction<Round> number, Rounds theirs) {
    double[] ofRounds = new double[Math.min(rounds.size(), theirs.rounds.size())];
    for (int i = 0; i < ofRounds.length; i++) {
      ofRounds[i] =
          number.applyAsDouble(rounds.get(i)) / number.applyAsDouble(theirs.rounds.get(i));
    }
    Figure spread = Figure.of(DoubleStream.of(ofRounds));
    return new Ratio(median(number) / theirs.median(number), spread.lowest(), spread.highest());
  }

  /**
   * The ratio of a measured number of one subject to the same number of another subject.
   *
   * @param ofMedians the ratio of the two subjects' medians
   * @param lowest the lowest ratio within one round
   * @param highest the highest ratio within one round
   */
  record Ratio(double ofMedians, double lowest, double highest) {

    String range() {
      return String.format(Locale.ROOT, "%.2f to %.2f", lowest, highest);
    }
  }

  /** Returns whether the ranges of two subjects overlap, so that neither is measurably faster. */
  boolean isLike(Rounds other) {
    return spread(Round::perSecond).overlaps(other.spread(Round::perSecond));
  }

  /**
   * Formats the rate, half of the range of the rate in percent, the latencies, and the number of
   * failures.
   */
  String rate() {
    Figure rates = spread(Round::perSecond);
    double p50 = median(Round::p50Nanos);
    double failures = rounds.stream().mapToDouble(Round::failures).sum();
    return String.format(Locale.ROOT, "%,.0f ± %.0f %%", rates.median(), 50 * rates.spread())
        + (p50 == 0 ? "" : " (" + waits() + ")")
        + (failures == 0 ? "" : String.format(Locale.ROOT, ", %.0f failed", failures));
  }

  /** Formats the medians of p50 and p99 in microseconds. */
  String waits() {
    return String.format(
        Locale.ROOT,
        "%.0f / %.0f",
        median(Round::p50Nanos) / NANOS_PER_MICRO,
        median(Round::p99Nanos) / NANOS_PER_MICRO);
  }

  /** Formats the processor time of the client and of the server. */
  String processor() {
    return String.format(
        Locale.ROOT, "%.1f + %.1f", median(Round::clientMicros), median(Round::serverMicros));
  }

  /** Formats the processor time of the server, with its range. */
  String server() {
    Figure micros = spread(Round::serverMicros);
    return String.format(
        Locale.ROOT, "%.2f (%.2f to %.2f)", micros.median(), micros.lowest(), micros.highest());
  }

  /** Formats the duration of the warm-up. */
  String warmUp() {
    boolean stable = spread(Round::warmUpSeconds).lowest() >= 0;
    Figure seconds = spread(round -> Math.abs(round.warmUpSeconds()));
    return String.format(
        Locale.ROOT,
        "%.1f / %.1f%s",
        seconds.median(),
        seconds.highest(),
        stable ? "" : ", still rising");
  }
}
