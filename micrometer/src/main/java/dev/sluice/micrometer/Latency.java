// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import io.micrometer.core.instrument.DistributionSummary;

/*
 * Why not a timer: Prometheus's naming convention appends "_seconds" to a timer, and Boulder's
 * dashboards ask for names without it. A summary takes its unit from us: seconds, as Prometheus
 * likes.
 */

/** Histograms of seconds. */
final class Latency {

  /** From a decision in memory (10 µs, mostly less) to a time-out (seconds). */
  private static final double[] BUCKETS_SECONDS = {
    0.00001, 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5
  };

  private Latency() {}

  /** Records a value several times: at once, where the summary can do that. */
  static void record(DistributionSummary summary, double seconds, int times) {
    if (summary instanceof BulkSummary bulk) {
      bulk.record(seconds, times);
    } else {
      for (int i = 0; i < times; i++) {
        summary.record(seconds);
      }
    }
  }

  static DistributionSummary.Builder builder(String name) {
    return DistributionSummary.builder(name).serviceLevelObjectives(BUCKETS_SECONDS);
  }
}
