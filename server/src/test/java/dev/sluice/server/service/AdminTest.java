// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.Aside;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.yaml.LimitFiles;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Overrides and penalties that are set on a running server. */
@Tag("slow")
class AdminTest {

  private static final String OVERRIDES = "/v1/admin/overrides/ApiCallsPerKey/";
  private static final String PENALTIES = "/v1/admin/penalties/ApiCallsPerKey/";

  private static final String LIMITS_WITH_OLD =
      """
      names:
        - {number: 104, name: ApiCallsPerKey, id: string}
        - {number: 900, name: Old, id: string}
      ApiCallsPerKey: {burst: 10, count: 1, period: 1m}
      Old: {burst: 10, count: 1, period: 1m}
      """;

  private final HttpClient client = HttpClient.newHttpClient();

  @TempDir private Path folder;
  private Path limits;
  private Path kept;
  private Path audit;
  private Service service;

  @BeforeEach
  void start() throws IOException {
    limits = folder.resolve("limits.yml");
    kept = folder.resolve("kept.yml");
    audit = folder.resolve("audit.jsonl");
    Files.writeString(limits, "ApiCallsPerKey: {burst: 10, count: 1, period: 1m}\n");
    Files.writeString(
        folder.resolve("overrides.yml"),
        "- ApiCallsPerKey: {burst: 7, count: 1, period: 1h, ids: [deployed]}\n");
    service = service();
  }

  private Service service() {
    return Service.start(
        new ServerConfig(
            Configs.onPort(0),
            Sources.of(new ServerConfig.Files(limits, folder.resolve("overrides.yml"), null, null)),
            Configs.inMemory(),
            new ServerConfig.Control(null, audit.toString(), kept, null),
            Telemetry.NONE));
  }

  @AfterEach
  void stop() {
    close(service);
  }

  /** Waits: what still runs would write into a folder that is being deleted. */
  private static void close(Service one) {
    Aside.end(one).close();
  }

  private HttpResponse<String> send(String method, String path, @Nullable String body)
      throws Exception {
    return send(service, method, path, body);
  }

  private HttpResponse<String> send(Service to, String method, String path, @Nullable String body)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create("http://" + HostPort.format(to.addresses().get(0)) + path))
            .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
    if (body != null) {
      request.header("Content-Type", "application/json");
    }
    return client.send(request.build(), BodyHandlers.ofString());
  }

  private String spend(String id) throws Exception {
    return send("POST", "/v1/spend", "{\"limit\":\"ApiCallsPerKey\",\"id\":\"%s\"}".formatted(id))
        .body();
  }

  /** It is kept, and would be in force for nobody that the rules are for. */
  @Test
  void idThatNoRuleAsksFor_isWarnedOf_withTheOneThatIsAskedFor() throws Exception {
    Path byIp =
        Files.writeString(
            folder.resolve("by-ip.yml"),
            """
            names: [{number: 1001, name: PerIp, id: ipAddress}]
            PerIp: {burst: 3, count: 3, period: 1h}
            """);
    Path rules =
        Files.writeString(
            folder.resolve("rules.yml"),
            "rules: [{entries: [remote_address], limit: PerIp, id: \"{remote_address}\"}]\n");
    Service own =
        Service.start(
            new ServerConfig(
                Configs.onPort(0),
                Sources.of(new ServerConfig.Files(byIp, null, null, rules)),
                Configs.inMemory(),
                new ServerConfig.Control(null, null, null, null),
                Telemetry.NONE));
    try {
      String warning =
          "\"warnings\":[\"no rule uses the id \\\"2001:db8:7:7::5\\\" of PerIp: the rule on line 1"
              + " uses the id \\\"2001:db8:7:7::\\\" instead\"]";
      String under = "/v1/admin/penalties/PerIp/";
      String hour = "{\"for\":\"1h\"}";
      assertThat(send(own, "PUT", under + "2001:db8:7:7::5", hour).body()).contains(warning);
      assertThat(send(own, "PUT", under + "2001:db8:7:7::", hour).body())
          .doesNotContain("warnings");
      assertThat(send(own, "PUT", under + "192.0.2.7", hour).body()).doesNotContain("warnings");
      String range = "198.51.100.0%2F24";
      assertThat(send(own, "PUT", under + range, hour).body())
          .contains(
              "\"field\":\"id\"",
              "found a range of addresses (198.51.100.0/24), expected one address");
      assertThat(send(own, "GET", under + range, null).statusCode()).isEqualTo(404);
      String quota = "{\"burst\":9,\"count\":9,\"period\":\"1h\"}";
      assertThat(send(own, "PUT", "/v1/admin/overrides/PerIp/" + range, quota).body())
          .contains("\"warnings\":[\"an override applies to one id, here 198.51.100.0, and not");
      assertThat(send(own, "PUT", "/v1/admin/overrides/PerIp/2001:db8:7:7::5", quota).body())
          .contains(warning);
      assertThat(
              send(
                      own,
                      "POST",
                      "/json",
                      "{\"domain\":\"d\",\"descriptors\":[{\"entries\":[{\"key\":\"remote_address\",\"value\":\"2001:db8:7:7::9\"}]}]}")
                  .statusCode())
          .as("the penalty on the group holds for each of its addresses")
          .isEqualTo(429);
    } finally {
      close(own);
    }
  }

  @Test
  void override_isInForceAtOnce_keptAndLinted_andRemoved() throws Exception {
    String body = "{\"burst\":500,\"count\":500,\"period\":\"1m\",\"comment\":\"Ticket 17\"}";
    HttpResponse<String> set = send("PUT", OVERRIDES + "k", body);
    assertThat(set.statusCode()).isEqualTo(200);
    assertThat(set.body())
        .contains("\"burst\":500", "\"comment\":\"Ticket 17\"", "\"keptIn\":\"file\"");
    assertThat(spend("k")).contains("\"remaining\":499");
    assertThat(Files.readString(kept)).contains("burst: 500", "id: \"k\"", "\"Ticket 17\"");
    assertThat(LimitFiles.builder().defaults(limits).overrides(kept).build().lint()).isEmpty();
    assertThat(send("GET", OVERRIDES + "k", null).body()).contains("\"burst\":500");

    assertThat(send("DELETE", OVERRIDES + "k", null).body()).isEqualTo("{\"removed\":true}");
    assertThat(spend("k")).contains("\"burst\":10");
    assertThat(send("GET", OVERRIDES + "k", null).statusCode()).isEqualTo(404);
    assertThat(send("DELETE", OVERRIDES + "k", null).statusCode()).isEqualTo(404);
  }

  @Test
  void override_keepsItsAuthorAndItsEnd_untilAnotherEndIsGiven() throws Exception {
    String quota = "\"burst\":500,\"count\":500,\"period\":\"1m\"";
    String ends = "{" + quota + ",\"until\":\"2200-03-01\",\"author\":\"ann\"}";
    assertThat(send("PUT", OVERRIDES + "k", ends).body())
        .contains("\"until\":\"2200-03-01T00:00:00Z\"", "\"author\":\"ann\"");
    assertThat(Files.readString(kept)).contains("until: 2200-03-01T00:00:00Z", "author: \"ann\"");
    assertThat(send("PUT", OVERRIDES + "k", "{" + quota + ",\"author\":\"bob\"}").body())
        .contains("\"until\":\"2200-03-01T00:00:00Z\"", "\"author\":\"bob\"");
    assertThat(audited(1))
        .contains("; before: burst 500, 500 in 1m, until 2200-03-01T00:00:00Z, by ann\"");
    assertThat(send("PUT", OVERRIDES + "k", "{" + quota + ",\"until\":\"never\"}").body())
        .doesNotContain("until");
    assertThat(send("PUT", OVERRIDES + "k", "{" + quota + ",\"until\":\"2001-01-01\"}").body())
        .contains("\"field\":\"until\"", "expected a time in the future");
    assertThat(send("PUT", OVERRIDES + "k", "{" + quota + ",\"until\":\"March\"}").body())
        .contains("expected a date such as 2027-03-01");
    assertThat(send("DELETE", OVERRIDES + "k", null).statusCode()).isEqualTo(200);
    assertThat(audited(5)).contains("\"detail\":\"before: burst 500,");
  }

  /** Waits for a line of the audit log, which the server writes after it has answered. */
  private String audited(int line) {
    return await().until(() -> Files.readAllLines(audit), lines -> lines.size() > line).get(line);
  }

  @Test
  void overrideOfSeveralQuotas_isReplacedByOne_andTheAuditNamesEach() throws Exception {
    Files.writeString(
        folder.resolve("overrides.yml"),
        "- ApiCallsPerKey: {quotas: [9 per 1h, 3 per 1s], ids: [deployed]}\n");
    close(service);
    service = service();
    String body = "{\"burst\":500,\"count\":500,\"period\":\"1s\"}";
    assertThat(send("PUT", OVERRIDES + "deployed?force=true", body).statusCode()).isEqualTo(200);
    assertThat(audited(0)).contains("; before: burst 9, 9 in 1h and burst 3, 3 in 1s\"");
  }

  /** Certificates for www.example.com are charged to example.com. */
  @Test
  void nameBelowADomain_standsForTheDomain_unlessItHasItsOwnOverride() throws Exception {
    Path deployed = folder.resolve("overrides.yml");
    String domain = "CertificatesPerDomain";
    Files.writeString(
        limits, Files.readString(limits) + domain + ": {burst: 3, count: 3, period: 1h}\n");
    Files.writeString(
        deployed,
        "%s- %s: {burst: 9, count: 9, period: 1h, ids: [www.example.com]}\n"
            .formatted(Files.readString(deployed), domain));
    assertThat(service.reload()).isTrue();
    String overrides = "/v1/admin/overrides/" + domain + "/";
    String body = "{\"burst\":8,\"count\":8,\"period\":\"1h\"}";
    assertThat(send("PUT", overrides + "www.example.com", body).body())
        .contains("\"id\":\"example.com\"");
    assertThat(send("DELETE", overrides + "www.example.com", null).body())
        .contains("deployed with the limit files");
    assertThat(send("GET", overrides + "ftp.example.com", null).body()).contains("\"burst\":8");
    assertThat(
            send("PUT", "/v1/admin/penalties/" + domain + "/www.example.com", "{\"for\":\"1h\"}")
                .body())
        .contains("\"id\":\"example.com\"");
  }

  @Test
  void overrideOfAnAddressInsteadOfADomain_isInForce_andFoundByItsCanonicalId() throws Exception {
    String domain = "CertificatesPerDomain";
    Files.writeString(
        limits, Files.readString(limits) + domain + ": {burst: 3, count: 3, period: 1h}\n");
    assertThat(service.reload()).isTrue();
    String overrides = "/v1/admin/overrides/" + domain + "/";
    String body = "{\"burst\":8,\"count\":8,\"period\":\"1h\"}";
    assertThat(send("PUT", overrides + "10.0.0.5", body).body())
        .contains("\"id\":\"10.0.0.5/32\"")
        .doesNotContain("warnings");
    assertThat(send("GET", overrides + "10.0.0.5%2F32", null).body()).contains("\"burst\":8");
  }

  /** A script with an old number took away what an operator had granted since. */
  @Test
  void overrideThatWouldBecomeLower_isRefused_untilItIsForced_andKeepsItsComment()
      throws Exception {
    String high = "{\"burst\":500,\"count\":500,\"period\":\"1m\",\"comment\":\"Ticket 17\"}";
    String low = "{\"burst\":500,\"count\":499,\"period\":\"1m\"}";
    assertThat(send("PUT", OVERRIDES + "k", high).statusCode()).isEqualTo(200);

    HttpResponse<String> refused = send("PUT", OVERRIDES + "k", low);
    assertThat(refused.statusCode()).isEqualTo(409);
    assertThat(refused.body()).contains("lowered-override", "burst 500, 500 per", "force=true");
    assertThat(send("PUT", OVERRIDES + "k?force=maybe", low).statusCode()).isEqualTo(400);
    assertThat(send("GET", OVERRIDES + "k", null).body()).contains("\"count\":500");

    HttpResponse<String> forced = send("PUT", OVERRIDES + "k?force=true", low);
    assertThat(forced.statusCode()).isEqualTo(200);
    assertThat(forced.body()).contains("\"count\":499", "\"comment\":\"Ticket 17\"");
  }

  /** A path cannot hold each of them: "..", in any spelling, is refused before it is read. */
  @Test
  void idInTheQuery_isAnyId_andIsNoted() throws Exception {
    String at = PENALTIES.substring(0, PENALTIES.length() - 1) + "?id=";
    for (String id : List.of("..", "a/../../etc", "\\\\..\\\\", "a b+c", "plain")) {
      String query = at + URLEncoder.encode(id.replace("\\\\", "\\"), StandardCharsets.UTF_8);
      assertThat(send("PUT", query, "{\"for\":\"1h\"}").body()).contains("\"id\":\"" + id + "\"");
      assertThat(spend(id)).contains("\"allowed\":false");
      assertThat(send("GET", query, null).body()).contains("\"id\":\"" + id + "\"");
      assertThat(send("DELETE", query, null).body()).isEqualTo("{\"removed\":true}");
      assertThat(spend(id)).contains("\"allowed\":true");
    }
    await()
        .untilAsserted(
            () ->
                assertThat(Files.readString(audit))
                    .contains("\"id\":\"a/../../etc\",\"result\":\"done\""));
    for (String wrong : List.of("..&id=x", "%FF", "..&x=y", "")) {
      assertThat(send("PUT", at + wrong, "{\"for\":\"1h\"}").statusCode()).as(wrong).isEqualTo(400);
    }
    assertThat(send("GET", PENALTIES + "k?id=k", null).statusCode()).isEqualTo(400);
    assertThat(send("GET", at.replace("?id=", ""), null).statusCode()).isEqualTo(404);
  }

  /** It stays in the file for a while: a server whose clock is behind may still go by it. */
  @Test
  void penaltyThatHasEnded_isNotListed() throws Exception {
    assertThat(send("PUT", PENALTIES + "long", "{\"for\":\"1h\"}").statusCode()).isEqualTo(200);
    assertThat(send("PUT", PENALTIES + "k", "{\"for\":\"1s\"}").statusCode()).isEqualTo(200);
    await()
        .untilAsserted(
            () -> assertThat(send("GET", PENALTIES + "k", null).statusCode()).isEqualTo(404));
    assertThat(send("GET", "/v1/admin/penalties", null).body())
        .contains("\"id\":\"long\"")
        .doesNotContain("\"id\":\"k\"");
    assertThat(Files.readString(folder.resolve("kept.yml.penalties"))).contains("id: \"k\"");
  }

  @Test
  void override_outlivesARestart_andAReloadOfTheLimits() throws Exception {
    String body = "{\"burst\":500,\"count\":500,\"period\":\"1m\"}";
    assertThat(send("PUT", OVERRIDES + "k", body).statusCode()).isEqualTo(200);
    Files.writeString(limits, "ApiCallsPerKey: {burst: 11, count: 1, period: 1m}\n");
    await().untilAsserted(() -> assertThat(spend("other")).contains("\"burst\":11"));
    assertThat(spend("k")).contains("\"burst\":500");
    Service next = service();
    try {
      assertThat(send(next, "GET", OVERRIDES + "k", null).body()).contains("\"burst\":500");
    } finally {
      close(next);
    }
  }

  @Test
  void serverBesides_thatSharesTheFile_followsSoon() throws Exception {
    Service next = service();
    try {
      assertThat(send("PUT", PENALTIES + "k", "{\"for\":\"1h\"}").statusCode()).isEqualTo(200);
      await()
          .untilAsserted(
              () ->
                  assertThat(send(next, "GET", PENALTIES + "k", null).statusCode()).isEqualTo(200));
    } finally {
      close(next);
    }
  }

  @Test
  void overrideWithMistakes_isRefused_inTheWordsOfTheFiles() throws Exception {
    assertThat(send("PUT", OVERRIDES + "k", "{\"burst\":0,\"count\":0,\"period\":\"1m\"}").body())
        .contains(
            "\"field\":\"burst\"",
            "(and 1 more mistake: see errors)",
            "{\"detail\":\"found 0, expected a whole number > 0\",\"field\":\"burst\"}",
            "{\"detail\":\"found 0, expected a whole number > 0\",\"field\":\"count\"}");
    assertThat(
            send(
                    "PUT",
                    OVERRIDES + "k",
                    "{\"burst\":0,\"count\":-5,\"period\":\"1 m\",\"foo\":3,\"comment\":[1]}")
                .body())
        .contains("\"field\":\"foo\"", "(and 4 more mistakes: see errors)")
        .contains("\"field\":\"burst\"", "\"field\":\"count\"", "\"field\":\"period\"")
        .contains("{\"detail\":\"found a value of the wrong type");
    assertThat(
            send(
                    "PUT",
                    OVERRIDES + "k",
                    "{\"burst\":9223372036854775808,\"count\":1,\"period\":\"1m\"}")
                .body())
        .contains(
            "found a number beyond 64 bits, expected a whole number of at most 9223372036854775807")
        .contains("\"field\":\"burst\"");
    assertThat(send("PUT", OVERRIDES + "k", "{\"unlimited\":true}").body())
        .contains("found unlimited in an override, expected burst, count and period");
    assertThat(
            send("PUT", PENALTIES + "k", "{\"until\":\"soon\",\"owe\":0,\"coment\":\"x\"}").body())
        .contains("found an unknown field", "found 2 of until, for and owe")
        .contains("expected a date such as", "expected 1 or more tokens");
    assertThat(send("PUT", OVERRIDES + "k", "{\"burst\":1,\"count\":1,\"period\":\"soon\"}").body())
        .contains("\"field\":\"period\"", "soon");
    assertThat(send("PUT", OVERRIDES + "k", "{\"burst\":1,\"cuont\":1,\"period\":\"1m\"}").body())
        .contains("did you mean", "count");
    assertThat(send("PUT", OVERRIDES + "k", "{\"unlimited\":\"true\"}").body())
        .contains("found unlimited in an override");
    assertThat(send("PUT", OVERRIDES + "k", "[]").statusCode()).isEqualTo(400);
    HttpResponse<String> unknown =
        send("PUT", "/v1/admin/overrides/ApiCallsPerKy/k", "{\"burst\":1}");
    assertThat(unknown.statusCode()).isEqualTo(404);
    assertThat(unknown.body()).contains("ApiCallsPerKey");
    String address = "/v1/admin/overrides/LoginsPerIPAddress/somewhere";
    assertThat(send("PUT", address, "{\"burst\":1,\"count\":1,\"period\":\"1m\"}").statusCode())
        .isEqualTo(400);
    assertThat(send("POST", OVERRIDES + "k", "{}").statusCode()).isEqualTo(405);
    assertThat(Files.readString(kept)).isEqualTo("[]\n");
    HttpResponse<String> deployed = send("DELETE", OVERRIDES + "deployed", null);
    assertThat(deployed.statusCode()).isEqualTo(400);
    assertThat(deployed.body()).contains("was deployed with the limit files");
  }

  @Test
  void lists_comeInPages() throws Exception {
    for (String id : new String[] {"c", "a", "b%2Fx"}) {
      String body = "{\"burst\":5,\"count\":5,\"period\":\"1m\"}";
      assertThat(send("PUT", OVERRIDES + id, body).statusCode()).isEqualTo(200);
    }
    String first = send("GET", "/v1/admin/overrides?most=2", null).body();
    assertThat(first).contains("\"id\":\"a\"", "\"id\":\"b/x\"", "\"next\":\"ApiCallsPerKey/b/x\"");
    String second =
        send("GET", "/v1/admin/overrides?most=2&after=ApiCallsPerKey%2Fb%2Fx", null).body();
    assertThat(second)
        .contains("\"id\":\"c\"", "\"id\":\"deployed\"", "\"keptIn\":\"files\"")
        .doesNotContain("next");
  }

  @Test
  void ban_holdsUntilItsEnd_onEveryWayToAsk_andIsRemoved() throws Exception {
    HttpResponse<String> set =
        send("PUT", PENALTIES + "k", "{\"for\":\"10m\",\"comment\":\"scraper\"}");
    assertThat(set.statusCode()).isEqualTo(200);
    assertThat(set.body()).contains("\"comment\":\"scraper\"", "\"keptIn\":\"file\"");
    String denied = spend("k");
    assertThat(denied)
        .contains("\"allowed\":false", "\"remaining\":0", "\"penaltyUntil\":\"")
        .contains("a penalty on this id of the limit ApiCallsPerKey is in force")
        .doesNotContain("scraper");
    assertThat(spend("other")).contains("\"allowed\":true");
    String batch =
        "{\"transactions\":[{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"},"
            + "{\"limit\":\"ApiCallsPerKey\",\"id\":\"z\"}]}";
    assertThat(send("POST", "/v1/spend", batch).body()).contains("{\"allowed\":false");
    assertThat(send("GET", "/v1/limits/ApiCallsPerKey/buckets/z", null).body())
        .contains("\"remaining\":10");
    assertThat(send("GET", "/v1/limits/ApiCallsPerKey/buckets/k", null).body())
        .contains("\"remaining\":0", "\"penaltyUntil\":\"");
    assertThat(send("GET", "/v1/forward-auth?limit=ApiCallsPerKey&id=k", null).statusCode())
        .isEqualTo(429);
    assertThat(send("GET", "/v1/admin/penalties", null).body()).contains("\"id\":\"k\"");
    assertThat(send("DELETE", PENALTIES + "k", null).statusCode()).isEqualTo(200);
    assertThat(spend("k")).contains("\"remaining\":9");
    assertThat(send("DELETE", PENALTIES + "k", null).statusCode()).isEqualTo(404);
  }

  @Test
  void bucket_namesTheOverrideThatDecides() throws Exception {
    String buckets = "/v1/limits/ApiCallsPerKey/buckets/";
    assertThat(send("GET", buckets + "deployed", null).body())
        .contains("\"overrideId\":\"deployed\"");
    assertThat(send("GET", buckets + "other", null).body()).doesNotContain("overrideId");
  }

  /** It is kept for a while, for servers whose clocks are behind. */
  @Test
  void penaltyThatIsOver_isNotThere_andIsNotRemoved() throws Exception {
    assertThat(send("PUT", PENALTIES + "k", "{\"for\":\"1ms\"}").statusCode()).isEqualTo(200);
    while (send("GET", PENALTIES + "k", null).statusCode() != 404) {
      Thread.onSpinWait();
    }
    assertThat(send("DELETE", PENALTIES + "k", null).statusCode()).isEqualTo(404);
  }

  @Test
  void reload_tellsTheWarnings_ofFilesThatAreApplied() throws Exception {
    // Only on request, so that the server does not apply the files before the reload does.
    Service own =
        Service.start(
            new ServerConfig(
                Configs.onPort(0),
                Sources.of(new ServerConfig.Files(limits, null, null, null, true)),
                Configs.inMemory(),
                new ServerConfig.Control(null, null, null, null),
                Telemetry.NONE));
    try {
      Files.writeString(limits, LIMITS_WITH_OLD);
      assertThat(send(own, "POST", "/v1/admin/reload", null).body())
          .contains("\"applied\":true", "\"mistakes\":[],\"warnings\":[]");
      Files.writeString(limits, "ApiCallsPerKey: {burst: 10, count: 1, period: 1m}\n");
      String warned =
          "\"mistakes\":[],\"warnings\":[\"" + limits + ":1:1: warning: the default of Old";
      assertThat(send(own, "POST", "/v1/admin/reload", null).body())
          .contains("\"applied\":true", warned);
      assertThat(send(own, "GET", "/v1/limits", null).body()).contains(warned);
    } finally {
      close(own);
    }
  }

  /** Two ids of the present format are one address in the new format. */
  @Test
  void dryRun_ofAFormatThatJoinsTwoIds_countsBothIds() throws Exception {
    Path calls = folder.resolve("calls.yml");
    String asText = "CallsPerId: {id: string, burst: 1, count: 1, period: 24h}\n";
    Files.writeString(calls, asText);
    Service own =
        Service.start(
            new ServerConfig(
                Configs.onPort(0),
                Sources.of(new ServerConfig.Files(calls, null, null, null, true)),
                Configs.inMemory(),
                new ServerConfig.Control(null, null, null, null),
                new Telemetry(true, null)));
    try {
      for (String id : List.of("2001:db8::1", "2001:db8::1", "2001:DB8::1", "2001:DB8::1")) {
        String spend = "{\"limit\":\"CallsPerId\",\"id\":\"%s\"}".formatted(id);
        assertThat(send(own, "POST", "/v1/spend", spend).statusCode()).isIn(200, 429);
      }
      Files.writeString(calls, asText.replace("string", "ipAddress"));
      assertThat(send(own, "POST", "/v1/admin/reload?dryRun=true", null).body())
          .contains("of 2 ids denied last, 2 are denied now, and 2 would be");
    } finally {
      close(own);
    }
  }

  @Test
  void overrideStoreWithAMistake_isToldByAReload_andCounted() throws Exception {
    String good = Files.readString(kept);
    Files.writeString(kept, "- ApiCallsPerKey: {burst: many, count: 1, period: 1m, ids: [k]}\n");
    HttpResponse<String> refused = send("POST", "/v1/admin/reload", null);
    assertThat(refused.statusCode()).isEqualTo(409);
    String told = "\"runtime\":{\"mistakes\":[\"" + kept + ":1:";
    assertThat(refused.body()).contains("\"applied\":false", "\"mistakes\":[]", told);
    assertThat(send("GET", "/v1/limits", null).body()).contains(told);
    assertThat(send("GET", "/metrics", null).body())
        .contains("sluice_generation_mistakes{files=\"runtime\"} 1.0");
    await()
        .untilAsserted(
            () ->
                assertThat(Files.readString(audit))
                    .contains(
                        "\"what\":\"reload\",\"result\":\"refused\",\"detail\":\"" + kept + ":1:"));
    Files.writeString(kept, good);
    assertThat(send("POST", "/v1/admin/reload", null).statusCode()).isEqualTo(200);
    assertThat(send("GET", "/metrics", null).body())
        .contains("sluice_generation_mistakes{files=\"runtime\"} 0.0");
  }

  @Test
  void override_getsEveryWarningOfAFile() throws Exception {
    String order = "{\"limit\":\"NewOrdersPerAccount\",\"id\":\"2\"}";
    assertThat(send("POST", "/v1/spend", order).body()).contains("\"reason\":\"disabled\"");
    String path = "/v1/admin/overrides/NewOrdersPerAccount/1";
    assertThat(send("PUT", path, "{\"burst\":1,\"count\":1,\"period\":\"1m\"}").body())
        .contains(
            "\"warnings\":[\"found overrides of NewOrdersPerAccount, which has no default: other ids"
                + " are not limited\"]");
    assertThat(send("POST", "/v1/spend", order).body()).contains("\"reason\":\"disabled\"");
    String rounded = "{\"burst\":1,\"count\":700000000,\"period\":\"1s\"}";
    assertThat(send("PUT", OVERRIDES + "k", rounded).body())
        .contains("\"warnings\":[\"found 700000000, but one token every 1 ns");
    String usual = "{\"burst\":10,\"count\":1,\"period\":\"1m\"}";
    assertThat(send("PUT", OVERRIDES + "k?force=true", usual).body())
        .contains("\"warnings\":[\"found an override that equals the default of ApiCallsPerKey\"]");
  }

  @Test
  void refundAndReset_liftNoPenalty_andTellIt() throws Exception {
    assertThat(spend("k")).contains("\"remaining\":9");
    assertThat(send("PUT", PENALTIES + "k", "{\"for\":\"10m\"}").statusCode()).isEqualTo(200);
    String bucket = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}";
    assertThat(send("POST", "/v1/refund", bucket).body())
        .contains("\"allowed\":true", "\"remaining\":0", "\"penaltyUntil\":\"")
        .doesNotContain("message");
    assertThat(send("POST", "/v1/reset", bucket).body())
        .startsWith("{\"reset\":true,\"remaining\":0,\"penaltyUntil\":\"");
    String other = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"z\"}";
    String batch = "{\"transactions\":[%s,%s]}".formatted(bucket, other);
    assertThat(send("POST", "/v1/reset", batch).body()).contains("\"penaltyUntil\":\"");
    assertThat(send("POST", "/v1/reset", other).body()).isEqualTo("{\"reset\":true}");
    assertThat(send("DELETE", PENALTIES + "k", null).statusCode()).isEqualTo(200);
    assertThat(send("POST", "/v1/reset", bucket).body()).isEqualTo("{\"reset\":true}");
    assertThat(spend("k")).contains("\"remaining\":9");
  }

  @Test
  void debt_isOwed_andGivenBackWhereThePenaltyIsRemoved() throws Exception {
    assertThat(send("PUT", PENALTIES + "k", "{\"owe\":30}").body()).contains("\"owed\":30");
    String denied = spend("k"); // 30 minutes for the debt, one for the first token
    assertThat(retryInNanos(denied)).isBetween(30L * 60_000_000_000L, 31L * 60_000_000_000L);
    assertThat(spend("k")).contains("\"allowed\":false");
    assertThat(send("DELETE", PENALTIES + "k", null).statusCode()).isEqualTo(200);
    String empty = spend("k");
    assertThat(empty).contains("\"allowed\":false", "\"remaining\":0").doesNotContain("penalty");
    assertThat(retryInNanos(empty)).isLessThanOrEqualTo(60_000_000_000L);
  }

  private static long retryInNanos(String decision) {
    return Long.parseLong(decision.replaceAll("(?s).*\"retryInNanos\":([0-9]+).*", "$1"));
  }

  @Test
  void penaltyWithMistakes_isRefused() throws Exception {
    assertThat(send("PUT", PENALTIES + "k", "{}").body())
        .contains("found 0 of until, for and owe, expected one of them");
    assertThat(send("PUT", PENALTIES + "k", "{\"for\":\"1m\",\"owe\":3}").statusCode())
        .isEqualTo(400);
    assertThat(send("PUT", PENALTIES + "k", "{\"until\":\"2001-01-01T00:00:00Z\"}").body())
        .contains("\"field\":\"until\"", "expected an instant after now");
    assertThat(send("PUT", PENALTIES + "k", "{\"until\":\"soon\"}").statusCode()).isEqualTo(400);
    assertThat(send("PUT", PENALTIES + "k", "{\"owe\":0}").statusCode()).isEqualTo(400);
    assertThat(send("PUT", PENALTIES + "k", "{\"owe\":9223372036854775807}").body())
        .contains("the debt would never end");
    assertThat(
            send("PUT", "/v1/admin/penalties/LoginsPerIPAddress/192.0.2.7", "{\"for\":\"1m\"}")
                .body())
        .contains("nothing limits this id of LoginsPerIPAddress");
  }

  @Test
  void everyChange_isNoted_alsoOneThatIsRefused() throws Exception {
    assertThat(send("PUT", PENALTIES + "k", "{\"for\":\"10m\"}").statusCode()).isEqualTo(200);
    assertThat(send("PUT", PENALTIES + "k", "{}").statusCode()).isEqualTo(400);
    assertThat(send("DELETE", OVERRIDES + "k", null).statusCode()).isEqualTo(404);
    await().untilAsserted(() -> assertThat(Files.readAllLines(audit)).hasSize(3));
    assertThat(Files.readAllLines(audit).get(0))
        .contains("\"who\":\"anybody\"", "\"what\":\"set penalty\"", "\"id\":\"k\"")
        .contains("\"result\":\"done\",\"detail\":\"until ");
    assertThat(Files.readAllLines(audit).get(1)).contains("\"result\":\"refused\"");
    assertThat(Files.readAllLines(audit).get(2)).contains("\"result\":\"not there\"");
  }

  @Test
  void entriesOfALimitThatIsGone_canBeRemoved() throws Exception {
    String body = "{\"burst\":1,\"count\":1,\"period\":\"1m\"}";
    Files.writeString(limits, LIMITS_WITH_OLD);
    assertThat(service.reload()).isTrue();
    assertThat(send("PUT", "/v1/admin/overrides/Old/a%2Fb", body).statusCode()).isEqualTo(200);
    assertThat(send("PUT", "/v1/admin/penalties/Old/k", "{\"for\":\"10m\"}").statusCode())
        .isEqualTo(200);
    Files.writeString(limits, LIMITS_WITH_OLD.replaceAll("(?m)^.*Old.*\n", ""));
    assertThat(service.reload()).isTrue();

    for (String entry : List.of("/v1/admin/overrides/Old/a%2Fb", "/v1/admin/penalties/Old/k")) {
      assertThat(send("GET", entry, null).statusCode()).as("no such limit").isEqualTo(404);
      assertThat(send("DELETE", entry, null).body()).isEqualTo("{\"removed\":true}");
      assertThat(send("DELETE", entry, null).statusCode()).isEqualTo(404);
    }
    assertThat(Files.readString(kept)).doesNotContain("Old");
    assertThat(Files.readString(folder.resolve("kept.yml.penalties"))).doesNotContain("Old");
  }

  /** A folder stands where the file would be written. */
  @Test
  void changeThatCannotBeKept_isNotedAsFailed() throws Exception {
    Files.delete(kept);
    Files.createDirectories(kept.resolve("in the way"));
    assertThat(
            send("PUT", OVERRIDES + "k", "{\"burst\":1,\"count\":1,\"period\":\"1m\"}")
                .statusCode())
        .isEqualTo(503);
    await()
        .untilAsserted(
            () ->
                assertThat(Files.readString(audit))
                    .contains("\"what\":\"set override\"", "\"result\":\"failed\""));
  }

  @Test
  void reload_isNoted_alsoWhereTheFilesAreAsTheyWere() throws Exception {
    assertThat(service.reload()).isTrue();
    assertThat(send("POST", "/v1/admin/reload", "").statusCode()).isEqualTo(200);
    await().untilAsserted(() -> assertThat(Files.readAllLines(audit)).hasSize(2));
    assertThat(Files.readAllLines(audit).get(0))
        .contains("\"who\":\"server\"", "\"what\":\"reload\",\"result\":\"done\"");
    assertThat(Files.readAllLines(audit).get(1))
        .contains("\"who\":\"anybody\"", "\"what\":\"reload\",\"result\":\"done\"");
  }
}
