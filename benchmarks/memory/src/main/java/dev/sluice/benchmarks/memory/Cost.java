// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import dev.sluice.benchmarks.report.Figure;
import java.util.List;

/**
 * The figure of a row.
 *
 * @param rounds nanoseconds per decision of one thread
 * @param bytes allocated per decision, the texts of the ids apart
 */
record Cost(Figure rounds, double bytes) {

  /** Of one round. */
  Cost(double nanos, double bytes) {
    this(new Figure(nanos, nanos, nanos), bytes);
  }

  /** The figure of some rounds, each of which has one figure. */
  static Cost of(List<Cost> figures) {
    return new Cost(
        Figure.of(figures.stream().mapToDouble(Cost::nanos)),
        Figure.of(figures.stream().mapToDouble(Cost::bytes)).median());
  }

  double nanos() {
    return rounds.median();
  }
}
