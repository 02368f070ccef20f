// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;

/** Which limits fill the table in memory, on every door. */
class NewBucketsTest {

  private static final int PATIENCE_MILLIS = 60_000;
  private static final InetSocketAddress ANY =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  private static final Pattern LOGINS =
      Pattern.compile("\"limit\":\"LoginsPerIPAddress\"[^}]*\"newBuckets\":\\[([0-9,]+)]");

  private final HttpClient client = HttpClient.newHttpClient();

  @Test
  void newIds_areCountedForTheirLimit_onceEach() throws Exception {
    Doors doors =
        new Doors(Http.on(ANY), ANY, null, Settings.of(OverridePolicy.ALLOW), null, false, false);
    try (Service service = Service.start(Configs.of(doors))) {
      for (String id : new String[] {"a", "b", "a", "a"}) {
        spend(service, "SignUpsPerIPAddress", id.equals("a") ? "192.0.2.1" : "192.0.2.2");
      }
      try (Jedis redis =
              new Jedis("127.0.0.1", service.addresses().get(1).getPort(), PATIENCE_MILLIS);
          Pipeline many = redis.pipelined()) {
        for (int i = 0; i < 90; i++) {
          many.sendCommand(
              () -> "SLUICE.SPEND".getBytes(StandardCharsets.US_ASCII),
              "LoginsPerIPAddress",
              "192.0.2." + i / 3);
        }
        many.sync();
      }
      assertThat(get(service, "/metrics"))
          .contains("ratelimits_new_buckets_total{limit=\"SignUpsPerIPAddress\"} 2.0")
          .contains("ratelimits_new_buckets_total{limit=\"LoginsPerIPAddress\"} 30.0")
          .doesNotContain("ratelimits_new_buckets_total{limit=\"ApiCallsPerKey\"");
      await()
          .untilAsserted(
              () ->
                  assertThat(get(service, "/v1/stats"))
                      .contains("\"maxLiveBuckets\":")
                      .satisfies(stats -> assertThat(newLogins(stats)).isEqualTo(30)));
    }
  }

  /** Returns the sum of the last minute's seconds: the calls may lie in two of them. */
  private static int newLogins(String stats) {
    Matcher seconds = LOGINS.matcher(stats);
    return seconds.find()
        ? Stream.of(seconds.group(1).split(",")).mapToInt(Integer::parseInt).sum()
        : 0;
  }

  private void spend(Service service, String limit, String id) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(uri(service, "/v1/spend"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString("{\"limit\":\"%s\",\"id\":\"%s\"}".formatted(limit, id)))
            .build();
    assertThat(client.send(request, BodyHandlers.ofString()).statusCode()).isEqualTo(200);
  }

  private String get(Service service, String path) throws Exception {
    return client
        .send(HttpRequest.newBuilder(uri(service, path)).build(), BodyHandlers.ofString())
        .body();
  }

  private static URI uri(Service service, String path) {
    return URI.create("http://localhost:" + service.addresses().get(0).getPort() + path);
  }
}
