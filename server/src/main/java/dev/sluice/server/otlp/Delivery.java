// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.otlp;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.metrics.InstrumentType;
import io.opentelemetry.sdk.metrics.data.AggregationTemporality;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.metrics.export.MetricExporter;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.net.ConnectException;
import java.nio.channels.ClosedChannelException;
import java.util.Collection;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts the OTLP messages, either metrics or traces, that did not reach the receiver. Logs the
 * first failure, and then no failure until a message has arrived. Thread-safe; never blocks.
 */
final class Delivery {

  private static final Logger log = LoggerFactory.getLogger(Delivery.class);

  private final String kind;
  private final String endpoint;
  private final Counter failed;
  private final AtomicBoolean failing = new AtomicBoolean();

  /** Makes the counter; {@code kind} is {@code metrics} or {@code traces}. */
  Delivery(String kind, String endpoint, MeterRegistry meters) {
    this.kind = kind;
    this.endpoint = endpoint;
    this.failed =
        Counter.builder("sluice.otlp.failed")
            .description("Messages that did not reach the OTLP receiver")
            .tag("kind", kind)
            .register(meters);
  }

  /**
   * Returns why a message was not delivered. An exception of the OpenTelemetry library means that
   * the receiver's status was not 200. For a refused connection, the JDK's HTTP client reports a
   * closed channel as the cause.
   */
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

  /** Counts or logs the outcome of a message once the outcome is known. */
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

  /** Makes exporters that report the outcome of each message to a {@link Delivery}. */
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
