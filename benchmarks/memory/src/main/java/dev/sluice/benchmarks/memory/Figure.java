// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import dev.sluice.benchmarks.report.Spread;
import java.util.List;

/**
 * The figure of a row.
 *
 * @param rounds nanoseconds per decision of one thread
 * @param bytes allocated per decision, the texts of the ids apart
 */
record Figure(Spread rounds, double bytes) {

  /** Of one round. */
  Figure(double nanos, double bytes) {
    this(new Spread(nanos, nanos, nanos), bytes);
  }

  /** The figure of some rounds, each of which has one figure. */
  static Figure of(List<Figure> figures) {
    return new Figure(
        Spread.of(figures.stream().mapToDouble(Figure::nanos)),
        Spread.of(figures.stream().mapToDouble(Figure::bytes)).median());
  }

  double nanos() {
    return rounds.median();
  }
}
