// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.access.Tokens;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Only a token with the role {@code read} shows the address of Redis. */
class StoreAddressTest {

  private static final String READER = Tokens.fresh();

  private final HttpClient client = HttpClient.newHttpClient();

  private static Service start(LocalRedis redis, @Nullable Path tokens) {
    return Service.start(
        new ServerConfig(
            Configs.onPort(0),
            Sources.SAMPLE,
            Storage.in(StoreAccess.of(redis.uri() + "?timeout=10s&connectTimeout=10s")),
            new Control(tokens, null, null, null),
            Telemetry.NONE));
  }

  private static void stop(Service service) {
    Thread.currentThread().interrupt(); // so that nobody waits for load balancers
    service.close();
    var unused = Thread.interrupted();
  }

  private String send(Service service, String method, String path, String body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(
                URI.create("http://" + HostPort.format(service.addresses().get(0)) + path))
            .header("Content-Type", "application/json")
            .header("Authorization", "Bearer " + READER)
            .method(method, BodyPublishers.ofString(body))
            .build();
    return client.send(request, BodyHandlers.ofString()).body();
  }

  private String figures(Service service, String path) throws Exception {
    String spend = "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.9\"}";
    assertThat(send(service, "POST", "/v1/spend", spend)).contains("\"allowed\":true");
    return send(service, "GET", path, "");
  }

  @Test
  void withoutTokens_nobodyIsToldTheAddress() throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      Service service = start(redis, null);
      try {
        assertThat(figures(service, "/v1/stats"))
            .contains("\"store\":{\"name\":\"redis\"", "{\"server\":\"redis-1\",\"up\":true}")
            .doesNotContain(":" + redis.port());
        assertThat(figures(service, "/metrics"))
            .contains("ratelimits_redis_up{server=\"redis-1\"} 1")
            .doesNotContain(":" + redis.port());
      } finally {
        stop(service);
      }
    }
  }

  @Test
  void withTokens_readersAreToldTheAddress(@TempDir Path folder) throws Exception {
    Path tokens =
        Files.writeString(
            folder.resolve("tokens.yml"),
            "tokens: [{ name: reader, sha256: %s, roles: [decide, read] }]"
                .formatted(Tokens.sha256(READER)));
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      Service service = start(redis, tokens);
      String address = "127.0.0.1:" + redis.port();
      try {
        assertThat(figures(service, "/v1/stats"))
            .contains("redis://" + address, "\"server\":\"" + address + "\"");
        assertThat(figures(service, "/metrics"))
            .contains("ratelimits_redis_up{server=\"" + address + "\"} 1");
      } finally {
        stop(service);
      }
    }
  }
}
