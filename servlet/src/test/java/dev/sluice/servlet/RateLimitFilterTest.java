package dev.sluice.servlet;

import static dev.sluice.servlet.Limiters.remaining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.http.HeaderProfile;
import dev.sluice.testkit.ManualTime;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import java.net.http.HttpResponse;
import java.security.Principal;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The filter in real containers, over real HTTP, on a driven clock. */
@ParameterizedClass
@EnumSource(Container.class)
class RateLimitFilterTest {

  private static final String LOCAL = "127.0.0.1";

  private final ManualTime time = new ManualTime();
  private final Limiter limiter = Limiters.on(time);
  private final WebServer web;

  RateLimitFilterTest(Container container) {
    this.web = container.server().servlet("/", Pages.status());
  }

  @AfterEach
  void stop() throws Exception {
    web.close();
  }

  private RateLimitFilter.Builder perAddress() {
    return RateLimitFilter.builder(limiter)
        .rule(Rule.on("/page").limit("PerAddress", VaryBy.clientAddress()).build());
  }

  private void start(Rule... rules) throws Exception {
    web.filter(RateLimitFilter.builder(limiter), rules).start();
  }

  private void start(Filter filter) throws Exception {
    web.filter(filter).start();
  }

  @Test
  void request_overTheBurst_isRefusedUntilItsWaitIsOver() throws Exception {
    start(perAddress().build());
    for (int left = 2; left >= 0; left--) {
      HttpResponse<String> allowed = web.get("/page");
      assertThat(allowed.statusCode()).isEqualTo(200);
      assertThat(allowed.headers().map())
          .containsEntry("RateLimit", List.of("\"PerAddress\";r=" + left))
          .doesNotContainKey("Retry-After");
    }

    HttpResponse<String> refused = web.get("/page");
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

    time.advance(Duration.ofSeconds(10).minusNanos(1));
    assertThat(web.get("/page").statusCode()).isEqualTo(429);
    time.advanceNanos(1);
    assertThat(web.get("/page").statusCode()).isEqualTo(200);
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
  void refusal_hasTheHeadersOfItsProfile_andRetryAfterInEach(
      HeaderProfile profile, String header, String value) throws Exception {
    start(perAddress().headers(profile).build());
    for (int i = 0; i < 3; i++) {
      assertThat(web.get("/page").statusCode()).isEqualTo(200);
    }

    HttpResponse<String> refused = web.get("/page");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("Retry-After")).hasValue("10");
    assertThat(refused.headers().firstValue(header).orElse(null)).isEqualTo(value);
  }

  @Test
  void severalLimits_areAllOrNothing() throws Exception {
    start(
        Rule.on("/page").limit("PerAddress", VaryBy.clientAddress()).build(),
        Rule.on("/**").limit("PerKey", VaryBy.header("X-Api-Key")).build());

    assertThat(web.get("/page", "X-Api-Key", "a").statusCode()).isEqualTo(200);
    assertThat(web.get("/other", "X-Api-Key", "a").statusCode()).isEqualTo(200);
    HttpResponse<String> refused = web.get("/page", "X-Api-Key", "a");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("RateLimit"))
        .hasValue("\"PerAddress\";r=2, \"PerKey\";r=0;t=30");
    assertThat(remaining(limiter, "PerAddress", LOCAL)).isEqualTo(2);
  }

  @Test
  void twoRulesOnOneBucket_chargeItOnce_atTheHigherCost() throws Exception {
    start(
        Rule.on("/page").cost(2).limit("PerAddress", VaryBy.clientAddress()).build(),
        Rule.on("/**").limit("PerAddress", VaryBy.clientAddress()).build());

    assertThat(web.get("/page").statusCode()).isEqualTo(200);

    assertThat(remaining(limiter, "PerAddress", LOCAL)).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "//page",
        "/page//",
        "/./page",
        "/%2e/page",
        "/x/%2e%2e/page",
        "/x/..//page",
        "/%2Fpage",
        "/%2fpage",
        "/page%2F",
        "/x%2F../page",
        "/page/.",
        "/page;a=b",
        "/pag%65"
      })
  void spellingsOfALimitedPath_areNoWayAroundItsRule(String path) throws Exception {
    start(perAddress().build());
    for (int i = 0; i < 3; i++) {
      assertThat(web.get("/page").statusCode()).isEqualTo(200);
    }

    // Refused by the container, or limited.
    assertThat(RawHttp.get(web.port(), "/app" + path)).containsPattern("^HTTP/1.1 4(00|29) ");
  }

  @Test
  void anotherCase_isAnotherPath_toTheRuleAsToTheContainer() throws Exception {
    start(perAddress().build());

    assertThat(RawHttp.get(web.port(), "/app/PAGE"))
        .startsWith("HTTP/1.1 200")
        .doesNotContain("RateLimit");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/page", "/page/", "/page;jsessionid=1", "/%70age", "/x/../page"})
  void spellingsOfOnePath_areOnePath(String path) throws Exception {
    start(perAddress().build());

    assertThat(web.get(path).headers().firstValue("RateLimit")).isPresent();
  }

  @Test
  void absoluteUri_isTheSamePath() throws Exception {
    start(perAddress().build());

    assertThat(RawHttp.get(web.port(), "http://x/app/page")).contains("\"PerAddress\";r=2");
    assertThat(RawHttp.get(web.port(), "http://x/app/pag%65;a=b?c")).contains("r=1");
  }

  @ParameterizedTest
  @CsvSource({"GET, 2", "HEAD, 2", "POST, 3", "DELETE, 3"})
  void methods_restrictARule_andGetIncludesHead(String method, long left) throws Exception {
    start(Rule.on("/page").methods("GET").limit("PerAddress", VaryBy.clientAddress()).build());

    assertThat(web.send(method, "/page", "").statusCode()).isEqualTo(200);

    assertThat(remaining(limiter, "PerAddress", LOCAL)).isEqualTo(left);
  }

  @Test
  void path_thatNoRuleIsFor_hasNoHeaders() throws Exception {
    start(perAddress().build());

    assertThat(web.get("/elsewhere").headers().map())
        .doesNotContainKeys("RateLimit", "RateLimit-Policy");
  }

  @Test
  void disabledLimit_allowsWithoutHeaders() throws Exception {
    start(Rule.on("/page").limit("Disabled", VaryBy.constant("all")).build());

    HttpResponse<String> response = web.get("/page");

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().map()).doesNotContainKey("RateLimit");
  }

  @Test
  void cookie_queryParameter_pathVariable_pathAndMethod_areIds() throws Exception {
    start(
        Rule.on("/cookie").limit("PerKey", VaryBy.cookie("session")).build(),
        Rule.on("/query").limit("PerKey", VaryBy.queryParameter("key")).build(),
        Rule.on("/users/{user}/*").limit("PerKey", VaryBy.pathVariable("user")).build(),
        Rule.on("/path/**").limit("PerKey", VaryBy.path()).build(),
        Rule.on("/method").limit("PerKey", VaryBy.method()).build(),
        Rule.on("/function")
            .limit("PerKey", VaryBy.function("the host", HttpServletRequest::getServerName))
            .build());

    assertThat(web.get("/cookie", "Cookie", "a=b; session=id-1").statusCode()).isEqualTo(200);
    assertThat(web.post("/query?key=id%2D2&x=%25", "key=body").statusCode()).isEqualTo(200);
    assertThat(web.get("/users/id-3/export").statusCode()).isEqualTo(200);
    assertThat(web.get("/path/x/").statusCode()).isEqualTo(200);
    assertThat(web.get("/method").statusCode()).isEqualTo(200);
    assertThat(web.get("/function").statusCode()).isEqualTo(200);

    for (String id : List.of("id-1", "id-2", "id-3", "/path/x", "GET", LOCAL)) {
      assertThat(remaining(limiter, "PerKey", id)).as(id).isEqualTo(1);
    }
  }

  @Test
  void queryParameter_leavesTheBodyToTheApplication() throws Exception {
    start(Rule.on("/page").limit("PerKey", VaryBy.queryParameter("key")).build());

    HttpResponse<String> response =
        web.post("/page?key=a", "status=418", "Content-Type", "application/x-www-form-urlencoded");

    assertThat(response.statusCode()).isEqualTo(418);
  }

  @Test
  void principal_isTheIdOfWhoIsLoggedIn() throws Exception {
    Filter authentication =
        (request, response, chain) ->
            chain.doFilter(
                new HttpServletRequestWrapper((HttpServletRequest) request) {
                  @Override
                  public Principal getUserPrincipal() {
                    String user = getHeader("X-Test-User");
                    return user == null ? null : () -> user;
                  }
                },
                response);
    web.filter(authentication);
    start(Rule.on("/page").limit("PerKey", VaryBy.principal()).build());

    assertThat(web.get("/page", "X-Test-User", "ann").statusCode()).isEqualTo(200);
    assertThat(web.get("/page").statusCode()).isEqualTo(400);

    assertThat(remaining(limiter, "PerKey", "ann")).isEqualTo(1);
  }

  @Test
  void joinedId_isBuiltByTheLimitsFormat() throws Exception {
    start(
        Rule.on("/page")
            .limit("PerAddressPerUser", VaryBy.clientAddress(), VaryBy.queryParameter("user"))
            .build());

    assertThat(web.get("/page?user=a:b").statusCode()).isEqualTo(200);

    assertThat(remaining(limiter, "PerAddressPerUser", LOCAL + ":a:b")).isEqualTo(1);
  }

  @Test
  void ipv6Range_isSkippedForAnIpv4Client() throws Exception {
    start(Rule.on("/page").limit("PerRange", VaryBy.clientIpv6Range(48)).build());

    assertThat(web.get("/page").statusCode()).isEqualTo(200);
  }

  @Test
  void missingValue_isRefused_skipped_orSharesABucket_asTheRuleSays() throws Exception {
    start(
        Rule.on("/deny").limit("PerKey", VaryBy.header("X-Api-Key")).build(),
        Rule.on("/skip").limit("PerKey", VaryBy.header("X-Api-Key").orSkip()).build(),
        Rule.on("/share").limit("PerKey", VaryBy.header("X-Api-Key").orId("nobody")).build());

    HttpResponse<String> refused = web.get("/deny");
    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(refused.body()).contains("the request lacks the header X-Api-Key");
    assertThat(web.get("/deny", "X-Api-Key", "").statusCode()).isEqualTo(400);
    assertThat(web.get("/skip").headers().map()).doesNotContainKey("RateLimit");
    assertThat(web.get("/share").statusCode()).isEqualTo(200);
    assertThat(web.get("/share", "X-Api-Key", "").statusCode()).isEqualTo(200);
    assertThat(web.get("/share").statusCode()).isEqualTo(429);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/deny", "/skip", "/share"})
  void valueThatIsNoId_orSeveral_areRefusedWhateverTheRuleSays(String path) throws Exception {
    start(
        Rule.on("/deny").limit("PerKey", VaryBy.header("X-Api-Key")).build(),
        Rule.on("/skip").limit("PerKey", VaryBy.header("X-Api-Key").orSkip()).build(),
        Rule.on("/share").limit("PerKey", VaryBy.header("X-Api-Key").orId("nobody")).build());

    HttpResponse<String> tooLong = web.get(path, "X-Api-Key", "k".repeat(1025));
    assertThat(tooLong.statusCode()).isEqualTo(400);
    assertThat(tooLong.body())
        .contains("unusable value as the header X-Api-Key")
        .doesNotContain("kkk");
    assertThat(web.get(path, "X-Api-Key", "a", "X-Api-Key", "b").statusCode()).isEqualTo(400);
    assertThat(remaining(limiter, "PerKey", "a")).isEqualTo(2);
  }

  @Test
  void malformedEscapeInTheParameter_isRefused() throws Exception {
    start(Rule.on("/page").limit("PerKey", VaryBy.queryParameter("key").orSkip()).build());

    assertThat(web.get("/page?key=a&key=b").statusCode()).isEqualTo(400);
    assertThat(RawHttp.get(web.port(), "/app/page?key=%zz")).startsWith("HTTP/1.1 400");
  }

  @Test
  void cost_ofARequest_isWhatTheFunctionSays() throws Exception {
    start(
        Rule.on("/page")
            .cost(request -> Long.parseLong(request.getHeader("X-Items")))
            .limit("PerAddress", VaryBy.clientAddress())
            .build());

    assertThat(web.get("/page", "X-Items", "2").statusCode()).isEqualTo(200);
    HttpResponse<String> denied = web.get("/page", "X-Items", "2");
    assertThat(denied.headers().firstValue("Retry-After")).hasValue("10");
    // No waiting helps these, so they are not told to wait.
    for (String impossible : List.of("4", "-1")) {
      HttpResponse<String> refused = web.get("/page", "X-Items", impossible);
      assertThat(refused.statusCode()).isEqualTo(400);
      assertThat(refused.headers().map()).doesNotContainKey("Retry-After");
    }
  }

  @Test
  void build_findsAllThatDoesNotFitTheLimits_atOnce() {
    RateLimitFilter.Builder builder =
        RateLimitFilter.builder(limiter)
            .rule(Rule.on("/a").limit("PerAdress", VaryBy.clientAddress()).build())
            .rule(Rule.on("/b").limit("PerAddressPerUser", VaryBy.clientAddress()).build())
            .rule(Rule.on("/c").limit("PerAddress", VaryBy.principal().orId("nobody")).build())
            .rule(Rule.on("/d").cost(4).limit("PerAddress", VaryBy.clientAddress()).build());

    assertThatThrownBy(builder::build)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(
            "rule /a: no limit has the name \"PerAdress\"; did you mean \"PerAddress\"?")
        .hasMessageContaining("rule /b: found 1 part(s)")
        .hasMessageContaining("rule /c: invalid ipAddress")
        .hasMessageContaining("rule /d: found the cost 4 for PerAddress, whose burst is 3");
  }

  @Test
  void build_refusesConstantsAndRanges_ofAnotherForm() {
    RateLimitFilter.Builder filter =
        RateLimitFilter.builder(limiter)
            .rule(Rule.on("/a").limit("PerAddress", VaryBy.constant("all")).build())
            .rule(Rule.on("/b").limit("PerRange", VaryBy.clientIpv6Range(64)).build())
            .rule(Rule.on("/c").limit("PerRange", VaryBy.clientIpv6Range(64).orId("::/48")).build())
            .rule(Rule.on("/d").limit("PerAddress", VaryBy.constant("192.0.2.1")).build())
            .rule(Rule.on("/e").limit("PerRange", VaryBy.clientIpv6Range(48)).build());

    assertThatThrownBy(filter::build)
        .hasMessageContaining("rule /a: invalid ipAddress, \"all\" is not an IP address")
        .hasMessageContaining("rule /b: invalid ipv6RangeCIDR")
        .hasMessageContaining("rule /c: invalid ipv6RangeCIDR")
        .hasMessageNotContaining("rule /d")
        .hasMessageNotContaining("rule /e");
  }

  @Test
  void build_withoutRules_isRefused() {
    assertThatThrownBy(() -> RateLimitFilter.builder(limiter).build())
        .hasMessage("found no rule, expected at least one");
  }
}
