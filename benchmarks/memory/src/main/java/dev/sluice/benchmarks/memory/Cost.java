// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import dev.sluice.benchmarks.report.Figure;
import java.util.List;

/**
 * The cost of a decision in a row.
 *
 * @param rounds nanoseconds per decision of one thread
 * @param bytes the bytes allocated per decision, without the texts of the ids
 */
record Cost(Figure rounds, double bytes) {

  /** Creates the cost of one round. */
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
