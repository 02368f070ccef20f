// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.otlp;

import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.sdk.common.InstrumentationScopeInfo;
import io.opentelemetry.sdk.metrics.data.AggregationTemporality;
import io.opentelemetry.sdk.metrics.data.Data;
import io.opentelemetry.sdk.metrics.data.DoublePointData;
import io.opentelemetry.sdk.metrics.data.GaugeData;
import io.opentelemetry.sdk.metrics.data.HistogramData;
import io.opentelemetry.sdk.metrics.data.HistogramPointData;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.metrics.data.MetricDataType;
import io.opentelemetry.sdk.metrics.data.SumData;
import io.opentelemetry.sdk.metrics.data.SummaryData;
import io.opentelemetry.sdk.metrics.data.SummaryPointData;
import io.opentelemetry.sdk.metrics.export.MetricProducer;
import io.opentelemetry.sdk.resources.Resource;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.InfoSnapshot;
import io.prometheus.metrics.model.snapshots.Label;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.SummarySnapshot;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/*
 * This class converts the metrics of GET /metrics when they are sent, so the server records each
 * request only once. The names and labels stay the same, so that the same queries work. A receiver
 * that writes to Prometheus adds "_total" to the names of counters itself.
 */

/** Converts the metrics of {@code /metrics} to OpenTelemetry metrics. Thread-safe. */
final class ScrapedMetrics implements MetricProducer {

  private static final InstrumentationScopeInfo SCOPE = InstrumentationScopeInfo.create("sluice");
  private static final AggregationTemporality SINCE_THE_START = AggregationTemporality.CUMULATIVE;

  private final PrometheusRegistry registry;
  private final Clock clock;
  private final long start;

  ScrapedMetrics(PrometheusRegistry registry, Clock clock) {
    this.registry = registry;
    this.clock = clock;
    this.start = nanos(clock.instant());
  }

  private static long nanos(Instant at) {
    return TimeUnit.SECONDS.toNanos(at.getEpochSecond()) + at.getNano();
  }

  @Override
  public Collection<MetricData> produce(Resource resource) {
    long now = nanos(clock.instant());
    List<MetricData> all = new ArrayList<>();
    for (MetricSnapshot metric : registry.scrape()) {
      Converted converted = convert(metric, now);
      if (converted != null) {
        all.add(
            new One(
                resource,
                SCOPE,
                name(metric),
                text(metric.getMetadata().getHelp()),
                "",
                converted.type(),
                converted.data()));
      }
    }
    return all;
  }

  /**
   * Returns the name of a metric as in {@code /metrics}, which adds {@code _info} to the names of
   * info metrics.
   */
  private static String name(MetricSnapshot metric) {
    String name = metric.getMetadata().getPrometheusName();
    return metric instanceof InfoSnapshot ? name + "_info" : name;
  }

  private static String text(@Nullable String help) {
    return help == null ? "" : help;
  }

  /** The data of a metric, and the type of the data. */
  private record Converted(MetricDataType type, Data<?> data) {}

  /** Returns the data of a metric; null if this server does not use the metric's type. */
  private @Nullable Converted convert(MetricSnapshot metric, long now) {
    if (metric instanceof CounterSnapshot counter) {
      List<DoublePointData> points =
          counter.getDataPoints().stream()
              .map(one -> point(now, one.getLabels(), one.getValue()))
              .toList();
      return new Converted(
          MetricDataType.DOUBLE_SUM, SumData.createDoubleSumData(true, SINCE_THE_START, points));
    }
    if (metric instanceof GaugeSnapshot gauge) {
      List<DoublePointData> points =
          gauge.getDataPoints().stream()
              .map(one -> point(now, one.getLabels(), one.getValue()))
              .toList();
      return new Converted(MetricDataType.DOUBLE_GAUGE, GaugeData.createDoubleGaugeData(points));
    }
    if (metric instanceof InfoSnapshot info) {
      List<DoublePointData> points =
          info.getDataPoints().stream().map(one -> point(now, one.getLabels(), 1)).toList();
      return new Converted(MetricDataType.DOUBLE_GAUGE, GaugeData.createDoubleGaugeData(points));
    }
    if (metric instanceof HistogramSnapshot histogram) {
      List<HistogramPointData> points =
          histogram.getDataPoints().stream().map(one -> point(now, one)).toList();
      return new Converted(MetricDataType.HISTOGRAM, HistogramData.create(SINCE_THE_START, points));
    }
    if (metric instanceof SummarySnapshot summary) {
      List<SummaryPointData> points =
          summary.getDataPoints().stream()
              .map(
                  one ->
                      SummaryPointData.create(
                          start,
                          now,
                          attributes(one.getLabels()),
                          one.getCount(),
                          one.getSum(),
                          List.of()))
              .toList();
      return new Converted(MetricDataType.SUMMARY, SummaryData.create(points));
    }
    return null;
  }

  private DoublePointData point(long now, Labels labels, double value) {
    return DoublePointData.create(start, now, attributes(labels), value, List.of());
  }

  /** Converts a histogram. */
  private HistogramPointData point(long now, HistogramDataPointSnapshot one) {
    ClassicHistogramBuckets buckets = one.getClassicBuckets();
    List<Double> bounds = new ArrayList<>();
    List<Long> counts = new ArrayList<>();
    for (int i = 0; i < buckets.size(); i++) {
      counts.add(buckets.getCount(i));
      if (i < buckets.size() - 1) {
        bounds.add(buckets.getUpperBound(i));
      }
    }
    return HistogramPointData.create(
        start, now, attributes(one.getLabels()), one.getSum(), false, 0, false, 0, bounds, counts);
  }

  private static Attributes attributes(Labels labels) {
    AttributesBuilder attributes = Attributes.builder();
    for (Label label : labels) {
      attributes.put(label.getName(), label.getValue());
    }
    return attributes.build();
  }

  /** A metric in the form that OpenTelemetry's exporter reads. */
  private record One(
      Resource getResource,
      InstrumentationScopeInfo getInstrumentationScopeInfo,
      String getName,
      String getDescription,
      String getUnit,
      MetricDataType getType,
      Data<?> getData)
      implements MetricData {}
}
