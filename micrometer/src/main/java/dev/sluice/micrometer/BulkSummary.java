// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import io.micrometer.core.instrument.DistributionSummary;

/**
 * A summary that takes a value several times at once. Where a registry makes its summaries so, many
 * spends that were decided on together cost no more than one. Thread-safe; never blocks.
 */
public interface BulkSummary extends DistributionSummary {

  /**
   * Records a value several times.
   *
   * @param amount the value; ignored if it is negative
   * @param times how often, 0 or more
   */
  void record(double amount, int times);
}
