// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.otlp;

import dev.sluice.internal.async.Stages.DaemonThread;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.server.net.Part;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.metrics.MeterProvider;
import io.opentelemetry.exporter.otlp.http.metrics.OtlpHttpMetricExporter;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.metrics.InstrumentType;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.metrics.data.AggregationTemporality;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.metrics.export.MetricExporter;
import io.opentelemetry.sdk.metrics.export.PeriodicMetricReader;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import java.net.ConnectException;
import java.net.URI;
import java.nio.channels.ClosedChannelException;
import java.time.Clock;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Level;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends metrics and traces to a receiver of OTLP over HTTP.
 *
 * <p>Decisions continue while the receiver is unreachable. The server repeats no failed metrics
 * message, since the next message contains all metrics. At most {@link #MOST_SPANS} spans wait to
 * be sent; further spans are dropped. Thread-safe. Only {@link #close} blocks, up to {@link
 * #LONGEST_CLOSE}.
 */
public final class Otlp implements AutoCloseable {

  /** The most spans that wait to be sent. */
  public static final int MOST_SPANS = 2048;

  /** How long {@link #close} waits until the last metrics and spans are sent. */
  public static final Duration LONGEST_CLOSE = Duration.ofSeconds(2);

  private static final Duration SEND_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration SPANS_EVERY = Duration.ofSeconds(1);

  /** The library's logger, switched off; without this reference, the logger's level is lost. */
  private static final java.util.logging.Logger LIBRARY =
      java.util.logging.Logger.getLogger("io.opentelemetry");

  private final SdkMeterProvider metrics;
  private final SdkTracerProvider traces;

  private Otlp(SdkMeterProvider metrics, SdkTracerProvider traces) {
    this.metrics = metrics;
    this.traces = traces;
  }

  /** Starts to send metrics and traces, without waiting for the receiver. */
  public static Otlp start(OtlpSettings settings, String version, PrometheusMeterRegistry meters) {
    LIBRARY.setLevel(Level.OFF);
    Resource sender = sender(settings, version);
    PeriodicMetricReader reader =
        PeriodicMetricReader.builder(metricExporter(settings, meters))
            .setInterval(settings.interval())
            .build();
    SdkMeterProvider metrics =
        SdkMeterProvider.builder()
            .setResource(sender)
            .registerMetricReader(reader)
            .registerMetricProducer(
                new ScrapedMetrics(meters.getPrometheusRegistry(), Clock.systemUTC()))
            .build();
    BatchSpanProcessor spans =
        BatchSpanProcessor.builder(spanExporter(settings, meters))
            .setMaxQueueSize(MOST_SPANS)
            .setScheduleDelay(SPANS_EVERY)
            .setExporterTimeout(SEND_TIMEOUT)
            .setMeterProvider(MeterProvider.noop())
            .build();
    SdkTracerProvider traces =
        SdkTracerProvider.builder()
            .setResource(sender)
            .setSampler(Sampler.parentBased(Sampler.traceIdRatioBased(settings.traced())))
            .addSpanProcessor(spans)
            .build();
    return new Otlp(metrics, traces);
  }

  private static Resource sender(OtlpSettings settings, String version) {
    AttributesBuilder all =
        Attributes.builder()
            .put("service.name", "sluice")
            .put("service.version", version)
            .put("service.instance.id", UUID.randomUUID().toString());
    settings.attributes().forEach(all::put);
    return Resource.create(all.build());
  }

  private static MetricExporter metricExporter(
      OtlpSettings settings, PrometheusMeterRegistry meters) {
    String endpoint = settings.endpoint("v1/metrics");
    return Delivery.WatchedExporters.of(
        OtlpHttpMetricExporter.builder()
            .setEndpoint(endpoint)
            .setHeaders(settings::headers)
            .setTimeout(SEND_TIMEOUT)
            .setConnectTimeout(SEND_TIMEOUT)
            .setRetryPolicy(null) // the next interval sends all metrics again
            .setMeterProvider(MeterProvider.noop())
            .build(),
        new Delivery("metrics", endpoint, meters));
  }

  private static SpanExporter spanExporter(OtlpSettings settings, PrometheusMeterRegistry meters) {
    String endpoint = settings.endpoint("v1/traces");
    return Delivery.WatchedExporters.of(
        OtlpHttpSpanExporter.builder()
            .setEndpoint(endpoint)
            .setHeaders(settings::headers)
            .setTimeout(SEND_TIMEOUT)
            .setConnectTimeout(SEND_TIMEOUT)
            .setMeterProvider(MeterProvider.noop())
            .build(),
        new Delivery("traces", endpoint, meters));
  }

  /** Returns the part that makes a span for each request; it must be the server's last part. */
  public Part traces() {
    return new TracesPart(traces.get("sluice"));
  }

  /** Sends the remaining metrics and spans, and stops sending. */
  @Override
  public void close() {
    // The library's shutdown of the metrics itself waits for the receiver, for up to ten seconds.
    Thread sending = new DaemonThread(this::sendRest, "sluice-otlp-end");
    sending.start();
    try {
      sending.join(LONGEST_CLOSE.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void sendRest() {
    CompletableResultCode.ofAll(List.of(traces.shutdown(), metrics.shutdown()))
        .join(LONGEST_CLOSE.toMillis(), TimeUnit.MILLISECONDS);
  }

  /**
   * Counts the messages of one kind that did not reach the receiver. Logs the first message that
   * does not arrive. The next failure is logged only after a message has arrived again.
   * Thread-safe; never blocks.
   */
  static final class Delivery {

    private static final Logger log = LoggerFactory.getLogger(Delivery.class);

    private final String kind;
    private final String endpoint;
    private final Counter failed;
    private final AtomicBoolean failing = new AtomicBoolean();

    /** Makes the counter of failed messages; {@code kind} is {@code metrics} or {@code traces}. */
    Delivery(String kind, String endpoint, MeterRegistry meters) {
      this.kind = kind;
      this.endpoint = endpoint;
      this.failed =
          Counter.builder("sluice.otlp.failed")
              .description("Messages that did not reach the OTLP receiver")
              .tag("kind", kind)
              .register(meters);
    }

    /** Returns why a message failed; OpenTelemetry's exceptions mean a status other than 200. */
    private static String reason(@Nullable Throwable failure) {
      Throwable root = failure;
      boolean connecting = root instanceof ConnectException;
      while (root != null && root.getCause() != null) {
        root = root.getCause();
        connecting |= root instanceof ConnectException;
      }
      if (connecting && root instanceof ClosedChannelException) {
        return "connection refused";
      }
      return root == null || root.getClass().getName().startsWith("io.opentelemetry.")
          ? "the receiver refuses them"
          : root.toString();
    }

    /** Counts a message when its outcome is known. */
    CompletableResultCode of(CompletableResultCode sent) {
      return sent.whenComplete(() -> ended(sent));
    }

    private void ended(CompletableResultCode sent) {
      if (sent.isSuccess()) {
        if (failing.getAndSet(false)) {
          log.info("{} arrive at {} again", kind, endpoint);
        }
        return;
      }
      failed.increment();
      if (!failing.getAndSet(true)) {
        log.warn(
            "{} do not arrive at {} ({}); decisions continue, and the next line reports when they arrive",
            kind,
            endpoint,
            reason(sent.getFailureThrowable()));
      }
    }

    /** Makes exporters that report each outcome to a {@link Delivery}. */
    static final class WatchedExporters {

      private WatchedExporters() {}

      static MetricExporter of(MetricExporter exporter, Delivery delivery) {
        return new Metrics(exporter, delivery);
      }

      static SpanExporter of(SpanExporter exporter, Delivery delivery) {
        return new Spans(exporter, delivery);
      }

      private record Metrics(MetricExporter exporter, Delivery delivery) implements MetricExporter {

        @Override
        public CompletableResultCode export(Collection<MetricData> metrics) {
          return delivery.of(exporter.export(metrics));
        }

        @Override
        public CompletableResultCode flush() {
          return exporter.flush();
        }

        @Override
        public CompletableResultCode shutdown() {
          return exporter.shutdown();
        }

        @Override
        public AggregationTemporality getAggregationTemporality(InstrumentType type) {
          return exporter.getAggregationTemporality(type);
        }
      }

      private record Spans(SpanExporter exporter, Delivery delivery) implements SpanExporter {

        @Override
        public CompletableResultCode export(Collection<SpanData> spans) {
          return delivery.of(exporter.export(spans));
        }

        @Override
        public CompletableResultCode flush() {
          return exporter.flush();
        }

        @Override
        public CompletableResultCode shutdown() {
          return exporter.shutdown();
        }
      }
    }
  }

  /**
   * Where and how metrics and traces are sent. Immutable.
   *
   * @param receiver the base of the receiver's URLs, such as {@code http://collector:4318}
   * @param interval how often metrics are sent, more than zero and at most 292 years
   * @param traced the share, from 0 to 1, of traced requests among the requests whose client sends
   *     no trace
   * @param headers the headers of each message to the receiver, such as a header with a key; never
   *     logged
   * @param attributes the resource attributes of the sender, in addition to {@code service.name}
   */
  public record OtlpSettings(
      URI receiver,
      Duration interval,
      double traced,
      Map<String, String> headers,
      Map<String, String> attributes) {

    /**
     * Checks the settings.
     *
     * @param receiver the base of the receiver's URLs, with the scheme http or https, and a host
     * @throws IllegalArgumentException if a value is out of its range, or the URL is not an HTTP
     *     URL, has no host, or has a query or a password
     */
    public OtlpSettings {
      boolean isHttp = "http".equals(receiver.getScheme()) || "https".equals(receiver.getScheme());
      if (!isHttp || receiver.getHost() == null || receiver.getRawQuery() != null) {
        throw new IllegalArgumentException(
            "found %s, expected a URL such as http://collector:4318"
                .formatted(shown(receiver.toString())));
      }
      if (receiver.getRawUserInfo() != null) {
        throw new IllegalArgumentException(
            "found a password in the URL; send it as a header, which is not logged");
      }
      interval = GoDuration.positive("interval", interval);
      if (!(traced >= 0 && traced <= 1)) {
        throw new IllegalArgumentException("found " + traced + ", expected 0 to 1");
      }
      headers = Map.copyOf(headers);
      attributes = Map.copyOf(attributes);
    }

    /** Shows only the names of the headers, since header values can be keys. */
    @Override
    public String toString() {
      return "OtlpSettings[receiver=%s, interval=%s, traced=%s, headers=%s, attributes=%s]"
          .formatted(receiver, interval, traced, new TreeSet<>(headers.keySet()), attributes);
    }

    /** Returns a receiver's URL as a message may show it; hides a URL that can have a secret. */
    public static String shown(String receiver) {
      return SafeText.quote(receiver.replaceAll("(?s)^(https?:)?.*[@?].*", "$1…"));
    }

    /** Returns the URL for one kind of data, with a path such as {@code v1/metrics}. */
    String endpoint(String path) {
      String base = receiver.toString();
      return base.endsWith("/") ? base + path : base + "/" + path;
    }
  }
}
