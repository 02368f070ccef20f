// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.server.HostPort;
import dev.sluice.server.SluiceServer;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class MetricsPartTest {

  @Test
  void metrics_areWhatPrometheusReads() throws Exception {
    CurrentLimits limits =
        new CurrentLimits(
            Limits.builder(Catalogue.samples())
                .limit("ApiCallsPerKey", Quota.per(1, Duration.ofMinutes(1)))
                .build());
    BucketStore store = BucketStore.inMemory(new ManualTime());
    MetricsPart part = new MetricsPart(limits, store);
    Limiter limiter = Limiter.builder(limits, store).observer(part.metrics()).build();
    assertThat(limiter.spend("ApiCallsPerKey", "a").allowed()).isTrue();
    assertThat(limiter.spend("ApiCallsPerKey", "a").denied()).isTrue();

    try (SluiceServer server =
        SluiceServer.builder(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
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
