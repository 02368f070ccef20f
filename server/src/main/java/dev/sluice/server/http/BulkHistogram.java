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
import java.io.IOException;
import java.io.Writer;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;

/**
 * A histogram with fixed buckets, in the form of Prometheus. Thread-safe; threads never wait for
 * each other.
 */
final class BulkHistogram extends AbstractMeter implements BulkSummary {

  private final double[] bounds; // ascending, the last is infinite

  /** The number of values in each bucket; null while a bucket is empty. */
  private final AtomicReferenceArray<@Nullable LongAdder> counts;

  private final DoubleAdder total = new DoubleAdder();
  private final TimeWindowMax max;
  private final double scale;
  private final long createdMillis;

  /**
   * Makes an empty histogram.
   *
   * @param bounds the buckets' upper bounds, from {@link #bounds}; the array is not copied
   * @param config a configuration that {@link #serves} accepts
   * @param scale the factor by which each value is multiplied
   */
  BulkHistogram(
      Meter.Id id, Clock clock, double[] bounds, DistributionStatisticConfig config, double scale) {
    super(id);
    this.bounds = bounds;
    this.counts = new AtomicReferenceArray<>(bounds.length);
    this.max = new TimeWindowMax(clock, config);
    this.scale = scale;
    this.createdMillis = clock.wallTime();
  }

  /**
   * Whether a configuration has explicit buckets, and no features that this class lacks, such as
   * percentiles.
   */
  static boolean serves(DistributionStatisticConfig config) {
    return bounds(config).length > 1
        && !Boolean.TRUE.equals(config.isPercentileHistogram())
        && (config.getPercentiles() == null || config.getPercentiles().length == 0);
  }

  /** Returns the upper bounds of the buckets; the last bound is infinite. */
  static double[] bounds(DistributionStatisticConfig config) {
    double[] finite = config.getServiceLevelObjectiveBoundaries();
    return DoubleStream.concat(
            finite == null ? DoubleStream.empty() : DoubleStream.of(finite),
            DoubleStream.of(Double.POSITIVE_INFINITY))
        .sorted()
        .distinct()
        .toArray();
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
      adder(bucket).add(times);
      total.add(value * times);
      max.record(value);
    }
  }

  private LongAdder adder(int bucket) {
    LongAdder known = counts.get(bucket);
    if (known != null) {
      return known;
    }
    LongAdder first = new LongAdder();
    LongAdder other = counts.compareAndExchange(bucket, null, first);
    return other == null ? first : other;
  }

  /** Returns the number of values in each bucket; the numbers are not cumulative. */
  private long[] counts() {
    long[] each = new long[bounds.length];
    for (int i = 0; i < each.length; i++) {
      LongAdder count = counts.get(i);
      each[i] = count == null ? 0 : count.sum();
    }
    return each;
  }

  @Override
  public long count() {
    return Arrays.stream(counts()).sum();
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

  /**
   * Writes the histogram's lines of the metrics page, without the line of the maximum. {@code
   * labels} is in the page's format, without braces.
   */
  void write(String name, String labels, Writer page) throws IOException {
    String more = labels.isEmpty() ? "" : labels + ",";
    String same = labels.isEmpty() ? "" : "{" + labels + "}";
    long[] each = counts();
    long count = 0;
    for (int i = 0; i < each.length; i++) {
      count += each[i];
      String bound = Double.isInfinite(bounds[i]) ? "+Inf" : Double.toString(bounds[i]);
      page.write(name + "_bucket{" + more + "le=\"" + bound + "\"} " + count + "\n");
    }
    page.write(name + "_count" + same + " " + count + "\n");
    page.write(name + "_sum" + same + " " + totalAmount() + "\n");
  }

  HistogramDataPointSnapshot snapshot(Labels labels) {
    return new HistogramDataPointSnapshot(
        ClassicHistogramBuckets.of(bounds, counts()),
        totalAmount(),
        labels,
        Exemplars.EMPTY,
        createdMillis);
  }
}
