// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import io.micrometer.core.instrument.DistributionSummary;

/**
 * A summary that can record the same value several times in one call. {@link LimiterMetrics} needs
 * only one call to record many spends that were decided together. Thread-safe; never blocks.
 */
public interface BulkSummary extends DistributionSummary {

  /**
   * Records a value several times.
   *
   * @param amount the value; ignored if it is negative
   * @param times how often to record the value, 0 or more
   */
  void record(double amount, int times);
}
