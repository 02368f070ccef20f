// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.FailureRule;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.service.ServerConfig.ConfigException;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The failure rule {@code local:auto}, with real servers whose Redis is killed. */
@Tag("slow")
class LocalAutoTest {

  /** A sample limit with a burst of 10; the other one has 30. */
  private static final String LIMIT = "LoginsPerIPAddress";

  private static final String OTHER = "FailedLoginsPerIPAddress";

  private final HttpClient client = HttpClient.newHttpClient();
  private final List<Service> services = new ArrayList<>();

  @CanIgnoreReturnValue
  private Service start(String store, int atLeast, FailureRule rule, Map<String, FailureRule> by) {
    return start(
        new Storage(StoreAccess.of(store), null, TokenKey.random(), rule, by, atLeast, true));
  }

  private Service start(Storage storage) {
    Service service = Service.start(Configs.of(storage));
    services.add(service);
    return service;
  }

  @AfterEach
  void end() {
    Thread.currentThread().interrupt(); // so that nobody waits for load balancers
    try {
      services.forEach(Service::close);
    } finally {
      var unused = Thread.interrupted();
    }
  }

  private String url(Service service, String path) {
    return "http://" + HostPort.format(service.addresses().get(0)) + path;
  }

  private JsonNode get(Service service, String path) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(url(service, path))).build();
    return new ObjectMapper().readTree(client.send(request, BodyHandlers.ofString()).body());
  }

  private JsonNode spend(Service service, String limit, String id) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url(service, "/v1/spend")))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString("{\"limit\":\"" + limit + "\",\"id\":\"" + id + "\"}"))
            .build();
    return new ObjectMapper().readTree(client.send(request, BodyHandlers.ofString()).body());
  }

  private static boolean pings(Service service) {
    try {
      service.ping();
      return true;
    } catch (StoreException e) {
      return false;
    }
  }

  private int granted(Service service, String limit, String id) throws Exception {
    int granted = 0;
    for (int i = 0; i < 12; i++) {
      JsonNode decision = spend(service, limit, id);
      assertThat(decision.path("decidedBy").asText()).isIn("local", "deny");
      granted += decision.path("allowed").asBoolean() ? 1 : 0;
    }
    return granted;
  }

  /** Waits until a server knows by which number to divide. */
  private void awaitCounted(Service service, int servers) {
    await()
        .atMost(Duration.ofSeconds(40))
        .untilAsserted(
            () -> assertThat(metrics(service)).contains("\nsluice_servers " + servers + ".0\n"));
  }

  private String metrics(Service service) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(url(service, "/metrics"))).build();
    return client.send(request, BodyHandlers.ofString()).body();
  }

  private void awaitOutage(Service service) {
    await()
        .atMost(Duration.ofSeconds(40))
        .untilAsserted(
            () ->
                assertThat(spend(service, LIMIT, "192.0.2.99").path("decidedBy").asText())
                    .isIn("local", "deny"));
  }

  @Test
  void fleetWhoseRedisIsKilled_dividesByTheServersSeen_andNewServersAddNothing() throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      String store = redis.uri() + "?prefix=shop:&timeout=1s";
      FailureRule auto = FailureRule.localAuto();
      for (int i = 0; i < 3; i++) {
        start(store, 1, auto, Map.of());
      }
      Service careful = start(store, 10, auto, Map.of());
      for (Service service : services) {
        awaitCounted(service, service == careful ? 10 : 4);
        assertThat(get(service, "/v1/stats").at("/store/servers")).hasSize(4);
      }
      redis.kill();
      for (Service service : services) {
        awaitOutage(service);
      }
      for (Service service : services) {
        // 10 tokens, divided by 4; by 10 where --local-at-least says so
        assertThat(granted(service, LIMIT, "192.0.2.1")).isEqualTo(service == careful ? 1 : 2);
      }
      await() // the server looks once a second
          .untilAsserted(
              () ->
                  assertThat(get(services.get(0), "/v1/stats").at("/degraded/0/rule").asText())
                      .isEqualTo("local:4 (servers seen: 4)"));
      Service late = start(store, 1, auto, Map.of(OTHER, FailureRule.localAuto(5)));
      awaitOutage(late);
      assertThat(granted(late, LIMIT, "192.0.2.1")).isZero();
      assertThat(granted(late, OTHER, "192.0.2.1")).isEqualTo(6);
      redis.startAgain();
      awaitCounted(late, 5);
      redis.kill();
      awaitOutage(late);
      assertThat(granted(late, LIMIT, "192.0.2.2")).isEqualTo(2);
    }
  }

  /** Who asks for the first time during an outage must not hear that the store never answered. */
  @Test
  void serverWhoseStoreHasAnswered_isReady_alsoIfNobodyAskedBeforeTheOutage() throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      StoreAccess store = StoreAccess.of(redis.uri() + "?timeout=1s");
      Service service =
          start(
              new Storage(store, null, TokenKey.random(), FailureRule.allow(), Map.of(), 1, false));
      await().until(() -> pings(service)); // as the command does at its start
      redis.kill();
      HttpRequest ready = HttpRequest.newBuilder(URI.create(url(service, "/readyz"))).build();
      assertThat(client.send(ready, BodyHandlers.ofString()).statusCode()).isEqualTo(200);
    }
  }

  @Test
  void storeThatCannotCountServers_isAMistakeAtTheStart() {
    for (String store : List.of("memory", "redis://127.0.0.1:1/0?clock=client")) {
      for (Map<String, FailureRule> by :
          List.of(Map.<String, FailureRule>of(), Map.of(LIMIT, FailureRule.localAuto(3)))) {
        FailureRule rule = by.isEmpty() ? FailureRule.localAuto() : FailureRule.allow();
        assertThatThrownBy(() -> start(store, 1, rule, by))
            .isInstanceOf(ConfigException.class)
            .hasMessageContaining("local:auto needs a shared store that uses its own clock")
            .hasMessageContaining(store.replaceAll("\\?.*", ""))
            .hasMessageContaining("give the number of servers instead, such as local:4");
      }
    }
  }
}
