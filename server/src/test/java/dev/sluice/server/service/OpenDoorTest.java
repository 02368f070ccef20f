// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.FailureRule;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisDataException;

/** A server without access control that listens beyond loopback, as with --open. */
@Tag("slow")
class OpenDoorTest {

  private static final InetSocketAddress ANYWHERE = new InetSocketAddress("0.0.0.0", 0);
  private static final int PATIENCE_MILLIS = 60_000;
  private static final String BUCKET = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}";

  private final HttpClient client = HttpClient.newHttpClient();
  private Service service;

  @BeforeEach
  void start() {
    Doors doors =
        new Doors(
            Http.on(ANYWHERE), ANYWHERE, null, Settings.of(OverridePolicy.ALLOW), null, true, true);
    service = Service.start(Configs.of(doors));
  }

  /** Does not wait: a server says for a second that it is about to stop. */
  @AfterEach
  void stop() {
    new Thread(service::close).start();
  }

  /** An address of this machine that is not loopback: its peer is not loopback either. */
  private static String beyond() throws Exception {
    return NetworkInterface.networkInterfaces()
        .flatMap(NetworkInterface::inetAddresses)
        .filter(address -> address instanceof Inet4Address && !address.isLoopbackAddress())
        .findFirst()
        .map(InetAddress::getHostAddress)
        .orElseThrow();
  }

  private HttpResponse<String> send(String host, String method, String path, String body)
      throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(
                URI.create("http://" + host + ":" + service.addresses().get(0).getPort() + path))
            .header("Content-Type", "application/json")
            .method(method, BodyPublishers.ofString(body))
            .build();
    return client.send(request, BodyHandlers.ofString());
  }

  @ParameterizedTest
  @CsvSource({
    "POST, /v1/reset",
    "POST, /v1/refund",
    "POST, /v1/admin/reload",
    "PUT, /v1/admin/penalties/ApiCallsPerKey/k",
    "DELETE, /v1/admin/overrides/ApiCallsPerKey/k"
  })
  void actOfAnAdministrator_isForLoopbackAlone(String method, String path) throws Exception {
    String body = path.contains("penalties") ? "{\"for\":\"1m\"}" : BUCKET;
    HttpResponse<String> refused = send(beyond(), method, path, body);
    assertThat(refused.statusCode()).isEqualTo(403);
    assertThat(refused.body()).contains("--tokens", "loopback", "\"role\":\"admin\"");
    assertThat(send("127.0.0.1", method, path, body).statusCode()).isIn(200, 204, 404);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/healthz", "/readyz", "/metrics", "/v1/limits", "/v1/stats"})
  void readsAndHealth_areAnswered(String path) throws Exception {
    assertThat(send(beyond(), "GET", path, "").statusCode()).isEqualTo(200);
  }

  @Test
  void decisions_areAnswered_andALineThatResetsIsNot() throws Exception {
    assertThat(send(beyond(), "POST", "/v1/spend", BUCKET).statusCode()).isEqualTo(200);
    String lines =
        """
        {"op":"spend","limit":"ApiCallsPerKey","id":"k"}
        {"op":"reset","limit":"ApiCallsPerKey","id":"k"}
        """;
    HttpRequest request =
        HttpRequest.newBuilder(
                URI.create(
                    "http://%s:%s/v1/decisions"
                        .formatted(beyond(), service.addresses().get(0).getPort())))
            .header("Content-Type", "application/x-ndjson")
            .POST(BodyPublishers.ofString(lines))
            .build();
    String answer = client.send(request, BodyHandlers.ofString()).body();
    assertThat(answer.lines().toList().get(0)).contains("\"allowed\":true");
    assertThat(answer.lines().toList().get(1)).contains("loopback");
  }

  @Test
  void redisClient_spends_andDoesNotReset() throws Exception {
    int port = service.addresses().get(1).getPort();
    try (Jedis far = new Jedis(beyond(), port, PATIENCE_MILLIS);
        Jedis near = new Jedis("127.0.0.1", port, PATIENCE_MILLIS)) {
      assertThat(call(far, "SLUICE.SPEND", "ApiCallsPerKey", "k")).isNotNull();
      assertThatThrownBy(() -> call(far, "SLUICE.RESET", "ApiCallsPerKey", "k"))
          .isInstanceOf(JedisDataException.class)
          .hasMessageContaining("loopback");
      assertThatThrownBy(
              () -> call(far, "SLUICE.BATCH", "RESET", "ApiCallsPerKey", "k", "1", "checkAndSpend"))
          .isInstanceOf(JedisDataException.class)
          .hasMessageContaining("loopback");
      assertThat(call(near, "SLUICE.RESET", "ApiCallsPerKey", "k")).isNotNull();
    }
  }

  private static Object call(Jedis client, String command, String... arguments) {
    return client.sendCommand(() -> command.getBytes(StandardCharsets.US_ASCII), arguments);
  }

  @Test
  void serverWhoseStoreNeverAnswered_isNotReady_unlessItNeedNotWait() throws Exception {
    for (boolean withoutStore : new boolean[] {false, true}) {
      Storage usual = Storage.in(StoreAccess.of("redis://127.0.0.1:1?timeout=50ms"));
      Storage away =
          new Storage(
              usual.store(),
              null,
              usual.tokenKey(),
              FailureRule.allow(),
              usual.onFailureByLimit(),
              withoutStore);
      Service before = service;
      service =
          Service.start(
              new ServerConfig(
                  Configs.onPort(0), Sources.SAMPLE, away, Control.NONE, Telemetry.NONE));
      before.close();
      HttpResponse<String> ready = send("127.0.0.1", "GET", "/readyz", "");
      assertThat(ready.statusCode()).isEqualTo(withoutStore ? 200 : 503);
      if (!withoutStore) {
        assertThat(ready.body()).contains("--ready-without-store");
      }
      assertThat(send("127.0.0.1", "POST", "/v1/spend", BUCKET).body())
          .contains("\"allowed\":true");
    }
  }
}
