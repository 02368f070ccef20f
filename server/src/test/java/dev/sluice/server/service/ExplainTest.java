// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.FailureRule;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@code POST /v1/explain} answers, and to whom. */
class ExplainTest {

  private static final String OPS = Tokens.fresh();
  private static final String READER = Tokens.fresh();
  private static final String SCOPED = Tokens.fresh();
  private static final String DECIDER = Tokens.fresh();
  private static final String BUCKET = "{\"limit\":\"PerId\",\"id\":\"ann\"}";
  private static final String REQUEST = "{\"method\":\"GET\",\"target\":\"/shop?x=1\"}";

  @TempDir private Path folder;
  private Service service;

  private Path limits() {
    return folder.resolve("limits.yml");
  }

  private void start(boolean topDenied) throws IOException {
    start(topDenied, Configs.inMemory());
  }

  private void start(boolean topDenied, Storage storage) throws IOException {
    Path limits =
        Files.writeString(
            limits(),
            """
            limits:
              PerId: {id: string, burst: 1, count: 1, period: 1h}
              Other: {id: string, burst: 1, count: 1, period: 1h}
              PerIp: {id: ipAddress, burst: 1, count: 1, period: 1h}
            overrides:
              - PerId: {burst: 9, count: 9, period: 1h, ids: [vip]}
            rules:
              - {path: /health, unlimited: true}
              - {path: /shop/**, methods: [POST], limit: PerId, id: "{path}"}
              - {path: /client, limit: PerId, id: "{ip}"}
              - {path: /named, limit: PerIp, id: "{header:x-id}"}
              - {path: /**, limit: PerId, id: all}
            """);
    Path tokens =
        Files.writeString(
            folder.resolve("tokens.yml"),
            """
            tokens:
              - {name: ops, sha256: %s, roles: [decide, read, admin]}
              - {name: reader, sha256: %s, roles: [read]}
              - {name: scoped, sha256: %s, roles: [read], limits: [Other]}
              - {name: decider, sha256: %s, roles: [decide]}
            """
                .formatted(
                    Tokens.sha256(OPS),
                    Tokens.sha256(READER),
                    Tokens.sha256(SCOPED),
                    Tokens.sha256(DECIDER)));
    service =
        Service.start(
            new ServerConfig(
                Configs.onPort(0),
                Sources.of(new ServerConfig.Files(limits, null, null, null)),
                storage,
                new Control(tokens, null, null, null),
                new Telemetry(topDenied, null)));
  }

  @AfterEach
  void stop() {
    Thread.currentThread().interrupt(); // so that nobody waits for load balancers
    service.close();
    var unused = Thread.interrupted();
  }

  private HttpResponse<String> post(String token, String path, String body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(
                URI.create("http://" + HostPort.format(service.addresses().get(0)) + path))
            .header("Content-Type", "application/json")
            .header("Authorization", "Bearer " + token)
            .method("POST", BodyPublishers.ofString(body))
            .build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
  }

  private String explain(String token, String body) throws Exception {
    return post(token, "/v1/explain", body).body();
  }

  private void deny(int times) throws Exception {
    for (int i = 0; i <= times; i++) {
      assertThat(post(OPS, "/v1/spend", BUCKET).statusCode()).isEqualTo(200);
    }
  }

  @Test
  void bucketInNeed_isExplained_withItsDenials_andNothingIsCharged() throws Exception {
    start(true);
    deny(2);
    for (int i = 0; i < 2; i++) {
      assertThat(explain(OPS, BUCKET))
          .contains("\"remaining\":0", "\"limitedBy\":\"default\"", "\"keepsDenials\":true")
          .contains("PerId of ann: 0 of 1 tokens left, a request passes in ")
          .contains("limited by the default (%s:2): 1 per 1h, burst 1".formatted(limits()))
          .contains("\"place\":\"%s:2\"".formatted(limits()))
          .containsPattern("\"denials\":\\[\\{[^]]*},\\{[^]]*}]")
          .containsPattern(
              "denied at [^\"]*Z, door http: cost 1, retry in [^\"]*, decided by store");
    }
    assertThat(explain(OPS, "{\"limit\":\"PerId\",\"id\":\"fresh\"}"))
        .contains("1 of 1 tokens left, a request passes now", "no denial is kept");
  }

  @Test
  void denialOfACostAboveTheBurst_hasNoWait() throws Exception {
    start(true);
    String descriptor = "{\"entries\":[{\"key\":\"PerId\",\"value\":\"ann\"}]}";
    String asked = "{\"domain\":\"edge\",\"hits_addend\":50,\"descriptors\":[%s]}";
    assertThat(post(OPS, "/json", asked.formatted(descriptor)).statusCode()).isEqualTo(429);
    assertThat(explain(OPS, BUCKET)).contains("cost 50, waiting does not help, decided by request");
  }

  /** Neither rule knows a bucket: 0 tokens and a second would be invented. */
  @ParameterizedTest
  @ValueSource(strings = {"allow", "deny"})
  void failureRuleThatKnowsNoBucket_tellsNoTokensAndNoWait(String rule) throws Exception {
    Storage away = Storage.in(StoreAccess.of("redis://127.0.0.1:1?timeout=50ms"));
    FailureRule onFailure = rule.equals("allow") ? FailureRule.allow() : FailureRule.deny();
    start(false, new Storage(away.store(), null, away.tokenKey(), onFailure, Map.of(), true));
    assertThat(explain(OPS, BUCKET))
        .contains("PerId of ann: the tokens left are unknown", "limited by the default")
        .contains("the store does not answer; the failure rule %s decides".formatted(rule))
        .doesNotContain("tokens left,", "passes", "\"remaining\"");
  }

  @Test
  void override_isNamed() throws Exception {
    start(false);
    assertThat(explain(READER, "{\"limit\":\"PerId\",\"id\":\"vip\"}"))
        .contains(
            "limited by the override deployed with the limits (%s:6): 9 per 1h, burst 9"
                .formatted(limits()))
        .contains("\"place\":\"%s:6\"".formatted(limits()));
  }

  @Test
  void denials_needTheRoleAdmin() throws Exception {
    start(true);
    deny(1);
    assertThat(explain(READER, BUCKET))
        .contains("the last denials are shown only to callers with the role admin")
        .doesNotContain("\"denials\"", "idInDenialLog");
  }

  @Test
  void denialsThatAreOff_areSaidToBeOff() throws Exception {
    start(false);
    deny(1);
    assertThat(explain(OPS, BUCKET))
        .contains("\"keepsDenials\":false", "start the server with --top-denied");
  }

  @Test
  void request_isExplained_withTheRulesThatDoNotMatch() throws Exception {
    start(false);
    assertThat(explain(READER, REQUEST))
        .contains("limits.yml:8: not this rule:", "limits.yml:9: not this rule:")
        .contains("limits.yml:12: this rule", "  PerId of all, cost 1");
  }

  @Test
  void request_isExplained_asFields_andNothingIsCharged() throws Exception {
    start(true);
    assertThat(explain(READER, "{\"method\":\"POST\",\"target\":\"/shop/a\"}"))
        .contains("\"readings\":[{\"method\":\"POST\",\"path\":\"/shop/a\"")
        .contains("\"passedOver\":[{\"line\":8,\"reason\":")
        .contains("\"line\":9,\"verdict\":\"charges\"")
        .contains("{\"limit\":\"PerId\",\"id\":\"/shop/a\",\"cost\":1,\"shadow\":false}");
    assertThat(explain(READER, "{\"method\":\"GET\",\"target\":\"/health\"}"))
        .contains("\"verdict\":\"unlimited\",\"charges\":[]", "limits.yml:8: this rule: unlimited");
    assertThat(explain(READER, "{\"method\":\"GET\",\"target\":\"/client\"}"))
        .contains("\"line\":10,\"problem\":", "limits.yml:10: cannot be charged: ");
    assertThat(
            explain(
                READER,
                "{\"method\":\"GET\",\"target\":\"/named\",\"headers\":{\"X-Id\":\"ann\"}}"))
        .contains("\"line\":11,\"verdict\":\"charges\",\"charges\":[],\"problem\":")
        .contains("limits.yml:11: this rule", "  PerIp, cannot be charged: ");
    assertThat(explain(OPS, "{\"limit\":\"PerId\",\"id\":\"/shop/a\"}"))
        .contains("1 of 1 tokens left");
  }

  @Test
  void callersWithoutTheRight_areRefused() throws Exception {
    start(true);
    assertThat(post(DECIDER, "/v1/explain", BUCKET).statusCode()).isEqualTo(403);
    assertThat(post(SCOPED, "/v1/explain", BUCKET).statusCode()).isIn(403, 404);
    assertThat(post(SCOPED, "/v1/explain", REQUEST).statusCode()).isEqualTo(403);
  }

  @Test
  void questionWithMistakes_is400_andSaysWhat() throws Exception {
    start(false);
    for (String body :
        new String[] {
          "{}",
          "[]",
          "{\"limit\":\"PerId\"}",
          "{\"method\":\"GET\"}",
          "{\"limit\":1,\"id\":\"x\"}",
          "{\"limt\":\"PerId\",\"id\":\"x\"}",
          "{\"method\":\"GET\",\"target\":\"/\",\"client\":\"nobody\"}",
          "{\"method\":\"GET\",\"target\":\"/\",\"headers\":{\"a\":1}}",
          "{\"method\":\"GET\",\"target\":\"/my file\"}",
          "{\"method\":\"GET\",\"target\":\"x\"}",
          "{\"method\":\"GET\",\"target\":\"/%zz\"}",
          "{\"limit\":\"PerId\",\"id\":\"x\"}{}",
          "{"
        }) {
      HttpResponse<String> answer = post(OPS, "/v1/explain", body);
      assertThat(answer.statusCode()).as(body).isEqualTo(400);
      assertThat(answer.body()).as(body).contains("\"detail\":");
    }
    assertThat(post(OPS, "/v1/explain", "{\"limit\":\"PerIt\",\"id\":\"x\"}").statusCode())
        .isEqualTo(404);
  }
}
