// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static dev.sluice.server.Eventually.await;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.server.net.HostPort;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.ServerConfig.ConfigException;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.DenialLogFile;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.ProxyHeader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The log of denials, with the denials of each door. */
class DenialLogTest {

  private static final InetSocketAddress ANY =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  private final HttpClient client = HttpClient.newHttpClient();

  @TempDir private Path folder;
  private Path log;
  private Path rules;
  private Path limits;
  private Service service;

  @BeforeEach
  void write() throws IOException {
    log = folder.resolve("denials.jsonl");
    limits =
        Files.writeString(
            folder.resolve("limits.yml"),
            """
            PerId: {id: string, burst: 1, count: 1, period: 1h}
            PerIp: {id: ipAddress, burst: 1, count: 1, period: 1h}
            """);
    rules =
        Files.writeString(
            folder.resolve("rules.yml"),
            """
            rules:
              - path: /admin/**
                deny: true
              - {path: /**, limits: [{limit: PerIp, id: "{ip}"}, {limit: PerId, id: "{path}", shadow: true}]}
              - {entries: [remote_address], limit: PerIp, id: "{remote_address}"}
              - {entries: [blocked], deny: true}
            """);
  }

  @AfterEach
  void stop() {
    if (service != null) {
      Thread.currentThread().interrupt(); // so that nobody waits for load balancers
      service.close();
      var unused = Thread.interrupted();
    }
  }

  private void start(boolean showsIds) {
    Http http =
        new Http(
            ANY,
            ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "127.0.0.1"),
            Set.of(),
            Set.of(),
            false);
    service =
        Service.start(
            new ServerConfig(
                new Doors(http, ANY, null, Settings.of(OverridePolicy.ALLOW), null, false, false),
                Sources.of(new ServerConfig.Files(limits, null, null, rules)),
                Configs.inMemory(),
                Control.NONE,
                new Telemetry(false, new DenialLogFile(log.toString(), showsIds), null)));
  }

  private int send(HttpRequest.Builder request) throws Exception {
    return client.send(request.build(), BodyHandlers.ofString()).statusCode();
  }

  private HttpRequest.Builder to(String path) {
    return HttpRequest.newBuilder(
        URI.create("http://" + HostPort.format(service.addresses().get(0)) + path));
  }

  private int post(String path, String body) throws Exception {
    return send(
        to(path)
            .header("Content-Type", "application/json")
            .method("POST", BodyPublishers.ofString(body)));
  }

  private int forward(String path, String client) throws Exception {
    return send(
        to("/v1/forward-auth?by=rules")
            .header("X-Forwarded-Method", "PUT")
            .header("X-Forwarded-Uri", path)
            .header("X-Forwarded-For", client));
  }

  private List<String> lines(int count) throws IOException {
    await().until(() -> Files.readAllLines(log).size() >= count);
    return Files.readAllLines(log);
  }

  @Test
  void spendOverHttp_isLogged_withoutTheAllowedOnes_andWithoutChecks() throws Exception {
    start(true);
    String body = "{\"limit\":\"PerId\",\"id\":\"ann\"}";
    assertThat(post("/v1/spend", body)).isEqualTo(200);
    assertThat(post("/v1/check", body)).isEqualTo(200);
    assertThat(post("/v1/spend", body)).isEqualTo(200);
    assertThat(post("/v1/reservations", body)).isEqualTo(200);
    List<String> lines = lines(2);
    assertThat(lines).hasSize(2);
    assertThat(lines)
        .allSatisfy(
            line ->
                assertThat(line)
                    .matches("\\{\"at\":\"20[^\"]*Z\",\"door\":\"http\".*")
                    .contains("\"limit\":\"PerId\",\"id\":\"ann\",\"cost\":1,\"retryInSeconds\":3")
                    .endsWith("\"decidedBy\":\"store\"}"));
  }

  @Test
  void spendOverHttp_isLogged_withTheRequestThatTheClientDescribes() throws Exception {
    start(true);
    for (String path : List.of("/v1/spend", "/v1/spend", "/v1/reservations")) {
      assertThat(
              send(
                  to(path)
                      .header("Content-Type", "application/json")
                      .header("X-Forwarded-Method", "DELETE")
                      .header("X-Forwarded-Uri", "/shop/cart?secret=1")
                      .POST(BodyPublishers.ofString("{\"limit\":\"PerId\",\"id\":\"ann\"}"))))
          .isEqualTo(200);
    }
    assertThat(lines(2))
        .hasSize(2)
        .allSatisfy(
            line ->
                assertThat(line)
                    .contains("\"door\":\"http\",\"method\":\"DELETE\",\"path\":\"/shop/cart\",")
                    .doesNotContain("secret"));
  }

  @Test
  void descriptor_isLogged_withItsMethodAndPath_whateverDescriptorHasThem() throws Exception {
    start(true);
    String request =
        "{\"domain\":\"edge\",\"descriptors\":[{\"entries\":[{\"key\":\"remote_address\",\"value\":\"192.0.2.9\"}]},"
            + "{\"entries\":[{\"key\":\"%s\",\"value\":\"GET\"},{\"key\":\"%s\",\"value\":\"/a?secret=1\"}]}]}";
    assertThat(post("/json", request.formatted("method", "path"))).isEqualTo(200);
    assertThat(post("/json", request.formatted(":method", ":path"))).isEqualTo(429);
    assertThat(post("/json", request.formatted("METHOD", "PATH"))).isEqualTo(429);
    assertThat(post("/json", request.formatted("m", "p"))).isEqualTo(429);
    List<String> lines = lines(3);
    assertThat(lines.subList(0, 2))
        .allSatisfy(
            line ->
                assertThat(line)
                    .contains("\"method\":\"GET\",\"path\":\"/a\",\"rule\":")
                    .doesNotContain("secret"));
    assertThat(lines.get(2)).doesNotContain("\"method\"", "\"path\"");
  }

  @Test
  void batch_isLogged_withTheLimitThatDenies() throws Exception {
    start(true);
    assertThat(post("/v1/spend", "{\"limit\":\"PerId\",\"id\":\"a\"}")).isEqualTo(200);
    String batch =
        "{\"transactions\":[{\"limit\":\"PerId\",\"id\":\"a\"},{\"limit\":\"PerIp\",\"id\":\"192.0.2.1\"}]}";
    assertThat(post("/v1/spend", batch)).isEqualTo(200);
    assertThat(lines(1)).singleElement().asString().contains("\"limit\":\"PerId\",\"id\":\"a\"");
  }

  @Test
  void proxiedRequest_isLogged_withMethod_path_andRule() throws Exception {
    start(true);
    assertThat(forward("/shop/cart?secret=1", "192.0.2.7")).isEqualTo(200);
    assertThat(forward("/shop/cart?secret=1", "192.0.2.7")).isEqualTo(429);
    assertThat(forward("/admin/x", "192.0.2.8")).isEqualTo(429);
    List<String> lines = lines(2);
    assertThat(lines).hasSize(2);
    assertThat(lines.get(0))
        .contains("\"door\":\"forward-auth\",\"method\":\"PUT\",\"path\":\"/shop/cart\"")
        .contains("\"rule\":\"%s:4\"".formatted(rules))
        .contains("\"limit\":\"PerIp\",\"id\":\"192.0.2.7\"")
        .doesNotContain("secret");
    assertThat(lines.get(1))
        .contains(
            "\"path\":\"/admin/x\",\"rule\":\"%s:2\",\"decidedBy\":\"rule\"}".formatted(rules));
  }

  @Test
  void descriptor_isLogged_withItsRule() throws Exception {
    start(true);
    String request =
        "{\"domain\":\"edge\",\"descriptors\":[{\"entries\":[{\"key\":\"%s\",\"value\":\"%s\"}]}]}";
    String known = request.formatted("remote_address", "192.0.2.9");
    assertThat(post("/json", known)).isEqualTo(200);
    assertThat(post("/json", known)).isEqualTo(429);
    assertThat(post("/json", request.formatted("blocked", "x"))).isEqualTo(429);
    assertThat(post("/json", request.formatted("remote_address", "nonsense"))).isEqualTo(429);
    List<String> lines = lines(3);
    assertThat(lines.get(0))
        .contains("\"door\":\"http\",\"rule\":\"%s:5\",\"limit\":\"PerIp\"".formatted(rules))
        .contains("\"id\":\"192.0.2.9\"");
    assertThat(lines.get(1)).endsWith("\"rule\":\"%s:6\",\"decidedBy\":\"rule\"}".formatted(rules));
    assertThat(lines.get(2))
        .endsWith("\"rule\":\"%s:5\",\"decidedBy\":\"request\"}".formatted(rules));
  }

  @Test
  void redisClient_isLogged_alsoInARun() throws Exception {
    start(true);
    try (Socket socket =
        new Socket(InetAddress.getLoopbackAddress(), service.addresses().get(1).getPort())) {
      String spend = "*3\r\n$12\r\nSLUICE.SPEND\r\n$5\r\nPerId\r\n$3\r\nbob\r\n";
      String throttle =
          "*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$1\r\n0\r\n$1\r\n1\r\n$4\r\n3600\r\n";
      socket.getOutputStream().write((spend + spend + throttle + throttle).getBytes(US_ASCII));
      List<String> lines = lines(2);
      assertThat(lines.get(0)).contains("\"door\":\"resp\",\"limit\":\"PerId\",\"id\":\"bob\"");
      assertThat(lines.get(1)).contains("\"door\":\"resp\",\"limit\":\"cl.throttle\"");
    }
  }

  @Test
  void ids_areHashed_alikeInEachLimit() throws Exception {
    start(false);
    for (int i = 0; i < 2; i++) {
      var unused = post("/v1/spend", "{\"limit\":\"PerId\",\"id\":\"192.0.2.1\"}");
      unused = post("/v1/spend", "{\"limit\":\"PerIp\",\"id\":\"192.0.2.1\"}");
    }
    List<String> lines = lines(2);
    String id = lines.get(0).replaceAll(".*\"id\":\"([0-9a-f]{16})\".*", "$1");
    assertThat(id).hasSize(16);
    assertThat(lines.get(1)).contains(id).doesNotContain("192.0.2.1");
  }

  @Test
  void furtherDenials_areCounted_andTheirNumberIsLogged() throws Exception {
    start(true);
    for (int i = 0; i < 51; i++) {
      var unused = post("/v1/spend", "{\"limit\":\"PerId\",\"id\":\"eve\"}");
    }
    var unused = post("/v1/spend", "{\"limit\":\"PerIp\",\"id\":\"192.0.2.1\"}");
    unused = post("/v1/spend", "{\"limit\":\"PerIp\",\"id\":\"192.0.2.1\"}");
    await()
        .untilAsserted(
            () -> {
              List<String> lines = Files.readAllLines(log);
              long shown = lines.stream().filter(line -> line.contains("\"id\":\"eve\"")).count();
              long leftOut =
                  lines.stream()
                      .filter(line -> line.contains("\"leftOut\""))
                      .peek(line -> assertThat(line).contains("\"limit\":\"PerId\""))
                      .mapToLong(line -> Long.parseLong(line.replaceAll(".*:(\\d+)}$", "$1")))
                      .sum();
              assertThat(shown + leftOut).isEqualTo(50);
              assertThat(lines).anyMatch(line -> line.contains("\"limit\":\"PerIp\",\"id\""));
            });
  }

  @Test
  void fileThatIsRenamed_isMadeAgain() throws Exception {
    start(true);
    String body = "{\"limit\":\"PerId\",\"id\":\"ann\"}";
    assertThat(post("/v1/spend", body)).isEqualTo(200);
    assertThat(post("/v1/spend", body)).isEqualTo(200);
    assertThat(lines(1)).hasSize(1);
    Files.move(log, folder.resolve("denials.jsonl.1"));
    assertThat(post("/v1/spend", body)).isEqualTo(200);
    await().until(() -> Files.exists(log) && Files.size(log) > 0);
  }

  @Test
  void fileThatCannotBeWritten_isAMistakeOfItsSetting() {
    log = folder.resolve("missing/denials.jsonl");
    assertThatThrownBy(() -> start(true))
        .isInstanceOfSatisfying(
            ConfigException.class, e -> assertThat(e.setting()).isEqualTo("denial-log"));
  }

  @Test
  void fileOfTheLimits_isRefused() {
    log = limits;
    assertThatThrownBy(() -> start(true))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("would be overwritten");
  }
}
