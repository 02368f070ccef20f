// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.metrics.v1.Metric;
import io.opentelemetry.proto.trace.v1.Span;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

/** A receiver of OTLP over HTTP, which reads messages with the classes of their authors. */
final class OtlpReceiver implements AutoCloseable {

  final List<ExportMetricsServiceRequest> metrics = new CopyOnWriteArrayList<>();
  final List<ExportTraceServiceRequest> traces = new CopyOnWriteArrayList<>();
  final Map<String, String> headers = new ConcurrentHashMap<>();
  volatile int status = 200;
  volatile CountDownLatch hangs = new CountDownLatch(0);
  private final HttpServer server;

  OtlpReceiver() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/v1/metrics",
        exchange ->
            taken(exchange, body -> metrics.add(ExportMetricsServiceRequest.parseFrom(body))));
    server.createContext(
        "/v1/traces",
        exchange -> taken(exchange, body -> traces.add(ExportTraceServiceRequest.parseFrom(body))));
    server.start();
  }

  private interface Taken {
    void take(byte[] body) throws IOException;
  }

  private void taken(HttpExchange exchange, Taken by) throws IOException {
    try {
      hangs.await();
      byte[] body = exchange.getRequestBody().readAllBytes();
      exchange
          .getRequestHeaders()
          .forEach((name, values) -> headers.put(name.toLowerCase(Locale.ROOT), values.get(0)));
      if (status == 200) {
        by.take(body);
      }
      exchange.sendResponseHeaders(status, -1);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      exchange.close();
    }
  }

  URI uri() {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
  }

  List<Span> spans() {
    return traces.stream()
        .flatMap(message -> message.getResourceSpansList().stream())
        .flatMap(resource -> resource.getScopeSpansList().stream())
        .flatMap(scope -> scope.getSpansList().stream())
        .toList();
  }

  /** The metric of this name in the newest message. */
  Optional<Metric> metric(String name) {
    return metrics.isEmpty()
        ? Optional.empty()
        : metrics.get(metrics.size() - 1).getResourceMetricsList().stream()
            .flatMap(resource -> resource.getScopeMetricsList().stream())
            .flatMap(scope -> scope.getMetricsList().stream())
            .filter(metric -> metric.getName().equals(name))
            .findFirst();
  }

  @Override
  public void close() {
    hangs.countDown();
    server.stop(0);
  }
}
