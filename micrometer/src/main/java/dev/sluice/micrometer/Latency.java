// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import io.micrometer.core.instrument.DistributionSummary;

/*
 * Latencies are recorded in summaries, not timers. Micrometer's naming convention for Prometheus
 * appends "_seconds" to the name of a timer, but Boulder's dashboards need names without this
 * suffix. The values are in seconds, the usual unit in Prometheus.
 */

/** Makes histograms of seconds, and records values in them. */
final class Latency {

  /**
   * The upper bounds of the histogram's buckets. A decision in memory takes about 10 µs, a call
   * that times out takes seconds.
   */
  private static final double[] BUCKETS_SECONDS = {
    0.00001, 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5
  };

  private Latency() {}

  /**
   * Records a value several times. A {@link BulkSummary} needs only one call to record all values.
   */
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
