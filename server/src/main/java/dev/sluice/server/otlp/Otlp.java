// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.otlp;

import dev.sluice.server.net.Part;
import dev.sluice.server.otlp.Delivery.WatchedExporters;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.metrics.MeterProvider;
import io.opentelemetry.exporter.otlp.http.metrics.OtlpHttpMetricExporter;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.metrics.export.MetricExporter;
import io.opentelemetry.sdk.metrics.export.PeriodicMetricReader;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import java.time.Clock;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Sends metrics and traces to a receiver of OTLP over HTTP.
 *
 * <p>Decisions continue while the receiver is unreachable. Each interval sends all metrics, so the
 * server repeats no failed metrics message. At most {@link #MOST_SPANS} spans wait to be sent;
 * further spans are dropped. Thread-safe. Only {@link #close} blocks, up to {@link #LONGEST_CLOSE}.
 */
public final class Otlp implements AutoCloseable {

  /** The most spans that wait to be sent. */
  public static final int MOST_SPANS = 2048;

  /** How long {@link #close} waits until the last metrics and spans are sent. */
  public static final Duration LONGEST_CLOSE = Duration.ofSeconds(2);

  private static final Duration SEND_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration SPANS_EVERY = Duration.ofSeconds(1);

  /**
   * The logger of the OpenTelemetry library. This class switches the logger off, because the
   * library logs each failure. This field keeps the logger from being garbage-collected, which
   * would reset the logger's level.
   */
  private static final Logger LIBRARY = Logger.getLogger("io.opentelemetry");

  private final SdkMeterProvider metrics;
  private final SdkTracerProvider traces;

  private Otlp(SdkMeterProvider metrics, SdkTracerProvider traces) {
    this.metrics = metrics;
    this.traces = traces;
  }

  /** Starts to send metrics and traces. Does not wait for the receiver. */
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
    return WatchedExporters.of(
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
    return WatchedExporters.of(
        OtlpHttpSpanExporter.builder()
            .setEndpoint(endpoint)
            .setHeaders(settings::headers)
            .setTimeout(SEND_TIMEOUT)
            .setConnectTimeout(SEND_TIMEOUT)
            .setMeterProvider(MeterProvider.noop())
            .build(),
        new Delivery("traces", endpoint, meters));
  }

  /** Returns the part that makes a span for each request. Must be the server's last part. */
  public Part traces() {
    return new TracesPart(traces.get("sluice"));
  }

  /** Sends the remaining metrics and spans, and stops sending. */
  @Override
  public void close() {
    CompletableResultCode sent = metrics.shutdown();
    traces.shutdown().join(LONGEST_CLOSE.toMillis(), TimeUnit.MILLISECONDS);
    sent.join(LONGEST_CLOSE.toMillis(), TimeUnit.MILLISECONDS);
  }
}
