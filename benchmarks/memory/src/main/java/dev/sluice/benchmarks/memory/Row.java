// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import dev.sluice.benchmarks.report.Figure;
import java.util.List;
import java.util.Locale;

/**
 * One measurement: a limiter and the conditions of the measurement.
 *
 * @param answers the kind of decisions as in {@link DecisionBenchmark#answers}, or {@code insert}
 * @param collector the garbage collector, {@code Parallel} or {@code G1}
 */
record Row(
    Subjects subject,
    int keys,
    String distribution,
    String answers,
    int threads,
    String collector) {

  /** Returns the conditions as text; rows with the same conditions are compared. */
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

  /**
   * The measured cost of a decision.
   *
   * @param rounds the nanoseconds that one thread needs for a decision
   * @param bytes the bytes allocated per decision, without the bytes of the ids
   */
  record Cost(Figure rounds, double bytes) {

    /** Creates a cost from the figures of one round. */
    Cost(double nanos, double bytes) {
      this(new Figure(nanos, nanos, nanos), bytes);
    }

    /** Combines the costs of several rounds. */
    static Cost of(List<Cost> costs) {
      return new Cost(
          Figure.of(costs.stream().mapToDouble(Cost::nanos)),
          Figure.of(costs.stream().mapToDouble(Cost::bytes)).median());
    }

    double nanos() {
      return rounds.median();
    }
  }
}
