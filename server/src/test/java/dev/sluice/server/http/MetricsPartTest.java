package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

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
}
