// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import dev.sluice.micrometer.BulkSummary;
import io.micrometer.core.instrument.AbstractMeter;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.distribution.DistributionStatisticConfig;
import io.micrometer.core.instrument.distribution.TimeWindowMax;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.Exemplars;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
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
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;

/*
 * A summary of Micrometer records one value at a time, reads the clock twice for each value, and
 * makes concurrent threads wait for each other. A summary also rounds a value up to a whole number
 * before it selects the bucket, so every duration below 1 s would fall into the 1 s bucket. So this
 * server has its own histograms (BulkHistogram), and writes these histograms to the page in
 * Micrometer's format.
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

  /** Returns a registry with snapshots of all meters, in which no meters must be registered. */
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
        // Meters with equal bounds share one array of bounds.
        bounds.computeIfAbsent(Arrays.stream(own).boxed().toList(), values -> own);
    return new BulkHistogram(id, clock, shared, config, scale);
  }

  @Override
  public Counter newCounter(Meter.Id id) {
    return new PageCounter(id);
  }

  /** A counter without exemplars, which needs less memory. Thread-safe. */
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

  /** Adds the counters, the histograms, and for each histogram a second family with its maxima. */
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

  /** A histogram with fixed buckets, for Prometheus. Thread-safe; threads never wait. */
  static final class BulkHistogram extends AbstractMeter implements BulkSummary {

    private final double[] bounds; // ascending, the last is infinite

    /** The number of values in each bucket; null for an empty bucket. */
    private final AtomicReferenceArray<@Nullable LongAdder> counts;

    private final DoubleAdder total = new DoubleAdder();
    private final TimeWindowMax max;
    private final double scale;
    private final long createdMillis;

    /** Makes a histogram that keeps the array {@code bounds}; {@code scale} multiplies values. */
    BulkHistogram(
        Meter.Id id,
        Clock clock,
        double[] bounds,
        DistributionStatisticConfig config,
        double scale) {
      super(id);
      this.bounds = bounds;
      this.counts = new AtomicReferenceArray<>(bounds.length);
      this.max = new TimeWindowMax(clock, config);
      this.scale = scale;
      this.createdMillis = clock.wallTime();
    }

    /** Whether a configuration asks for a histogram with explicit buckets, without percentiles. */
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
    public io.micrometer.core.instrument.distribution.HistogramSnapshot takeSnapshot() {
      return io.micrometer.core.instrument.distribution.HistogramSnapshot.empty(
          count(), totalAmount(), max());
    }

    /**
     * Writes a histogram's lines for {@code /metrics} without maxima; {@code labels} has no braces.
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
}
