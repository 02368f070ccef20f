// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.util.Locale;

/**
 * One thing to measure.
 *
 * @param answers as {@link DecisionBenchmark#answers}, or {@code insert}
 * @param collector of garbage, {@code Parallel} or {@code G1}
 */
record Row(
    Subjects subject,
    int keys,
    String distribution,
    String answers,
    int threads,
    String collector) {

  /** Returns the words that distinguish it from the same row of another subject. */
  String scene() {
    return String.format(
        Locale.ROOT,
        "%s, %,d %s, %s, %d thread%s, %s",
        answers,
        keys,
        keys == 1 ? "key" : "keys",
        distribution,
        threads,
        threads == 1 ? "" : "s",
        collector);
  }

  Row of(Subjects other) {
    return new Row(other, keys, distribution, answers, threads, collector);
  }
}
