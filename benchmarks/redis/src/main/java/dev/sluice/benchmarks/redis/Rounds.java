// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;

/** The figures of one subject under one load, one of each round. Not thread-safe. */
final class Rounds {

  private static final double NANOS_PER_MICRO = 1_000;

  private final List<Figure> figures = new ArrayList<>();

  void add(Figure figure) {
    figures.add(figure);
  }

  double median(ToDoubleFunction<Figure> number) {
    double[] sorted = numbers(number).sorted().toArray();
    return sorted[sorted.length / 2];
  }

  private DoubleStream numbers(ToDoubleFunction<Figure> number) {
    return figures.stream().mapToDouble(number);
  }

  private double lowest(ToDoubleFunction<Figure> number) {
    return numbers(number).min().orElseThrow();
  }

  private double highest(ToDoubleFunction<Figure> number) {
    return numbers(number).max().orElseThrow();
  }

  /** How often a number of ours holds theirs: of the medians, and of each round. */
  Ratio ratio(ToDoubleFunction<Figure> number, Rounds theirs) {
    double[] ofRounds = new double[Math.min(figures.size(), theirs.figures.size())];
    for (int i = 0; i < ofRounds.length; i++) {
      ofRounds[i] =
          number.applyAsDouble(figures.get(i)) / number.applyAsDouble(theirs.figures.get(i));
    }
    return new Ratio(
        median(number) / theirs.median(number),
        DoubleStream.of(ofRounds).min().orElseThrow(),
        DoubleStream.of(ofRounds).max().orElseThrow());
  }

  /**
   * A ratio.
   *
   * @param ofMedians of the medians of all rounds
   * @param lowest of a round
   * @param highest of a round
   */
  record Ratio(double ofMedians, double lowest, double highest) {

    String range() {
      return String.format(Locale.ROOT, "%.2f to %.2f", lowest, highest);
    }
  }

  /** Whether the rounds of the two overlap: which is faster, nobody can tell from them. */
  boolean isLike(Rounds other) {
    return lowest(Figure::perSecond) <= other.highest(Figure::perSecond)
        && other.lowest(Figure::perSecond) <= highest(Figure::perSecond);
  }

  /** The rate, half of the range of its rounds in percent, the waits, and what failed. */
  String rate() {
    double median = median(Figure::perSecond);
    double range = highest(Figure::perSecond) - lowest(Figure::perSecond);
    double p50 = median(Figure::p50Nanos);
    double failures = numbers(Figure::failures).sum();
    return String.format(Locale.ROOT, "%,.0f ± %.0f %%", median, 50 * range / median)
        + (p50 == 0 ? "" : " (" + waits() + ")")
        + (failures == 0 ? "" : String.format(Locale.ROOT, ", %.0f failed", failures));
  }

  /** Medians of p50 and p99 in microseconds. */
  String waits() {
    return String.format(
        Locale.ROOT,
        "%.0f / %.0f",
        median(Figure::p50Nanos) / NANOS_PER_MICRO,
        median(Figure::p99Nanos) / NANOS_PER_MICRO);
  }

  /** Processor time, of the client and of the server. */
  String processor() {
    return String.format(
        Locale.ROOT, "%.1f + %.1f", median(Figure::clientMicros), median(Figure::serverMicros));
  }

  /** Processor time of the server, and the range of its rounds. */
  String server() {
    return String.format(
        Locale.ROOT,
        "%.2f (%.2f to %.2f)",
        median(Figure::serverMicros),
        lowest(Figure::serverMicros),
        highest(Figure::serverMicros));
  }

  /** How long the rounds took to warm up. */
  String warmUp() {
    boolean stable = lowest(Figure::warmUpSeconds) >= 0;
    double longest = numbers(Figure::warmUpSeconds).map(Math::abs).max().orElseThrow();
    return String.format(
        Locale.ROOT,
        "%.1f / %.1f%s",
        median(figure -> Math.abs(figure.warmUpSeconds())),
        longest,
        stable ? "" : ", still rising");
  }
}
