// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.distribution.DistributionStatisticConfig;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/*
 * A summary of the library takes one value at a time, asks the clock twice for each, and two
 * threads that record at once wait for each other. It also rounds a value up to a whole number
 * before it looks for the bucket, so that all times below a second stood in the bucket of a second.
 * So the histograms are ours (BulkHistogram); the page shows them as it would show the library's.
 */

/** The meters of {@code /metrics}. Thread-safe. */
final class PageMeters extends PrometheusMeterRegistry {

  private final Map<Meter.Id, BulkHistogram> histograms = new ConcurrentHashMap<>();

  PageMeters() {
    super(PrometheusConfig.DEFAULT);
    MultiCollector collector = this::collect;
    getPrometheusRegistry().register(collector);
    config().onMeterRemoved(meter -> histograms.remove(meter.getId()));
  }

  @Override
  public DistributionSummary newDistributionSummary(
      Meter.Id id, DistributionStatisticConfig config, double scale) {
    if (!BulkHistogram.serves(config)) {
      return super.newDistributionSummary(id, config, scale);
    }
    BulkHistogram histogram = new BulkHistogram(id, clock, config, scale);
    histograms.put(id, histogram);
    return histogram;
  }

  /** All histograms, and their maxima: two families for each name. */
  private MetricSnapshots collect() {
    MetricSnapshots.Builder families = MetricSnapshots.builder();
    histograms.values().stream()
        .collect(Collectors.groupingBy(histogram -> getConventionName(histogram.getId())))
        .forEach(
            (name, members) -> {
              families.metricSnapshot(histograms(name, members));
              families.metricSnapshot(maxima(name + "_max", members));
            });
    return families.build();
  }

  private HistogramSnapshot histograms(String name, List<BulkHistogram> members) {
    HistogramSnapshot.Builder family = HistogramSnapshot.builder().name(name).help(help(members));
    for (BulkHistogram one : members) {
      family.dataPoint(one.snapshot(labels(one)));
    }
    return family.build();
  }

  private GaugeSnapshot maxima(String name, List<BulkHistogram> members) {
    GaugeSnapshot.Builder family = GaugeSnapshot.builder().name(name).help(help(members));
    for (BulkHistogram one : members) {
      family.dataPoint(
          GaugeSnapshot.GaugeDataPointSnapshot.builder()
              .value(one.max())
              .labels(labels(one))
              .build());
    }
    return family.build();
  }

  private static String help(List<BulkHistogram> members) {
    String description = members.get(0).getId().getDescription();
    return description == null ? " " : description;
  }

  private Labels labels(Meter histogram) {
    List<Tag> tags = getConventionTags(histogram.getId());
    return Labels.of(
        tags.stream().map(Tag::getKey).toList(), tags.stream().map(Tag::getValue).toList());
  }
}
