// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.linecorp.armeria.client.grpc.GrpcClients;
import dev.sluice.gcra.Quota;
import dev.sluice.server.Aside;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc.RateLimitServiceBlockingStub;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc.HealthBlockingStub;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.SafeEncoder;

/** How many requests an address may send without a token that is known, on every door. */
class StrangersTest {

  private static final InetSocketAddress ANY =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  private static final int PATIENCE_MILLIS = 60_000;
  private static final Quota THREE = Quota.burst(3).refill(1, Duration.ofHours(1));
  private static final String TOKEN = Tokens.fresh();
  private static final String SPEND = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}";

  private final HttpClient client = HttpClient.newHttpClient();
  @TempDir private Path folder;
  private Service service;

  private void start(boolean tokens, @Nullable Quota quota) throws IOException {
    Path file = folder.resolve("tokens.yml");
    String line = "tokens: [{name: shop, sha256: %s, roles: [decide]}]\n";
    Files.writeString(file, line.formatted(Tokens.sha256(TOKEN)));
    Control control = new Control(tokens ? file : null, null, null, quota);
    Doors doors =
        new Doors(Http.on(ANY), ANY, ANY, Settings.of(OverridePolicy.ALLOW), null, false, false);
    ServerConfig usual = Configs.of(control);
    service =
        Service.start(
            new ServerConfig(doors, usual.sources(), usual.storage(), control, usual.telemetry()));
  }

  /** Does not wait: a server says for a second that it is about to stop. */
  @AfterEach
  void stop() {
    Aside.run(service::close);
  }

  private HttpResponse<String> send(String path, String type, String body, @Nullable String token)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create("http://" + HostPort.format(service.addresses().get(0)) + path))
            .header("Content-Type", type);
    if (token != null) {
      request.header("Authorization", "Bearer " + token);
    }
    return client.send(
        (body.isEmpty() ? request.GET() : request.POST(BodyPublishers.ofString(body))).build(),
        BodyHandlers.ofString());
  }

  private int spend(@Nullable String token) throws Exception {
    return send("/v1/spend", "application/json", SPEND, token).statusCode();
  }

  private int get(String path) throws Exception {
    return send(path, "text/plain", "", null).statusCode();
  }

  private Jedis redis() {
    Jedis jedis = new Jedis("127.0.0.1", service.addresses().get(1).getPort());
    jedis.connect();
    jedis.getConnection().setSoTimeout(PATIENCE_MILLIS); // given to Jedis, it sends CLIENT SETINFO
    return jedis;
  }

  private <T> T grpc(Class<T> stub) {
    return GrpcClients.newClient(
        "gproto+http://" + HostPort.format(service.addresses().get(2)) + "/", stub);
  }

  @Test
  void withTokens_strangersAreBounded_andAGoodTokenAndHealthPass() throws Exception {
    start(true, THREE);
    assertThat(spend(null)).isEqualTo(401);
    assertThat(get("/")).isEqualTo(200);
    assertThat(get("/nowhere")).isEqualTo(404);
    HttpResponse<String> refused = send("/v1/spend", "application/json", SPEND, null);
    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValueAsLong("Retry-After").orElse(0)).isPositive();
    assertThat(refused.body()).contains("without a known token");
    assertThat(get("/")).isEqualTo(429);
    assertThat(get("/healthz")).isEqualTo(200);
    assertThat(get("/readyz")).isEqualTo(200);
    assertThat(spend(TOKEN)).isEqualTo(200);
    assertThat(health()).isEqualTo(ServingStatus.SERVING);
    assertThatThrownBy(this::ask).hasMessageContaining("RESOURCE_EXHAUSTED");
    try (Jedis jedis = redis()) {
      assertThatThrownBy(() -> jedis.sendCommand(Command.PING))
          .isInstanceOf(JedisDataException.class)
          .hasMessageStartingWith("THROTTLED");
      assertThat(jedis.auth(TOKEN)).isEqualTo("OK");
      assertThat(jedis.ping()).isEqualTo("PONG");
    }
  }

  /** A command that needs no permission, and fails, was never counted. */
  @Test
  void withTokens_failedCommandsOfAStranger_count_andAGoodTokenPasses() throws Exception {
    start(true, THREE);
    try (Jedis jedis = redis()) {
      assertFails(jedis, "ERR unknown command", "NOSUCH");
      assertFails(jedis, "NOPROTO", "HELLO", "9");
      assertFails(jedis, "ERR wrong number", "AUTH");
      assertFails(jedis, "THROTTLED", "NOSUCH");
      assertFails(jedis, "THROTTLED", "HELLO", "3", "x");
      assertThat(jedis.auth(TOKEN)).isEqualTo("OK");
      assertFails(jedis, "ERR unknown command", "NOSUCH");
    }
  }

  private static void assertFails(Jedis jedis, String start, String command, String... arguments) {
    assertThatThrownBy(() -> jedis.sendCommand(() -> SafeEncoder.encode(command), arguments))
        .isInstanceOf(JedisDataException.class)
        .hasMessageStartingWith(start);
  }

  private ServingStatus health() {
    return grpc(HealthBlockingStub.class)
        .check(HealthCheckRequest.getDefaultInstance())
        .getStatus();
  }

  private void ask() {
    var unused =
        grpc(RateLimitServiceBlockingStub.class)
            .shouldRateLimit(RateLimitRequest.newBuilder().setDomain("edge").build());
  }

  @Test
  void withoutTokens_eachDoorCountsTheAddress() throws Exception {
    start(false, THREE);
    try (Jedis jedis = redis()) {
      assertThat(jedis.ping()).isEqualTo("PONG");
      assertThat(spend(null)).isEqualTo(200);
      assertThatThrownBy(this::ask)
          .isInstanceOf(StatusRuntimeException.class)
          .hasMessageNotContaining("RESOURCE_EXHAUSTED"); // without descriptors: a mistake
      assertThatThrownBy(this::ask).hasMessageContaining("RESOURCE_EXHAUSTED");
      assertThat(spend(null)).isEqualTo(429);
      assertThatThrownBy(() -> jedis.sendCommand(Command.PING)).hasMessageStartingWith("THROTTLED");
    }
    assertThat(health()).isEqualTo(ServingStatus.SERVING);
    assertThat(get("/healthz")).isEqualTo(200);
  }

  @Test
  void withoutTokens_lineOfAStream_countsAsARequest() throws Exception {
    start(false, THREE);
    String spend = "{\"op\":\"spend\",\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}\n";
    String lines = (spend + "nonsense\n").repeat(2);
    String[] answers =
        send("/v1/decisions", "application/x-ndjson", lines, null).body().split("\n", -1);
    assertThat(answers[1]).contains("\"status\":400");
    assertThat(answers[2]).contains("\"allowed\":true");
    assertThat(answers[3]).contains("\"status\":429");
  }

  @Test
  void withoutABound_anyNumberPasses() throws Exception {
    start(false, null);
    for (int i = 0; i < 10; i++) {
      assertThat(get("/")).isEqualTo(200);
    }
  }
}
