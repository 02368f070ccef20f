// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.server.http.HttpPart.MetricsPart;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MetricsPartTest {

  @Test
  void metrics_areWhatPrometheusReads() throws Exception {
    CurrentLimits limits =
        new CurrentLimits(
            Limits.builder(Catalogue.samples())
                .limit("ApiCallsPerKey", Quota.per(1, Duration.ofMinutes(1)))
                .build());
    BucketStore store = BucketStore.inMemory(new ManualTime());
    MetricsPart part = new MetricsPart(MetricsPart.newRegistry(), limits, store);
    Limiter limiter = Limiter.builder(limits, store).observer(part.metrics()).build();
    assertThat(limiter.spend("ApiCallsPerKey", "a").allowed()).isTrue();
    assertThat(limiter.spend("ApiCallsPerKey", "a").denied()).isTrue();

    try (SluiceServer server =
        SluiceServer.builder(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                ConnectionBudget.usual())
            .part(part)
            .start()) {
      HttpResponse<String> answer =
          HttpClient.newHttpClient()
              .send(
                  HttpRequest.newBuilder(
                          URI.create("http://" + HostPort.format(server.address()) + "/metrics"))
                      .build(),
                  BodyHandlers.ofString());

      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.headers().firstValue("Content-Type"))
          .hasValue("text/plain; version=0.0.4; charset=utf-8");
      assertThat(answer.body().lines())
          .contains(
              "ratelimits_decisions_total{decision=\"denied\",limit=\"ApiCallsPerKey\"} 1.0",
              "ratelimits_latency_count{call=\"spend\",result=\"success\"} 2");
    }
  }

  /** A page larger than the budget was cut off after its status of 200. */
  @Tag("slow")
  @ParameterizedTest
  @ValueSource(strings = {"identity", "gzip"})
  void pageLargerThanTheBudget_isWhole(String encoding) throws Exception {
    PrometheusMeterRegistry registry = MetricsPart.newRegistry();
    for (int i = 0; i < 5_000; i++) {
      DistributionSummary.builder("some.latency")
          .tag("limit", "Limit" + i)
          .serviceLevelObjectives(1, 2, 3, 4, 5, 6, 7, 8, 9)
          .register(registry)
          .record(i % 10);
    }
    ConnectionBudget budget = new ConnectionBudget(1 << 20, 10, 10, Duration.ofSeconds(20));
    try (SluiceServer server =
        SluiceServer.builder(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), budget)
            .part(
                new MetricsPart(
                    registry, new CurrentLimits(SampleFixture.limits()), BucketStore.inMemory()))
            .start()) {
      URI page = URI.create("http://" + HostPort.format(server.address()) + "/metrics");
      HttpClient client = HttpClient.newHttpClient();
      for (int i = 0; i < 20; i++) {
        HttpResponse<InputStream> answer =
            client.send(
                HttpRequest.newBuilder(page).header("Accept-Encoding", encoding).build(),
                BodyHandlers.ofInputStream());

        assertThat(answer.statusCode()).isEqualTo(200);
        boolean isGzip = encoding.equals("gzip");
        assertThat(answer.headers().firstValue("Content-Encoding").isPresent()).isEqualTo(isGzip);
        try (InputStream body = isGzip ? new GZIPInputStream(answer.body()) : answer.body()) {
          assertThat(new String(body.readAllBytes(), StandardCharsets.UTF_8).lines())
              .filteredOn(line -> line.startsWith("some_latency_count{"))
              .hasSize(5_000);
        }
      }
    }
  }

  @Test
  void headOfThePage_hasNoBody() {
    try (TestServer server = new TestServer(SampleFixture.limits(), BucketStore.inMemory())) {
      assertThat(server.send("HEAD", "/metrics", BodyPublishers.noBody(), null).body()).isEmpty();
    }
  }

  @Test
  void page_hasProcess_jvm_build_andHttpStatuses_byRoute() {
    BucketStore store = BucketStore.inMemory();
    try (TestServer server = new TestServer(SampleFixture.limits(), store)) {
      server.post("/v1/spend", "{\"limit\":\"ApiCallsPerKey\",\"id\":\"a\"}");
      server.post("/v1/spend", "{\"limit\":\"Nope\",\"id\":\"a\"}");
      server.post("/v1/spend", "{");
      var unused = server.get("/v1/limits/ApiCallsPerKey/buckets/secret");
      unused = server.get("/secret/path");
      unused = server.get("/v1/limits");

      await().until(() -> server.get("/metrics").body().contains("uri=\"/v1/limits\""));
      String page = server.get("/metrics").body();

      assertThat(page)
          .contains(request("POST", "200", "/v1/spend") + " 1")
          .contains(request("POST", "404", "/v1/spend") + " 1")
          .contains(request("POST", "400", "/v1/spend") + " 1")
          .contains(request("GET", "200", "/v1/limits/*") + " 1")
          .contains(request("GET", "404", "other") + " 1")
          .doesNotContain("secret")
          .contains("\njvm_memory_used_bytes{", "\njvm_threads_live_threads ", "\njvm_gc_")
          .contains("\nprocess_uptime_seconds ", "\nprocess_files_open_files ")
          .contains("\nsystem_cpu_count ", "\nprocess_cpu_usage ")
          .containsPattern("\nsluice_build_info\\{java=\"[^\"]+\",version=\"[^\"]+\"} 1");
    }
  }

  private static String request(String method, String status, String uri) {
    return "http_server_requests_seconds_count{method=\"%s\",status=\"%s\",uri=\"%s\"}"
        .formatted(method, status, uri);
  }
}
