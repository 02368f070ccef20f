// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import static dev.sluice.testkit.web.FilterRun.LOCAL;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.web.FilterRun.FilterRules;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.ProxyHeader;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of allowed and denied requests: paths, methods, costs, and headers. */
interface RequestRules extends FilterRules {

  private static Rule perAddress() {
    return Rule.on("/page").limit("PerAddress", VaryBy.clientAddress()).build();
  }

  @Test
  default void request_overTheBurst_isRefusedUntilItsWaitIsOver() throws Exception {
    run().start(perAddress());
    for (int left = 2; left >= 0; left--) {
      HttpResponse<String> allowed = run().get("/page");
      assertThat(allowed.statusCode()).isEqualTo(200);
      assertThat(allowed.headers().map())
          .containsEntry("RateLimit", List.of("\"PerAddress\";r=" + left))
          .doesNotContainKey("Retry-After");
    }

    HttpResponse<String> refused = run().get("/page");
    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().map())
        .containsEntry("Retry-After", List.of("10"))
        .containsEntry("RateLimit-Policy", List.of("\"PerAddress\";q=3;w=30"))
        .containsEntry("RateLimit", List.of("\"PerAddress\";r=0;t=10"))
        .containsEntry("Cache-Control", List.of("no-store"))
        .containsEntry("Content-Type", List.of("application/problem+json"));
    assertThat(refused.body())
        .contains("#quota-exceeded", "\"status\":429", "\"violated-policies\":[\"PerAddress\"]")
        .doesNotContain("page");

    run().time().advance(Duration.ofSeconds(10).minusNanos(1));
    assertThat(run().get("/page").statusCode()).isEqualTo(429);
    run().time().advanceNanos(1);
    assertThat(run().get("/page").statusCode()).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource(
      nullValues = "-",
      value = {
        "IETF,    RateLimit,             '\"PerAddress\";r=0;t=10'",
        "LEGACY,  X-RateLimit-Reset,     30",
        "GITHUB,  X-RateLimit-Reset,     1700000030",
        "GITHUB,  X-RateLimit-Resource,  PerAddress",
        "DRAFT03, RateLimit-Remaining,   0",
        "NONE,    RateLimit,             -"
      })
  default void refusal_hasTheHeadersOfItsProfile_andRetryAfterInEach(
      HeaderProfile profile, String header, String value) throws Exception {
    run().start(ClientAddress.direct(), profile, perAddress());
    for (int i = 0; i < 3; i++) {
      assertThat(run().get("/page").statusCode()).isEqualTo(200);
    }

    HttpResponse<String> refused = run().get("/page");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("Retry-After")).hasValue("10");
    assertThat(refused.headers().firstValue(header).orElse(null)).isEqualTo(value);
  }

  @Test
  default void severalLimits_areAllOrNothing() throws Exception {
    run()
        .start(
            Rule.on("/page").limit("PerAddress", VaryBy.clientAddress()).build(),
            Rule.on("/**").limit("PerKey", VaryBy.header("X-Api-Key")).build());

    assertThat(run().get("/page", "X-Api-Key", "a").statusCode()).isEqualTo(200);
    assertThat(run().get("/other", "X-Api-Key", "a").statusCode()).isEqualTo(200);
    HttpResponse<String> refused = run().get("/page", "X-Api-Key", "a");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("RateLimit"))
        .hasValue("\"PerAddress\";r=2, \"PerKey\";r=0;t=30");
    assertThat(run().remaining("PerAddress", LOCAL)).isEqualTo(2);
  }

  @Test
  default void twoRulesOnOneBucket_chargeItOnce_atTheHigherCost() throws Exception {
    run()
        .start(
            Rule.on("/page").cost(2).limit("PerAddress", VaryBy.clientAddress()).build(),
            Rule.on("/**").limit("PerAddress", VaryBy.clientAddress()).build());

    assertThat(run().get("/page").statusCode()).isEqualTo(200);

    assertThat(run().remaining("PerAddress", LOCAL)).isEqualTo(1);
  }

  @Test
  default void spellingsOfALimitedPath_areNoWayAroundItsRule() throws Exception {
    run().start(Rule.on("/login").limit("PerAddress", VaryBy.clientAddress()).build());
    for (int i = 0; i < 3; i++) {
      assertThat(run().get("/login").statusCode()).isEqualTo(200);
    }

    String prefix = run().prefix();
    List<String> absolute =
        List.of("http://x" + prefix + "/login", "HTTP://x:80" + prefix + "/logi%6e");
    Stream<String> below = Spellings.ofPath().stream().map(path -> prefix + path);
    List<String> targets = Stream.concat(below, absolute.stream()).toList();
    for (String target : targets) {
      // The filter denies the request, or the server rejects the target, or the server does not
      // find the target and calls no filter.
      assertThat(run().rawTarget(target)).as(target).containsPattern("^HTTP/1.1 4(00|04|29) ");
    }
  }

  @Test
  default void spellingsOfAMethod_areNoWayAroundItsRule() throws Exception {
    run()
        .start(Rule.on("/login").methods("DELETE").limit("PerKey", VaryBy.constant("all")).build());
    for (int i = 0; i < 2; i++) {
      assertThat(run().send("DELETE", "/login", "").statusCode()).isEqualTo(200);
    }

    assertThat(run().post("/login", "").statusCode()).isEqualTo(200);
    for (String request : Spellings.ofMethod()) {
      String below = request.replace(" /", " " + run().prefix() + "/");
      assertThat(run().rawRequest(below)).as(request).containsPattern("^HTTP/1.1 4(00|29) ");
    }
  }

  @Test
  default void spellingsOfAValue_areNoWayAroundItsBucket() throws Exception {
    run()
        .start(
            ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, LOCAL),
            HeaderProfile.IETF,
            Rule.on("/cookie").limit("PerKey", VaryBy.cookie("s")).build(),
            Rule.on("/token").limit("PerKey", VaryBy.header("Authorization")).build(),
            Rule.on("/address").limit("PerAddress", VaryBy.clientAddress()).build());
    exhaust("/cookie", "Cookie", "s=e1");
    exhaust("/token", "Authorization", "Bearer t1");
    exhaust("/address", "X-Forwarded-For", "2001:db8:7:7::");

    for (String value : Spellings.ofCookie()) {
      assertRefused("/cookie", "Cookie: s=" + value);
    }
    for (String value : Spellings.ofCredentials()) {
      assertRefused("/token", "Authorization: " + value);
    }
    for (String value : Spellings.ofAddress()) {
      assertRefused("/address", "X-Forwarded-For: " + value);
    }
  }

  private void exhaust(String path, String header, String value) {
    assertThat(run().get(path, header, value).statusCode()).isEqualTo(200);
    while (run().get(path, header, value).statusCode() == 200) {
      // Each request spends a token until the bucket is empty.
    }
  }

  private void assertRefused(String path, String header) throws IOException {
    assertThat(run().raw(path, header)).as(header).containsPattern("^HTTP/1.1 4(00|29) ");
  }

  /** The rule must also apply if the application does not resolve dots in paths. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "/a/files/..",
        "/a/files/%2e%2e",
        "/a/files/x/../..",
        "/a/files/.",
        "/a/files/%2E"
      })
  default void dotsBehindAPattern_areNoWayAroundItsRule(String path) throws Exception {
    run().start(Rule.on("/a/files/**").limit("PerAddress", VaryBy.clientAddress()).build());

    // The container rejects the request, or the request is charged.
    assertThat(run().raw(path)).containsPattern("^HTTP/1.1 400 |(?i)ratelimit: \"PerAddress\"");
  }

  /**
   * An application can interpret the path as a path of alice or of bob, so the filter must charge
   * the buckets of both users.
   */
  @ParameterizedTest
  @ValueSource(strings = {"..", "%2e%2e", "..;x"})
  default void dotsBehindAVariable_areNoWayAroundItsBucket(String dots) throws Exception {
    run().start(Rule.on("/users/{user}/**").limit("PerKey", VaryBy.pathVariable("user")).build());

    for (int i = 0; i < 2; i++) {
      // The container rejects the request, or the request is charged.
      String answer = run().raw("/users/alice/" + dots + "/bob" + i);
      if (!answer.startsWith("HTTP/1.1 400 ")) {
        assertThat(run().remaining("PerKey", "alice")).isEqualTo(1 - i);
        assertThat(run().remaining("PerKey", "bob" + i)).isEqualTo(1);
      }
    }
  }

  @Test
  default void anotherCase_isAnotherPath() throws Exception {
    run().start(perAddress());

    assertThat(run().raw("/PAGE")).startsWith("HTTP/1.1 200").doesNotContain("RateLimit");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/page", "/page/", "/page;jsessionid=1", "/%70age", "/x/../page"})
  default void spellingsOfOnePath_areOnePath(String path) throws Exception {
    run().start(perAddress());

    assertThat(run().get(path).headers().firstValue("RateLimit")).isPresent();
  }

  @Test
  default void absoluteUri_isTheSamePath() throws Exception {
    run().start(perAddress());

    assertThat(run().rawTarget("http://x" + run().prefix() + "/page"))
        .contains("\"PerAddress\";r=2");
    assertThat(run().rawTarget("http://x" + run().prefix() + "/pag%65;a=b?c")).contains("r=1");
  }

  @ParameterizedTest
  @CsvSource({"GET, 2", "HEAD, 2", "POST, 3", "DELETE, 3"})
  default void methods_restrictARule_andGetIncludesHead(String method, long left) throws Exception {
    run()
        .start(Rule.on("/page").methods("GET").limit("PerAddress", VaryBy.clientAddress()).build());

    assertThat(run().send(method, "/page", "").statusCode()).isEqualTo(200);

    assertThat(run().remaining("PerAddress", LOCAL)).isEqualTo(left);
  }

  @Test
  default void path_thatNoRuleIsFor_hasNoHeaders() throws Exception {
    run().start(perAddress());

    assertThat(run().get("/elsewhere").headers().map())
        .doesNotContainKeys("RateLimit", "RateLimit-Policy");
  }

  @Test
  default void disabledLimit_allowsWithoutHeaders() throws Exception {
    run().start(Rule.on("/page").limit("Disabled", VaryBy.constant("all")).build());

    HttpResponse<String> response = run().get("/page");

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().map()).doesNotContainKey("RateLimit");
  }

  @Test
  default void cost_ofARequest_isWhatTheFunctionSays() throws Exception {
    run()
        .start(
            Rule.on("/page")
                .cost(request -> Long.parseLong(request.headers("X-Items").get(0)))
                .limit("PerAddress", VaryBy.clientAddress())
                .build());

    assertThat(run().get("/page", "X-Items", "2").statusCode()).isEqualTo(200);
    HttpResponse<String> denied = run().get("/page", "X-Items", "2");
    assertThat(denied.headers().firstValue("Retry-After")).hasValue("10");
    // A request with an invalid cost can never pass, so its response has no Retry-After.
    for (String impossible : List.of("4", "-1")) {
      HttpResponse<String> refused = run().get("/page", "X-Items", impossible);
      assertThat(refused.statusCode()).isEqualTo(400);
      assertThat(refused.headers().map()).doesNotContainKey("Retry-After");
    }
  }
}
