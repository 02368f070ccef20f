// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import io.micrometer.core.instrument.AbstractMeter;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.distribution.DistributionStatisticConfig;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.BufferedWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.stream.Collectors;

/*
 * A summary of Micrometer records one value at a time, reads the clock twice for each value, and
 * makes concurrent threads wait for each other. It also rounds a value up to a whole number before
 * it selects the bucket, so every duration below 1 s would fall into the 1 s bucket. So this server
 * has its own histograms (BulkHistogram), and writes these histograms to the page in Micrometer's
 * format.
 *
 * Histograms and counters are most of the page. The server writes histograms and counters line by
 * line, because Micrometer's snapshots of 10,000 limits would fill a small heap.
 */

/** The meters of {@code /metrics}. Thread-safe. */
final class PageMeters extends PrometheusMeterRegistry {

  private static final String TOTAL = "_total";

  private final Map<List<Double>, double[]> bounds = new ConcurrentHashMap<>();
  private final PrometheusRegistry all;

  PageMeters() {
    this(new PrometheusRegistry());
  }

  private PageMeters(PrometheusRegistry others) {
    super(PrometheusConfig.DEFAULT, others, Clock.SYSTEM);
    this.all =
        new PrometheusRegistry() {
          @Override
          public MetricSnapshots scrape() {
            MetricSnapshots.Builder families = MetricSnapshots.builder();
            others.scrape().forEach(families::metricSnapshot);
            addTo(families);
            return families.build();
          }
        };
  }

  /** Returns a registry with snapshots of all meters. The caller must not register meters there. */
  @Override
  public PrometheusRegistry getPrometheusRegistry() {
    return all;
  }

  @Override
  public DistributionSummary newDistributionSummary(
      Meter.Id id, DistributionStatisticConfig config, double scale) {
    if (!BulkHistogram.serves(config)) {
      return super.newDistributionSummary(id, config, scale);
    }
    double[] own = BulkHistogram.bounds(config);
    double[] shared =
        // Meters with equal bounds share one array.
        bounds.computeIfAbsent(Arrays.stream(own).boxed().toList(), values -> own);
    return new BulkHistogram(id, clock, shared, config, scale);
  }

  @Override
  public Counter newCounter(Meter.Id id) {
    return new PageCounter(id);
  }

  /**
   * A counter without exemplars, so it needs less memory than Micrometer's counter. Thread-safe.
   */
  private static final class PageCounter extends AbstractMeter implements Counter {
    private final DoubleAdder count = new DoubleAdder();

    PageCounter(Meter.Id id) {
      super(id);
    }

    @Override
    public void increment(double amount) {
      count.add(amount);
    }

    @Override
    public double count() {
      return count.sum();
    }
  }

  private <M extends Meter> Map<String, List<M>> families(Class<M> kind) {
    return getMeters().stream()
        .filter(kind::isInstance)
        .map(kind::cast)
        .collect(Collectors.groupingBy(meter -> getConventionName(meter.getId())));
  }

  /**
   * Adds the counters, and two families for each histogram name: one for the histograms, one for
   * their maximum values.
   */
  private void addTo(MetricSnapshots.Builder families) {
    families(PageCounter.class)
        .forEach(
            (name, members) -> {
              CounterSnapshot.Builder family = CounterSnapshot.builder().name(withoutTotal(name));
              for (PageCounter one : members) {
                family.dataPoint(
                    CounterSnapshot.CounterDataPointSnapshot.builder()
                        .value(one.count())
                        .labels(labels(one))
                        .build());
              }
              families.metricSnapshot(family.help(help(members)).build());
            });
    families(BulkHistogram.class)
        .forEach(
            (name, members) -> {
              HistogramSnapshot.Builder family = HistogramSnapshot.builder().name(name);
              GaugeSnapshot.Builder maxima = GaugeSnapshot.builder().name(name + "_max");
              for (BulkHistogram one : members) {
                Labels labels = labels(one);
                family.dataPoint(one.snapshot(labels));
                maxima.dataPoint(
                    GaugeSnapshot.GaugeDataPointSnapshot.builder()
                        .value(one.max())
                        .labels(labels)
                        .build());
              }
              families.metricSnapshot(family.help(help(members)).build());
              families.metricSnapshot(maxima.help(help(members)).build());
            });
  }

  private static String withoutTotal(String name) {
    return name.endsWith(TOTAL) ? name.substring(0, name.length() - TOTAL.length()) : name;
  }

  private static String help(List<? extends Meter> members) {
    String description = members.get(0).getId().getDescription();
    return description == null ? " " : description;
  }

  private Labels labels(Meter meter) {
    List<Tag> tags = getConventionTags(meter.getId());
    return Labels.of(
        tags.stream().map(Tag::getKey).toList(), tags.stream().map(Tag::getValue).toList());
  }

  @Override
  public String scrape() {
    ByteArrayOutputStream page = new ByteArrayOutputStream();
    try {
      scrape(page);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // cannot happen: the target is in memory
    }
    return page.toString(StandardCharsets.UTF_8);
  }

  @Override
  public void scrape(OutputStream page) throws IOException {
    super.scrape(page);
    Writer text = new BufferedWriter(new OutputStreamWriter(page, StandardCharsets.UTF_8));
    for (Map.Entry<String, List<PageCounter>> family : families(PageCounter.class).entrySet()) {
      String name = withoutTotal(family.getKey()) + TOTAL;
      begin(name, "counter", family.getValue(), text);
      for (PageCounter one : family.getValue()) {
        write(name, one, one.count(), text);
      }
    }
    for (Map.Entry<String, List<BulkHistogram>> family : families(BulkHistogram.class).entrySet()) {
      String name = family.getKey();
      begin(name, "histogram", family.getValue(), text);
      for (BulkHistogram one : family.getValue()) {
        one.write(name, labelText(one), text);
      }
      String max = name + "_max";
      begin(max, "gauge", family.getValue(), text);
      for (BulkHistogram one : family.getValue()) {
        write(max, one, one.max(), text);
      }
    }
    text.flush();
  }

  private static void begin(String name, String type, List<? extends Meter> members, Writer text)
      throws IOException {
    text.write("# HELP " + name + " " + escaped(help(members)) + "\n");
    text.write("# TYPE " + name + " " + type + "\n");
  }

  private void write(String name, Meter meter, double value, Writer text) throws IOException {
    String labels = labelText(meter);
    text.write(name + (labels.isEmpty() ? "" : "{" + labels + "}") + " " + value + "\n");
  }

  private String labelText(Meter meter) {
    return getConventionTags(meter.getId()).stream()
        .map(tag -> tag.getKey() + "=\"" + escaped(tag.getValue()).replace("\"", "\\\"") + "\"")
        .collect(Collectors.joining(","));
  }

  private static String escaped(String text) {
    return text.replace("\\", "\\\\").replace("\n", "\\n");
  }
}
