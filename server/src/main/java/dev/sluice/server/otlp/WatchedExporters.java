// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.otlp;

import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.metrics.InstrumentType;
import io.opentelemetry.sdk.metrics.data.AggregationTemporality;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.metrics.export.MetricExporter;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.util.Collection;

/** Exporters that tell a {@link Delivery} of each outcome. Stateless. */
final class WatchedExporters {

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
