// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.util.List;

/**
 * The figure of a row.
 *
 * @param nanos per decision of one thread: the median of the rounds
 * @param lowest of the rounds
 * @param highest of the rounds
 * @param bytes allocated per decision, the texts of the ids apart
 */
record Figure(double nanos, double lowest, double highest, double bytes) {

  /** Of one round, for tests. */
  Figure(double nanos, double bytes) {
    this(nanos, nanos, nanos, bytes);
  }

  /** The figure of some rounds, each of which has one figure. */
  static Figure of(List<Figure> rounds) {
    double[] nanos = rounds.stream().mapToDouble(Figure::nanos).sorted().toArray();
    double[] bytes = rounds.stream().mapToDouble(Figure::bytes).sorted().toArray();
    int middle = nanos.length / 2;
    return new Figure(nanos[middle], nanos[0], nanos[nanos.length - 1], bytes[middle]);
  }

  /** Whether a difference to another figure is more than the rounds of either differ. */
  boolean differsFrom(Figure other) {
    return lowest > other.highest || highest < other.lowest;
  }
}
