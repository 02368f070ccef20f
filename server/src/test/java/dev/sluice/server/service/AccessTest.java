// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.net.HostPort;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who may do what, over HTTP on a running server. */
class AccessTest {

  private static final String DECIDE = Tokens.fresh();
  private static final String READ = Tokens.fresh();
  private static final String ADMIN = Tokens.fresh();
  private static final String HELPER = Tokens.fresh();
  private static final String SLOW = Tokens.fresh();
  private static final String SPEND = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}";

  private final HttpClient client = HttpClient.newHttpClient();

  private static final List<Thread> ENDING = new ArrayList<>();

  @TempDir private static Path root;

  private Path tokens;
  private Path audit;
  private Service service;

  @BeforeEach
  void start() throws IOException {
    Path folder = Files.createTempDirectory(root, "test");
    tokens = folder.resolve("tokens.yml");
    audit = folder.resolve("audit.jsonl");
    Files.writeString(
        tokens,
        "tokens:\n"
            + line("shop", DECIDE, "decide", "limits: [\"ApiCalls*\"]")
            + line("prometheus", READ, "read", "limits: [\"ApiCalls*\"]")
            + line("ops", ADMIN, "decide, read, admin", "")
            + line("helper", HELPER, "admin", "limits: [\"ApiCalls*\"]")
            + line("slow", SLOW, "decide", "requests: {burst: 2, count: 1, period: 1h}"));
    service =
        Service.start(Configs.of(new ServerConfig.Control(tokens, audit.toString(), null, null)));
  }

  /** Does not wait: a server reports for a second that it is about to stop. */
  @AfterEach
  void stop() {
    Thread ending = new Thread(service::close);
    ENDING.add(ending);
    ending.start();
  }

  /** Waits for the servers, which write their audit logs until they have stopped. */
  @AfterAll
  static void end() throws InterruptedException {
    for (Thread ending : ENDING) {
      ending.join();
    }
    ENDING.clear();
  }

  private static String line(String name, String token, String roles, String more) {
    return "  - name: %s%n    sha256: %s%n    roles: [%s]%n%s"
        .formatted(name, Tokens.sha256(token), roles, more.isEmpty() ? "" : "    " + more + "\n");
  }

  private HttpResponse<String> send(String method, String path, @Nullable String token, String body)
      throws Exception {
    return send(method, path, "Authorization", token == null ? null : "Bearer " + token, body);
  }

  private HttpResponse<String> send(
      String method, String path, String header, @Nullable String value, String body)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri(path))
            .header("Content-Type", "application/json")
            .method(method, BodyPublishers.ofString(body));
    if (value != null) {
      request.header(header, value);
    }
    return client.send(request.build(), BodyHandlers.ofString());
  }

  private URI uri(String path) {
    return URI.create("http://" + HostPort.format(service.addresses().get(0)) + path);
  }

  @Test
  void withoutAToken_everythingButHealthIsRefused_with401() throws Exception {
    HttpResponse<String> refused = send("POST", "/v1/spend", null, SPEND);
    assertThat(refused.statusCode()).isEqualTo(401);
    assertThat(refused.headers().firstValue("WWW-Authenticate"))
        .hasValue("Bearer realm=\"sluice\"");
    assertThat(refused.body()).contains("tag:sluice.dev,2026:unauthenticated");
    assertThat(send("GET", "/metrics", null, "").statusCode()).isEqualTo(401);
    assertThat(send("GET", "/v1/limits", null, "").statusCode()).isEqualTo(401);
    assertThat(send("POST", "/json", null, "{}").statusCode()).isEqualTo(401);
    assertThat(send("GET", "/healthz", null, "").statusCode()).isEqualTo(200);
    assertThat(send("GET", "/readyz", null, "").statusCode()).isEqualTo(200);
    assertThat(send("GET", "/nowhere", null, "").statusCode()).isEqualTo(404);
  }

  /** Behind a proxy that adds a token of its own, the client's would win. */
  @Test
  void repeatedToken_isRefused_whicheverOfTheTwoIsKnown() throws Exception {
    for (String name : List.of("Authorization", "Sluice-Token")) {
      String scheme = name.equals("Authorization") ? "Bearer " : "";
      for (List<String> pair :
          List.of(List.of(DECIDE, Tokens.fresh()), List.of(Tokens.fresh(), DECIDE))) {
        HttpRequest request =
            HttpRequest.newBuilder(uri("/v1/spend"))
                .header("Content-Type", "application/json")
                .header(name, scheme + pair.get(0))
                .header(name, scheme + pair.get(1))
                .POST(BodyPublishers.ofString(SPEND))
                .build();
        HttpResponse<String> refused = client.send(request, BodyHandlers.ofString());
        assertThat(refused.statusCode()).isEqualTo(401);
        assertThat(refused.body())
            .contains("found the header " + name + " more than once, expected it once");
      }
    }
    await()
        .untilAsserted(
            () ->
                assertThat(Files.readAllLines(audit))
                    .hasSize(4)
                    .allMatch(line -> line.contains("more than once")));
    // There, this header is the client's that the proxy asks about.
    HttpRequest asked =
        HttpRequest.newBuilder(uri("/v1/forward-auth?limit=ApiCallsPerKey&id=k"))
            .header("Authorization", "Basic one")
            .header("Authorization", "Basic two")
            .header("Sluice-Token", DECIDE)
            .build();
    assertThat(client.send(asked, BodyHandlers.ofString()).statusCode()).isEqualTo(200);
  }

  @Test
  void tokenWithoutTheRole_isRefused_withTheRoleThatIsMissing() throws Exception {
    assertThat(send("POST", "/v1/spend", DECIDE, SPEND).statusCode()).isEqualTo(200);
    HttpResponse<String> refused = send("POST", "/v1/reset", DECIDE, SPEND);
    assertThat(refused.statusCode()).isEqualTo(403);
    assertThat(refused.body()).contains("\"role\":\"admin\"", "the token shop has no role admin");
    assertThat(send("POST", "/v1/spend", READ, SPEND).body()).contains("\"role\":\"decide\"");
    assertThat(send("GET", "/metrics", READ, "").statusCode()).isEqualTo(200);
    assertThat(send("GET", "/metrics", DECIDE, "").body()).contains("\"role\":\"read\"");
    assertThat(send("POST", "/v1/reset", ADMIN, SPEND).statusCode()).isEqualTo(200);
  }

  @Test
  void scheme_isReadInAnyCase_andSluiceTokenCountsFirst() throws Exception {
    assertThat(send("POST", "/v1/spend", "Authorization", "bEARER " + DECIDE, SPEND).statusCode())
        .isEqualTo(200);
    assertThat(send("POST", "/v1/spend", "Sluice-Token", DECIDE, SPEND).statusCode())
        .isEqualTo(200);
    assertThat(send("POST", "/v1/spend", "Authorization", "Basic " + DECIDE, SPEND).statusCode())
        .isEqualTo(401);
  }

  @Test
  void lineOfAStream_thatNeedsMore_isRefusedAlone() throws Exception {
    String[] lines =
        stream(
            DECIDE,
            """
            {"op":"spend","limit":"ApiCallsPerKey","id":"k"}
            {"op":"refund","limit":"ApiCallsPerKey","id":"k"}
            """);
    assertThat(lines[0]).contains("\"allowed\":true");
    assertThat(lines[1]).contains("\"status\":403", "\"role\":\"admin\"");
    await()
        .untilAsserted(
            () ->
                assertThat(Files.readString(audit))
                    .contains("\"who\":\"shop\"", "\"result\":\"refused\"")
                    .contains("\"what\":\"refund\",\"limit\":\"ApiCallsPerKey\",\"id\":\"k\""));
  }

  @Test
  void scopes_holdForEachLimitOfABatch_andHideTheOthers() throws Exception {
    String other = "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.7\"}";
    HttpResponse<String> refused = send("POST", "/v1/spend", DECIDE, other);
    assertThat(refused.statusCode()).isEqualTo(403);
    assertThat(refused.body()).contains("shop may not use the limit LoginsPerIPAddress");
    String batch = "{\"transactions\":[" + SPEND + "," + other + "]}";
    assertThat(send("POST", "/v1/spend", DECIDE, batch).statusCode()).isEqualTo(403);
    assertThat(send("POST", "/v1/reservations", DECIDE, other).statusCode()).isEqualTo(403);
    assertThat(send("GET", "/v1/limits", READ, "").body())
        .contains("ApiCallsPerKey")
        .doesNotContain("LoginsPerIPAddress");
    assertThat(send("GET", "/v1/limits/LoginsPerIPAddress", READ, "").statusCode()).isEqualTo(403);
    assertThat(send("POST", "/v1/spend", ADMIN, batch).statusCode()).isEqualTo(200);
  }

  /** The role alone is checked before a service is called: each must check the limit itself. */
  @Test
  void everyDocumentedPathWithALimit_isRefused_forATokenOfOtherLimits() throws Exception {
    JsonNode paths = new ObjectMapper().readTree(send("GET", "/openapi.json", ADMIN, "").body());
    List<String> tried = new ArrayList<>();
    for (var path : paths.get("paths").properties()) {
      String template = path.getKey();
      if (!template.contains("{name}")) {
        continue;
      }
      String target = template.replace("{name}", "LoginsPerIPAddress").replace("{id}", "192.0.2.7");
      boolean forAdmins = template.startsWith("/v1/admin/");
      target += !forAdmins || template.contains("{id}") ? "" : "?id=192.0.2.7";
      String token = forAdmins ? HELPER : READ;
      for (String method : List.of("GET", "PUT", "DELETE")) {
        if (path.getValue().has(method.toLowerCase(Locale.ROOT))) {
          tried.add(method + " " + template);
          assertThat(send(method, target, token, "{}").statusCode())
              .as("%s %s with a token for ApiCalls* only", method, target)
              .isEqualTo(403);
        }
      }
    }
    assertThat(tried).hasSizeGreaterThan(10);
  }

  /** The proxy passes on the client's own Authorization: only Sluice-Token is the proxy's. */
  @Test
  void forwardAuth_takesTheTokenOfTheProxyOnly() throws Exception {
    String path = "/v1/forward-auth?limit=ApiCallsPerKey&id=k";
    HttpResponse<String> refused = send("GET", path, DECIDE, "");
    assertThat(refused.statusCode()).isEqualTo(401);
    assertThat(refused.body()).contains("Sluice-Token").doesNotContain("Authorization");
    assertThat(send("GET", path, "Sluice-Token", DECIDE, "").statusCode()).isEqualTo(200);
    String other = "/v1/forward-auth?limit=LoginsPerIPAddress&id=192.0.2.7";
    assertThat(send("GET", other, "Sluice-Token", DECIDE, "").statusCode()).isEqualTo(403);
  }

  /** A proxy passes on its client's Content-Type, and takes an answer of gRPC for an allowance. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "application/grpc",
        "application/grpc+proto",
        "application/grpc-web",
        "application/grpc-web-text"
      })
  void contentTypeOfGrpc_changesNoAnswerOfOtherPaths(String type) {
    String path = "/v1/forward-auth?limit=ApiCallsPerKey&cost=100&id=k";
    assertThat(sendTyped(type, "GET", path, Tokens.fresh())).isEqualTo(401);
    assertThat(sendTyped(type, "POST", "/v1/forward-auth/x", Tokens.fresh())).isEqualTo(401);
    assertThat(
            IntStream.range(0, 100)
                .map(i -> sendTyped(type, "POST", path, DECIDE))
                .anyMatch(status -> status == 429))
        .isTrue();
    assertThat(sendTyped(type, "POST", "/v1/spend", Tokens.fresh())).isEqualTo(401);
    assertThat(sendTyped(type, "POST", "/json", Tokens.fresh())).isEqualTo(401);
    assertThat(sendTyped(type, "GET", "/metrics", Tokens.fresh())).isEqualTo(401);
  }

  private int sendTyped(String type, String method, String path, String token) {
    HttpRequest request =
        HttpRequest.newBuilder(uri(path))
            .header("Content-Type", type)
            .header("Sluice-Token", token)
            .method(method, BodyPublishers.noBody())
            .build();
    return client.sendAsync(request, BodyHandlers.ofString()).join().statusCode();
  }

  @Test
  void forwardAuth_deny403_holdsForRefusalsOfTheTokenToo() throws Exception {
    String path = "/v1/forward-auth?limit=ApiCallsPerKey&id=k&deny=403";
    assertThat(send("GET", path, "Sluice-Token", SLOW, "").statusCode()).isEqualTo(200);
    assertThat(send("GET", path, "Sluice-Token", SLOW, "").statusCode()).isEqualTo(200);
    HttpResponse<String> slow = send("GET", path, "Sluice-Token", SLOW, "");
    assertThat(slow.statusCode()).isEqualTo(403);
    assertThat(slow.headers().firstValue("X-RateLimit-Status")).hasValue("429");
    assertThat(slow.headers().firstValueAsLong("Retry-After").orElse(0)).isGreaterThan(3000);
    HttpResponse<String> unknown;
    do {
      unknown = send("GET", path, "Sluice-Token", Tokens.fresh(), "");
    } while (unknown.statusCode() == 401);
    assertThat(unknown.statusCode()).isEqualTo(403);
    assertThat(unknown.headers().firstValue("X-RateLimit-Status")).hasValue("429");
  }

  @Test
  void tokenWithABoundOnItsRequests_isToldWhenToComeBack() throws Exception {
    assertThat(send("POST", "/v1/spend", SLOW, SPEND).statusCode()).isEqualTo(200);
    assertThat(send("POST", "/v1/spend", SLOW, SPEND).statusCode()).isEqualTo(200);
    HttpResponse<String> refused = send("POST", "/v1/spend", SLOW, SPEND);
    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValueAsLong("Retry-After").orElse(0)).isGreaterThan(3000);
  }

  @Test
  void pathThatNeedsNoRole_countsForTheToken_butHealthDoesNot() throws Exception {
    assertThat(send("GET", "/openapi.json", SLOW, "").statusCode()).isEqualTo(200);
    assertThat(send("GET", "/nowhere", SLOW, "").statusCode()).isEqualTo(404);
    assertThat(send("GET", "/openapi.json", SLOW, "").statusCode()).isEqualTo(429);
    assertThat(send("GET", "/nowhere", SLOW, "").statusCode()).isEqualTo(429);
    assertThat(send("GET", "/healthz", SLOW, "").statusCode()).isEqualTo(200);
  }

  @Test
  void unknownTokens_areNoted_thenThrottledPerAddress_andAGoodOneStillPasses() throws Exception {
    int refused = 0;
    long start = System.nanoTime();
    while (send("POST", "/v1/spend", Tokens.fresh(), SPEND).statusCode() == 401) {
      refused++;
    }
    long seconds = Duration.ofNanos(System.nanoTime() - start).toSeconds();
    assertThat(refused).as("30 a minute").isBetween(30, (int) (30 + seconds / 2 + 1));
    assertThat(send("POST", "/v1/spend", DECIDE, SPEND).statusCode()).isEqualTo(200);
    int noted = refused;
    await()
        .untilAsserted(
            () ->
                assertThat(Files.readAllLines(audit))
                    .hasSize(noted)
                    .allMatch(line -> line.contains("\"what\":\"authenticate\"")));
    assertThat(send("GET", "/metrics", READ, "").body())
        .contains("sluice_access_refused_total{reason=\"throttled\"} 1.0");
  }

  @Test
  void resetAndRefund_areNoted_withWhoDidThem() throws Exception {
    assertThat(send("POST", "/v1/spend", ADMIN, SPEND).statusCode()).isEqualTo(200);
    assertThat(send("POST", "/v1/refund", ADMIN, SPEND).statusCode()).isEqualTo(200);
    assertThat(send("POST", "/v1/reset", ADMIN, SPEND).statusCode()).isEqualTo(200);
    await().untilAsserted(() -> assertThat(Files.readAllLines(audit)).hasSize(2));
    assertThat(Files.readAllLines(audit).get(0))
        .contains("\"who\":\"ops\",\"by\":\"token\",\"address\":\"127.0.0.1\"")
        .contains("\"what\":\"refund\",\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"")
        .contains("\"result\":\"done\"");
  }

  @Test
  void changedFile_holdsForTheNextRequest_andABadOneChangesNothing() throws Exception {
    String before = Files.readString(tokens);
    Files.writeString(tokens, before.replace("name: shop", "name: shop\n    rolls: [admin]"));
    await()
        .untilAsserted(
            () -> assertThat(Files.readString(audit)).contains("\"result\":\"refused\"", "rolls"));
    assertThat(send("POST", "/v1/spend", DECIDE, SPEND).statusCode()).isEqualTo(200);
    Files.writeString(tokens, before.replace(Tokens.sha256(DECIDE), Tokens.sha256("other")));
    await()
        .untilAsserted(
            () -> assertThat(send("POST", "/v1/spend", DECIDE, SPEND).statusCode()).isEqualTo(401));
  }

  @Test
  void mistakeInTheTokens_isOneOfTheGeneration_andReloadNamesIt() throws Exception {
    String before = Files.readString(tokens);
    HttpResponse<String> good = send("POST", "/v1/admin/reload", ADMIN, "");
    assertThat(good.statusCode()).isEqualTo(200);
    Files.writeString(tokens, before.replace("roles: [read]", "roles: [reed]"));
    HttpResponse<String> refused = send("POST", "/v1/admin/reload", ADMIN, "");
    assertThat(refused.statusCode()).isEqualTo(409);
    String mistake =
        "tokens.yml:8:13: found the role \\\"reed\\\", expected one of decide, read, admin; did you mean \\\"read\\\"?";
    assertThat(refused.body()).contains(mistake);
    assertThat(send("GET", "/v1/limits", ADMIN, "").body()).contains(mistake);
    assertThat(send("GET", "/metrics", ADMIN, "").body())
        .contains("sluice_generation_mistakes{files=\"tokens\"} 1.0");
    assertThat(send("GET", "/metrics", READ, "").statusCode()).as("as before").isEqualTo(200);
    assertThat(send("GET", "/v1/limits", READ, "").body())
        .as("a mistake may name limits beyond the scope")
        .doesNotContain("tokens.yml")
        .contains("1 mistake; ");
    await()
        .untilAsserted(
            () ->
                assertThat(Files.readString(audit))
                    .contains("\"who\":\"ops\"", "\"what\":\"reload\"", "\"result\":\"refused\"")
                    .contains("\"what\":\"reload of the files\"", "tokens.yml"));
  }

  @Test
  void scopedToken_learnsNoNameBeyondItsScope_neitherAsASuggestionNorAsAMetric() throws Exception {
    String near = SPEND.replace("ApiCallsPerKey", "ApiCallsPerKee");
    assertThat(send("POST", "/v1/spend", ADMIN, near).body())
        .contains("did you mean \\\"ApiCallsPerKey\\\"?");
    HttpResponse<String> misspelled = send("POST", "/v1/spend", DECIDE, near);
    assertThat(misspelled.statusCode()).isEqualTo(404);
    assertThat(misspelled.body()).contains("ApiCallsPerKee").doesNotContain("did you mean");
    for (String path :
        new String[] {"/v1/limits/ApiCallsPerKee", "/v1/admin/overrides/ApiCallsPerKee/k"}) {
      assertThat(send("GET", path, ADMIN, "").body()).contains("did you mean");
      assertThat(send("GET", path, READ, "").body()).doesNotContain("did you mean");
    }
    HttpResponse<String> unknown =
        send("POST", "/v1/spend", DECIDE, SPEND.replace("ApiCallsPerKey", "Nothing"));
    assertThat(unknown.statusCode()).as("as for one that is there").isEqualTo(403);
    String forward = "/v1/forward-auth?limit=Nothing&id=k";
    assertThat(send("GET", forward, "Sluice-Token", DECIDE, "").statusCode()).isEqualTo(403);

    String other = "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.7\"}";
    assertThat(send("POST", "/v1/spend", ADMIN, other).statusCode()).isEqualTo(200);
    assertThat(send("POST", "/v1/spend", ADMIN, SPEND).statusCode()).isEqualTo(200);
    assertThat(send("GET", "/metrics", ADMIN, "").body()).contains("LoginsPerIPAddress");
    assertThat(send("GET", "/metrics", READ, "").body())
        .contains("limit=\"ApiCallsPerKey\"", "sluice_build_info")
        .doesNotContain("LoginsPerIPAddress");
  }

  @Test
  void refusalsForARoleOrAScope_areCounted_andTheFirstTenAMinuteNoted() throws Exception {
    for (int i = 0; i < 15; i++) {
      assertThat(send("POST", "/v1/reset", DECIDE, SPEND).statusCode()).isEqualTo(403);
    }
    String other = SPEND.replace("ApiCallsPerKey", "LoginsPerIPAddress");
    assertThat(send("POST", "/v1/spend", DECIDE, other).statusCode()).isEqualTo(403);
    assertThat(send("GET", "/metrics", READ, "").body())
        .contains("sluice_access_refused_total{reason=\"forbidden\"} 16.0");
    assertThat(send("POST", "/v1/reset", ADMIN, SPEND).statusCode()).isEqualTo(200);
    await().untilAsserted(() -> assertThat(Files.readString(audit)).contains("\"who\":\"ops\""));
    assertThat(Files.readAllLines(audit).stream().filter(line -> line.contains("refused")))
        .hasSizeBetween(10, 12)
        .allMatch(line -> line.contains("\"who\":\"shop\",\"by\":\"token\""))
        .allMatch(line -> line.contains("\"what\":\"reset\""))
        .allMatch(line -> line.contains("\"door\":\"http\"") && line.contains("no role admin"));
  }

  @Test
  void actsThatAreRefused_leaveALineEach_withTheBucket() throws Exception {
    String other = SPEND.replace("ApiCallsPerKey", "LoginsPerIPAddress");
    String unknown = SPEND.replace("ApiCallsPerKey", "Nothing");
    String override = "/v1/admin/overrides/ApiCallsPerKey/a%2Fb";
    List<Integer> statuses = new ArrayList<>();
    statuses.add(send("POST", "/v1/reset", null, SPEND).statusCode());
    statuses.add(send("POST", "/v1/refund", Tokens.fresh(), SPEND).statusCode());
    statuses.add(send("PUT", override, null, "{}").statusCode());
    statuses.add(send("PUT", override, DECIDE, "{}").statusCode());
    statuses.add(send("POST", "/v1/admin/reload", READ, "").statusCode());
    statuses.add(send("POST", "/v1/reset", HELPER, other).statusCode());
    statuses.add(send("POST", "/v1/reset", ADMIN, unknown).statusCode());
    statuses.add(send("POST", "/v1/refund", ADMIN, "{").statusCode());
    statuses.add(send("PUT", override, ADMIN, "{}").statusCode());
    statuses.add(send("DELETE", "/v1/admin/penalties/Nothing/k", ADMIN, "").statusCode());
    statuses.add(send("DELETE", "/v1/admin/penalties/ApiCallsPerKey/k", HELPER, "").statusCode());
    statuses.add(
        send("DELETE", "/v1/admin/penalties/LoginsPerIPAddress/k", HELPER, "").statusCode());
    statuses.add(send("POST", "/v1/admin/reload?now=yes", ADMIN, "").statusCode());
    String byQuery = "/v1/admin/overrides/ApiCallsPerKey?id=a%2Fb";
    statuses.add(send("PUT", byQuery, null, "{}").statusCode());
    assertThat(statuses)
        .containsExactly(401, 401, 401, 403, 403, 403, 404, 400, 400, 404, 404, 403, 400, 401);

    await().untilAsserted(() -> assertThat(Files.readAllLines(audit)).hasSize(statuses.size()));
    List<String> lines = Files.readAllLines(audit);
    String set = "\"what\":\"set override\",\"limit\":\"ApiCallsPerKey\",\"id\":\"a/b\"";
    assertThat(lines.get(0)).contains("\"who\":\"unknown\"", "\"what\":\"reset\"", "missing");
    assertThat(lines.get(1)).contains("\"who\":\"unknown\"", "\"what\":\"refund\"", "not known");
    assertThat(lines.get(2)).contains("\"who\":\"unknown\"", set, "missing");
    assertThat(lines.get(3)).contains("\"who\":\"shop\"", set, "no role admin");
    assertThat(lines.get(4)).contains("\"who\":\"prometheus\"", "\"what\":\"reload\"");
    assertThat(lines.get(5))
        .contains("\"who\":\"helper\"", "\"what\":\"reset\",\"limit\":\"LoginsPerIPAddress\"")
        .contains("\"id\":\"k\"", "may not use the limit");
    assertThat(lines.get(6))
        .contains("\"who\":\"ops\"", "\"what\":\"reset\",\"limit\":\"Nothing\",\"id\":\"k\"");
    assertThat(lines.get(7)).contains("\"who\":\"ops\"", "\"what\":\"refund\"");
    assertThat(lines.get(8)).contains("\"who\":\"ops\"", set);
    assertThat(lines.get(9))
        .contains("\"what\":\"remove penalty\",\"limit\":\"Nothing\",\"id\":\"k\"");
    assertThat(lines.get(10)).contains("\"who\":\"helper\"", "\"result\":\"not there\"");
    assertThat(lines.get(11))
        .contains("\"what\":\"remove penalty\",\"limit\":\"LoginsPerIPAddress\",\"id\":\"k\"");
    assertThat(lines.get(12)).contains("\"who\":\"ops\"", "\"what\":\"reload\"");
    assertThat(lines.get(13)).contains("\"who\":\"unknown\"", set, "missing");
    lines.remove(10);
    assertThat(lines).allMatch(line -> line.contains("\"result\":\"refused\""));
  }

  @Test
  void actsWithoutAToken_areNotedTenTimesAMinuteForAnAddress() throws Exception {
    for (int i = 0; i < 15; i++) {
      assertThat(send("POST", "/v1/reset", null, SPEND).statusCode()).isEqualTo(401);
    }
    assertThat(send("POST", "/v1/reset", ADMIN, SPEND).statusCode()).isEqualTo(200);
    await().untilAsserted(() -> assertThat(Files.readString(audit)).contains("\"who\":\"ops\""));
    assertThat(Files.readAllLines(audit)).hasSizeBetween(11, 13);
  }

  /** Else anybody could push an administrator's lines out of the log's queue. */
  @Test
  void mistakesInActsWithoutTheRole_areNotedTenTimesAMinute() throws Exception {
    String mistakes = "{\"op\":\"reset\",\"transactions\":[{},{}]}\n";
    String[] lines = stream(DECIDE, mistakes.repeat(40));
    assertThat(lines).hasSize(41).filteredOn(line -> line.contains("\"status\":403")).hasSize(40);
    assertThat(send("POST", "/v1/reset", ADMIN, SPEND).statusCode()).isEqualTo(200);
    await().untilAsserted(() -> assertThat(Files.readString(audit)).contains("\"who\":\"ops\""));
    assertThat(Files.readAllLines(audit).stream().filter(line -> line.contains("refused")))
        .as("two buckets for each of ten lines, and of those that a slow machine adds")
        .hasSizeBetween(20, 24);
  }

  private String[] stream(String token, String body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(uri("/v1/decisions"))
            .header("Content-Type", "application/x-ndjson")
            .header("Authorization", "Bearer " + token)
            .POST(BodyPublishers.ofString(body))
            .build();
    return client.send(request, BodyHandlers.ofString()).body().split("\n", -1);
  }

  @Test
  void lineOfAStream_countsAsARequest() throws Exception {
    String[] lines =
        stream(SLOW, "{\"op\":\"spend\",\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}\n".repeat(3));
    assertThat(lines[0]).contains("\"allowed\":true");
    assertThat(lines[1]).contains("\"allowed\":true");
    assertThat(lines[2]).contains("\"status\":429");
  }

  @Test
  void unknownToken_isRefusedBeforeTheBodyArrives() throws IOException {
    try (Socket socket = new Socket()) {
      socket.connect(service.addresses().get(0));
      socket.setSoTimeout(60_000);
      socket
          .getOutputStream()
          .write(
              "POST /v1/spend HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
                  .getBytes(StandardCharsets.US_ASCII));
      byte[] start = socket.getInputStream().readNBytes("HTTP/1.1 401".length());
      assertThat(new String(start, StandardCharsets.US_ASCII)).isEqualTo("HTTP/1.1 401");
    }
  }
}
