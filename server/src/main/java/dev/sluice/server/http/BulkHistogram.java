// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import dev.sluice.micrometer.BulkSummary;
import io.micrometer.core.instrument.AbstractMeter;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.distribution.DistributionStatisticConfig;
import io.micrometer.core.instrument.distribution.HistogramSnapshot;
import io.micrometer.core.instrument.distribution.TimeWindowMax;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.Exemplars;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.Arrays;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.concurrent.atomic.LongAdder;

/**
 * A histogram with fixed buckets for Prometheus. Thread-safe; threads do not wait for each other.
 */
final class BulkHistogram extends AbstractMeter implements BulkSummary {

  private final double[] bounds; // ascending, with the infinite one
  private final LongAdder[] counts; // of the values up to each bound, and above the one before
  private final DoubleAdder total = new DoubleAdder();
  private final TimeWindowMax max;
  private final double scale;
  private final long createdMillis;

  /**
   * Makes an empty one.
   *
   * @param config one that this kind {@linkplain #serves serves}
   * @param scale what each value is multiplied by
   */
  BulkHistogram(Meter.Id id, Clock clock, DistributionStatisticConfig config, double scale) {
    super(id);
    double[] finite = bounds(config);
    this.bounds = Arrays.copyOf(finite, finite.length + 1);
    this.bounds[finite.length] = Double.POSITIVE_INFINITY;
    this.counts = new LongAdder[bounds.length];
    Arrays.setAll(counts, i -> new LongAdder());
    this.max = new TimeWindowMax(clock, config);
    this.scale = scale;
    this.createdMillis = clock.wallTime();
  }

  /** Whether a summary has buckets of its own choice, and nothing else to be computed. */
  static boolean serves(DistributionStatisticConfig config) {
    return bounds(config).length > 0
        && !Boolean.TRUE.equals(config.isPercentileHistogram())
        && (config.getPercentiles() == null || config.getPercentiles().length == 0);
  }

  private static double[] bounds(DistributionStatisticConfig config) {
    double[] bounds = config.getServiceLevelObjectiveBoundaries();
    return bounds == null ? new double[0] : Arrays.stream(bounds).sorted().distinct().toArray();
  }

  @Override
  public void record(double amount) {
    record(amount, 1);
  }

  @Override
  public void record(double amount, int times) {
    double value = amount * scale;
    if (times > 0 && value >= 0) {
      int bucket = 0;
      while (value > bounds[bucket]) {
        bucket++;
      }
      counts[bucket].add(times);
      total.add(value * times);
      max.record(value);
    }
  }

  @Override
  public long count() {
    return Arrays.stream(counts).mapToLong(LongAdder::sum).sum();
  }

  @Override
  public double totalAmount() {
    return total.sum();
  }

  @Override
  public double max() {
    return max.poll();
  }

  @Override
  public HistogramSnapshot takeSnapshot() {
    return HistogramSnapshot.empty(count(), totalAmount(), max());
  }

  /** What the page shows. */
  HistogramDataPointSnapshot snapshot(Labels labels) {
    long[] each = Arrays.stream(counts).mapToLong(LongAdder::sum).toArray();
    return new HistogramDataPointSnapshot(
        ClassicHistogramBuckets.of(bounds, each),
        totalAmount(),
        labels,
        Exemplars.EMPTY,
        createdMillis);
  }
}
