// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.linecorp.armeria.client.grpc.GrpcClients;
import dev.sluice.server.Aside;
import dev.sluice.server.http.LogLines;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.otlp.Otlp;
import dev.sluice.server.otlp.Otlp.OtlpSettings;
import dev.sluice.server.service.ServerConfig.Telemetry;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc.RateLimitServiceBlockingStub;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.metrics.v1.HistogramDataPoint;
import io.opentelemetry.proto.metrics.v1.Metric;
import io.opentelemetry.proto.metrics.v1.NumberDataPoint;
import io.opentelemetry.proto.trace.v1.Span;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Metrics and traces, as a receiver of OTLP over HTTP reads them. */
@Tag("slow")
class OtlpTest {

  private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
  private static final String PARENT = "00f067aa0ba902b7";
  private static final String TRACED = "00-" + TRACE + "-" + PARENT + "-01";
  private static final String SPEND = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"secret-id\"}";
  private static final Duration INTERVAL = Duration.ofMillis(100);

  private final HttpClient client = HttpClient.newHttpClient();
  private OtlpReceiver receiver;
  private @Nullable Service service;

  @BeforeEach
  void open() throws IOException {
    receiver = new OtlpReceiver();
  }

  /** Does not wait for the server: its acceptor takes two seconds to be sure that nobody comes. */
  @AfterEach
  void stop() {
    Service running = service;
    if (running != null) {
      Aside.run(running::close);
    }
    receiver.close();
  }

  private void serve(double traced) {
    serve(receiver.uri(), traced);
  }

  private void serve(URI to, double traced) {
    OtlpSettings settings =
        new OtlpSettings(
            to, INTERVAL, traced, Map.of("x-key", "S3cret"), Map.of("service.namespace", "edge"));
    service = Service.start(Configs.of(new Telemetry(false, settings)));
  }

  private URI uri(String path) {
    return URI.create(
        "http://" + HostPort.format(Objects.requireNonNull(service).addresses().get(0)) + path);
  }

  private HttpResponse<String> spend(@Nullable String traceparent) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri("/v1/spend"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(SPEND));
    if (traceparent != null) {
      request.header("traceparent", traceparent);
    }
    return client.send(request.build(), BodyHandlers.ofString());
  }

  private static String hex(ByteString bytes) {
    return HexFormat.of().formatHex(bytes.toByteArray());
  }

  private static String value(List<KeyValue> attributes, String key) {
    return attributes.stream()
        .filter(one -> one.getKey().equals(key))
        .map(
            one ->
                one.getValue().hasIntValue()
                    ? one.getValue().getIntValue() + ""
                    : one.getValue().getStringValue())
        .findFirst()
        .orElse("absent");
  }

  @Test
  void requestOfATrace_becomesASpanOfIt_andOthersBecomeNone() throws Exception {
    serve(0);
    assertThat(spend(null).statusCode()).isEqualTo(200);
    assertThat(spend("00-" + TRACE + "-" + PARENT + "-00").statusCode()).isEqualTo(200);
    assertThat(spend(TRACED).statusCode()).isEqualTo(200);
    await().untilAsserted(() -> assertThat(receiver.spans()).isNotEmpty());

    assertThat(receiver.spans()).hasSize(1);
    Span span = receiver.spans().get(0);
    assertThat(hex(span.getTraceId())).isEqualTo(TRACE);
    assertThat(hex(span.getParentSpanId())).isEqualTo(PARENT);
    assertThat(span.getName()).isEqualTo("POST /v1/spend");
    assertThat(span.getKind()).isEqualTo(Span.SpanKind.SPAN_KIND_SERVER);
    assertThat(value(span.getAttributesList(), "http.request.method")).isEqualTo("POST");
    assertThat(value(span.getAttributesList(), "http.route")).isEqualTo("/v1/spend");
    assertThat(value(span.getAttributesList(), "http.response.status_code")).isEqualTo("200");
    assertThat(span.getEndTimeUnixNano()).isGreaterThan(span.getStartTimeUnixNano());
    assertThat(span.toString()).doesNotContain("secret-id", "127.0.0.1");
    assertThat(receiver.headers).containsEntry("x-key", "S3cret");
    assertThat(receiver.headers).containsEntry("content-type", "application/x-protobuf");
  }

  @Test
  void gRpcCall_becomesASpan_namedAsItsMethod() {
    serve(1);
    RateLimitServiceBlockingStub stub =
        GrpcClients.newClient("gproto+" + uri("/").toString(), RateLimitServiceBlockingStub.class);
    RateLimitDescriptor descriptor =
        RateLimitDescriptor.newBuilder()
            .addEntries(Entry.newBuilder().setKey("ApiCallsPerKey").setValue("k"))
            .build();
    RateLimitRequest request =
        RateLimitRequest.newBuilder().setDomain("edge").addDescriptors(descriptor).build();
    assertThat(stub.shouldRateLimit(request).getStatusesCount()).isEqualTo(1);
    await().untilAsserted(() -> assertThat(receiver.spans()).isNotEmpty());
    Span span = receiver.spans().get(0);
    assertThat(span.getName())
        .isEqualTo("envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit");
    assertThat(value(span.getAttributesList(), "rpc.system")).isEqualTo("grpc");
    assertThat(value(span.getAttributesList(), "rpc.method")).isEqualTo("ShouldRateLimit");
    assertThat(value(span.getAttributesList(), "rpc.grpc.status_code")).isEqualTo("0");
  }

  @Test
  void probesAndThePage_areNeverTraced() throws Exception {
    serve(1);
    for (String path : List.of("/readyz", "/healthz", "/metrics", "/", "/v1/limits")) {
      client.send(HttpRequest.newBuilder(uri(path)).build(), BodyHandlers.discarding());
    }
    await().untilAsserted(() -> assertThat(receiver.spans()).isNotEmpty());
    assertThat(receiver.spans()).extracting(Span::getName).containsExactly("GET /v1/limits");
  }

  @Test
  void metrics_areThoseOfThePage_withTheirNamesLabelsAndBuckets() throws Exception {
    serve(0);
    for (int i = 0; i < 3; i++) {
      assertThat(spend(null).statusCode()).isEqualTo(200);
    }
    await()
        .ignoreException(NoSuchElementException.class) // not sent yet
        .untilAsserted(
            () -> {
              Metric requests = receiver.metric("http_server_requests_seconds").orElseThrow();
              HistogramDataPoint point =
                  requests.getHistogram().getDataPointsList().stream()
                      .filter(one -> value(one.getAttributesList(), "uri").equals("/v1/spend"))
                      .findFirst()
                      .orElseThrow();
              assertThat(point.getCount()).isEqualTo(3);
              assertThat(point.getBucketCountsList()).hasSize(point.getExplicitBoundsCount() + 1);
              assertThat(point.getExplicitBoundsList()).startsWith(0.001);
              assertThat(point.getBucketCountsList().stream().mapToLong(one -> one).sum())
                  .isEqualTo(3);
            });
    Metric refused = receiver.metric("sluice_access_refused").orElseThrow();
    assertThat(refused.getSum().getIsMonotonic()).isTrue();
    NumberDataPoint first = refused.getSum().getDataPoints(0);
    assertThat(first.getStartTimeUnixNano()).isLessThan(first.getTimeUnixNano());
    assertThat(receiver.metric("sluice_build_info").orElseThrow().hasGauge()).isTrue();
    List<KeyValue> sender =
        receiver.metrics.get(0).getResourceMetrics(0).getResource().getAttributesList();
    assertThat(value(sender, "service.name")).isEqualTo("sluice");
    assertThat(value(sender, "service.namespace")).isEqualTo("edge");
    assertThat(value(sender, "service.version")).isEqualTo("development");
  }

  @Test
  void receiverThatIsAway_costsNoDecision_andIsLoggedOnce_untilItIsBack() throws Exception {
    receiver.status = 400;
    try (LogLines log = new LogLines()) {
      serve(0);
      await()
          .untilAsserted(
              () ->
                  assertThat(
                          client
                              .send(
                                  HttpRequest.newBuilder(uri("/metrics")).build(),
                                  BodyHandlers.ofString())
                              .body())
                      .containsPattern("sluice_otlp_failed_total\\{kind=\"metrics\"\\} [2-9]"));
      assertThat(spend(TRACED).statusCode()).isEqualTo(200);
      assertThat(log.text())
          .containsOnlyOnce(
              "metrics do not arrive at %s/v1/metrics (the receiver refuses them)"
                  .formatted(receiver.uri()));
      receiver.status = 200;
      await().untilAsserted(() -> assertThat(log.text()).contains("metrics arrive at"));
      assertThat(log.text()).doesNotContain("S3cret");
    }
  }

  @Test
  void receiverThatDoesNotListen_isToldInPlainWords() {
    URI nobody = receiver.uri();
    receiver.close();
    try (LogLines log = new LogLines()) {
      serve(nobody, 0);
      await()
          .untilAsserted(
              () ->
                  assertThat(log.text())
                      .contains(
                          "metrics do not arrive at %s/v1/metrics (connection refused)"
                              .formatted(nobody)));
    }
  }

  /** Its headers may hold a key: they go to nobody whose certificate the JVM does not trust. */
  @Test
  void receiverWhoseCertificateIsNotTrusted_getsNothing(@TempDir Path folder) throws Exception {
    try (Service stranger = Service.start(TlsFixture.in(folder).config(false));
        Aside.End end = Aside.end(stranger);
        LogLines log = new LogLines()) {
      String url = TlsFixture.url(stranger, TlsFixture.HTTP, "");
      serve(URI.create(url), 0);
      await()
          .untilAsserted(
              () ->
                  assertThat(log.text())
                      .contains("metrics do not arrive at %s/v1/metrics".formatted(url))
                      .contains("unable to find valid certification path to requested target"));
    }
  }

  @Test
  void end_sendsWhatIsThere_andWaitsForNoReceiver() throws Exception {
    serve(1);
    assertThat(spend(null).statusCode()).isEqualTo(200);
    await().untilAsserted(() -> assertThat(receiver.spans()).hasSize(1)); // the first takes long
    assertThat(spend(null).statusCode()).isEqualTo(200);
    Objects.requireNonNull(service).close();
    service = null;
    await() // the end waits for the answers for two seconds only
        .untilAsserted(
            () -> {
              assertThat(receiver.spans()).hasSize(2);
              assertThat(receiver.metric("sluice_build_info")).isPresent();
            });
  }

  /** The library alone would wait until the last message has failed, after five seconds. */
  @Test
  void end_doesNotWaitForTheTimeoutOfAReceiverThatHangs() {
    PrometheusMeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    OtlpSettings seldom =
        new OtlpSettings(receiver.uri(), Duration.ofHours(1), 1, Map.of(), Map.of());
    receiver.hangs = new CountDownLatch(1);
    Otlp otlp = Otlp.start(seldom, "1", meters);

    meters.counter("any").increment();
    long start = System.nanoTime();
    otlp.close();

    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
  }

  @Test
  void settings_refuseWhatIsNoReceiver_andRepeatNoPassword() {
    for (String bad : List.of("ftp://x", "http:///v1", "collector:4318", "http://x/?key=1")) {
      assertThatThrownBy(() -> settings(bad)).hasMessageContaining("expected a URL such as");
    }
    assertThatThrownBy(() -> settings("http://u:S3cret@x"))
        .hasMessageContaining("send it as a header")
        .message()
        .doesNotContain("S3cret");
    assertThatThrownBy(() -> new OtlpSettings(receiver.uri(), INTERVAL, 1.1, Map.of(), Map.of()))
        .hasMessage("found 1.1, expected 0 to 1");
    Duration tooLong = Duration.ofSeconds(Long.MAX_VALUE);
    assertThatThrownBy(() -> new OtlpSettings(receiver.uri(), tooLong, 0, Map.of(), Map.of()))
        .hasMessage("interval: found %s, expected a duration > 0 and at most 292 years", tooLong);
  }

  @Test
  void settings_showNoHeader() {
    OtlpSettings settings =
        new OtlpSettings(
            URI.create("http://collector:4318"),
            INTERVAL,
            1,
            Map.of("x-api-key", "s3cret"),
            Map.of("zone", "a"));
    assertThat(settings.toString())
        .contains("http://collector:4318", "x-api-key", "zone")
        .doesNotContain("s3cret");
  }

  private static OtlpSettings settings(String uri) {
    return new OtlpSettings(URI.create(uri), INTERVAL, 0, Map.of(), Map.of());
  }
}
