// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import dev.sluice.benchmarks.report.Figure;
import java.util.List;

/**
 * What a decision costs, in a row.
 *
 * @param rounds nanoseconds per decision of one thread
 * @param bytes allocated per decision, the texts of the ids apart
 */
record Cost(Figure rounds, double bytes) {

  /** Of one round. */
  Cost(double nanos, double bytes) {
    this(new Figure(nanos, nanos, nanos), bytes);
  }

  /** Of some rounds, each with a cost of its own. */
  static Cost of(List<Cost> costs) {
    return new Cost(
        Figure.of(costs.stream().mapToDouble(Cost::nanos)),
        Figure.of(costs.stream().mapToDouble(Cost::bytes)).median());
  }

  double nanos() {
    return rounds.median();
  }
}
