// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.FailureRule;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a token with a scope sees of the figures for the page. */
class StatsScopeTest {

  private static final String SCOPED = Tokens.fresh();
  private static final String ALL = Tokens.fresh();

  private final HttpClient client = HttpClient.newHttpClient();

  @TempDir private Path folder;
  private Service service;

  @BeforeEach
  void start() throws IOException {
    service = start(Configs.inMemory());
  }

  private Service start(Storage storage) throws IOException {
    Path tokens =
        Files.writeString(
            folder.resolve("tokens.yml"),
            """
            tokens:
              - name: scoped
                sha256: %s
                roles: [decide, read]
                limits: ["SignUps*"]
              - name: all
                sha256: %s
                roles: [decide, read]
            """
                .formatted(Tokens.sha256(SCOPED), Tokens.sha256(ALL)));
    return Service.start(
        new ServerConfig(
            Configs.onPort(0),
            Sources.SAMPLE,
            storage,
            new ServerConfig.Control(tokens, null, null, null),
            new Telemetry(true, null)));
  }

  @AfterEach
  void stop() {
    close(service);
  }

  private static void close(Service service) {
    Thread.currentThread().interrupt(); // so that nobody waits for load balancers
    try {
      service.close();
    } finally {
      var unused = Thread.interrupted();
    }
  }

  private String send(String token, String method, String path, String body) throws Exception {
    return send(service, token, method, path, body);
  }

  private String send(Service service, String token, String method, String path, String body)
      throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(
                URI.create("http://" + HostPort.format(service.addresses().get(0)) + path))
            .header("Content-Type", "application/json")
            .header("Authorization", "Bearer " + token)
            .method(method, BodyPublishers.ofString(body))
            .build();
    return client.send(request, BodyHandlers.ofString()).body();
  }

  @Test
  @Tag("slow")
  void namesOfServers_areShownOnlyWithoutAScope() throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      Service shared =
          start(
              new Storage(
                  StoreAccess.of(redis.uri()),
                  null,
                  TokenKey.random(),
                  FailureRule.localAuto(),
                  Map.of(),
                  1,
                  true));
      try {
        await()
            .untilAsserted(
                () ->
                    assertThat(send(shared, ALL, "GET", "/v1/stats", ""))
                        .contains("\"serverCount\":1,\"servers\":[\""));
        assertThat(send(shared, SCOPED, "GET", "/v1/stats", ""))
            .contains("\"serverCount\":1")
            .doesNotContain("\"servers\"");
      } finally {
        close(shared);
      }
    }
  }

  @Test
  void statsAndDeniedIds_areThoseOfTheScope() throws Exception {
    for (String limit : List.of("SignUpsPerIPAddress", "LoginsPerIPAddress")) {
      for (int i = 0; i < 30; i++) { // a token comes back each 6 s
        String body = "{\"limit\":\"%s\",\"id\":\"192.0.2.9\"}".formatted(limit);
        assertThat(send(ALL, "POST", "/v1/spend", body)).contains("\"allowed\"");
      }
    }
    await()
        .untilAsserted(
            () ->
                assertThat(send(ALL, "GET", "/v1/stats", ""))
                    .containsPattern("\"limit\":\"LoginsPerIPAddress\",[^}]*\"denied\"")
                    .containsPattern("\"limit\":\"SignUpsPerIPAddress\",[^}]*\"denied\""));

    assertThat(send(SCOPED, "GET", "/v1/stats", ""))
        .contains("SignUpsPerIPAddress")
        .doesNotContain("LoginsPerIPAddress");
    assertThat(send(ALL, "GET", "/v1/rates?limit=LoginsPerIPAddress", "")).contains("\"denied\"");
    assertThat(send(SCOPED, "GET", "/v1/rates?limit=LoginsPerIPAddress", ""))
        .contains("scoped may not use the limit");
    assertThat(send(SCOPED, "GET", "/v1/rules", "")).contains("\"status\":403");
    assertThat(send(ALL, "GET", "/v1/admin/top-denied", ""))
        .contains("SignUpsPerIPAddress", "LoginsPerIPAddress");
    assertThat(send(SCOPED, "GET", "/v1/admin/top-denied", ""))
        .contains("SignUpsPerIPAddress", "192.0.2.9")
        .doesNotContain("LoginsPerIPAddress");
  }
}
