// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * Detects when the JVM has warmed up: the rate in equal time spans no longer rises, and the JIT
 * compiler no longer takes processor time from the subject. Not thread-safe.
 */
final class Warmth {

  private static final int SPANS = 3;
  // A factor by which the mean rate of three time spans does not rise by chance.
  private static final double RISE = 1.05;
  private static final double MOST_COMPILING = 0.05;

  private final List<Span> spans = new ArrayList<>();

  private record Span(double perSecond, double compiling) {}

  /**
   * Adds the measurements of a time span.
   *
   * @param compiling the time that the compiler's threads worked, as a share of the span
   */
  void add(double perSecond, double compiling) {
    spans.add(new Span(perSecond, compiling));
  }

  /**
   * Returns whether the compiler hardly worked in the last time spans, and the rate was hardly
   * higher than in the same number of spans before.
   */
  boolean isStable() {
    int size = spans.size();
    if (size < 2 * SPANS) {
      return false;
    }
    List<Span> last = spans.subList(size - SPANS, size);
    List<Span> before = spans.subList(size - 2 * SPANS, size - SPANS);
    return sum(last, Span::perSecond) <= RISE * sum(before, Span::perSecond)
        && sum(last, Span::compiling) <= MOST_COMPILING * SPANS;
  }

  private static double sum(List<Span> some, ToDoubleFunction<Span> number) {
    return some.stream().mapToDouble(number).sum();
  }
}
