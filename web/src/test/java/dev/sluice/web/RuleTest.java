// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RuleTest {

  @ParameterizedTest
  @CsvSource({
    "/,                  /,             true",
    "/,                  /a,            false",
    "/login,             /login,        true",
    "/login,             /Login,        false",
    "/login,             /login/x,      false",
    "/login,             //login//,     true",
    "/a/*,               /a/b,          true",
    "/a/*,               /a,            false",
    "/a/*,               /a/b/c,        false",
    "/a/**,              /a,            true",
    "/a/**,              /a/b/c,        true",
    "/a/**,              /ab,           false",
    "/**,                /,             true",
    "/users/{u}/export,  /users/7/export, true",
    "/users/{u}/export,  /users//export,  false"
  })
  void pattern_matches(String pattern, String path, boolean matches) {
    assertThat(PathPattern.parse(pattern).match(PathPattern.segments(path)) != null)
        .isEqualTo(matches);
  }

  @Test
  void pattern_givesItsVariables() {
    assertThat(PathPattern.parse("/a/{b}/*/{c}").match(List.of("a", "1", "x", "2")))
        .isEqualTo(Map.of("b", "1", "c", "2"));
  }

  @ParameterizedTest
  @CsvSource({
    "login",
    "''",
    "/a*",
    "/**/a",
    "/{a}/{a}",
    "/{}",
    "/{1a}",
    "/x{a}",
    "/a?",
    "/{a",
    "/a%20b",
    "/%C3%A9/x",
    "/a%2fb"
  })
  void pattern_ofAnotherForm_isRefused(String pattern) {
    assertThatThrownBy(() -> Rule.on(pattern))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("path: found \"%s\", expected ".formatted(pattern));
  }

  @Test
  void pattern_ofAnEscapedSlashOrANumberSign_matchesTheDecodedPath() {
    for (String path : List.of("/a%2Fb", "/a%23b")) {
      Rule rule = Rule.on(path.replace("%23", "#")).limit("PerKey", VaryBy.constant("all")).build();
      WebRequest request = WebRequest.builder("GET", path).build();
      Limits limits = Limiters.limits();
      Match match = Rules.of(List.of(rule), ClientAddress.direct()).match(request, limits);
      assertThat(match.transactions()).as(path).hasSize(1);
    }
  }

  private static List<String> faults(LimitName limit, VaryBy id) {
    Limits limits =
        Limits.builder(Catalogue.of(limit))
            .limit(limit.name(), Quota.per(1, Duration.ofSeconds(1)))
            .build();
    Rule rule = Rule.on("/a").limit(limit.name(), id).build();
    return Rules.of(List.of(rule), ClientAddress.direct()).faults(limits);
  }

  @Test
  void faults_ofAnIdThatNeverHasTheFormat_nameIt() {
    for (IdFormat format :
        List.of(IdFormat.ipv6Range(48), IdFormat.integer(), IdFormat.regId(), IdFormat.uuid())) {
      LimitName limit = LimitName.builder("A").id(format).build();
      assertThat(faults(limit, VaryBy.clientAddress()))
          .as(format.name())
          .singleElement()
          .asString()
          .contains("192.0.2.1");
      assertThat(faults(limit, VaryBy.path())).as(format.name()).hasSize(1);
      assertThat(faults(limit, VaryBy.method())).as(format.name()).hasSize(1);
    }
    LimitName perAddress = LimitName.builder("A").id(IdFormat.ipAddress()).build();
    assertThat(faults(perAddress, VaryBy.method())).hasSize(1);
    assertThat(faults(perAddress, VaryBy.constant("all"))).hasSize(1);
    assertThat(faults(perAddress, VaryBy.principal().orId("nobody"))).hasSize(1);
    LimitName perRange = LimitName.builder("A").id(IdFormat.ipv6Range(48)).build();
    assertThat(faults(perRange, VaryBy.clientIpv6Range(56))).hasSize(1);
    assertThat(faults(perRange, VaryBy.clientIpv6Range(48).orId("::/32"))).hasSize(1);
  }

  @Test
  void faults_ofAFormatThatAcceptsSomeIds_areNone() {
    assertThat(
            faults(LimitName.builder("A").id(IdFormat.ipAddress()).build(), VaryBy.clientAddress()))
        .isEmpty();
    for (IdFormat format : List.of(IdFormat.string(), IdFormat.bytes(), new OnlyIpv6())) {
      LimitName limit = LimitName.builder("A").id(format).build();
      for (VaryBy id : List.of(VaryBy.clientAddress(), VaryBy.path(), VaryBy.method())) {
        assertThat(faults(limit, id)).as(format.name()).isEmpty();
      }
    }
  }

  /** A format of the application. */
  private static final class OnlyIpv6 implements IdFormat {
    @Override
    public String name() {
      return "onlyIpv6";
    }

    @Override
    public String canonical(String text, Strictness strictness) {
      if (text.indexOf(':') < 0) {
        throw new InvalidIdException("found an id without a colon");
      }
      return text;
    }
  }

  @Test
  void pathVariable_thatAPathHasNot_isRefused() {
    assertThatThrownBy(
            () -> Rule.on("/users/{user}", "/me").limit("PerKey", VaryBy.pathVariable("user")))
        .hasMessage("limit PerKey: found the path variable user, expected one of the path /me: []");
  }

  @Test
  void rule_thatLacksSomething_isRefused() {
    assertThatThrownBy(() -> Rule.on())
        .hasMessage("the rule has no path; add at least one, such as /login");
    assertThatThrownBy(() -> Rule.on("/a").build())
        .hasMessage("rule [/a]: the limit is missing; add it with limit(…)");
    assertThatThrownBy(() -> Rule.on("/a").limit("PerKey"))
        .hasMessage(
            "limit PerKey: the source of the id is missing; add one, for example VaryBy.clientAddress()");
    assertThatThrownBy(() -> Rule.on("/a").methods("post"))
        .hasMessage("method: found \"post\", expected an upper-case word such as POST");
    assertThatThrownBy(() -> Rule.on("/a").cost(-1))
        .hasMessage("cost: found -1, expected at least 0");
    assertThatThrownBy(() -> VaryBy.clientIpv6Range(129))
        .hasMessage("bits: found 129, expected 1 to 128");
  }

  @Test
  @SuppressWarnings("NullAway") // a mistake of the application
  void cost_null_isRefused_asTheRuleWouldCostNothing() {
    ToLongFunction<WebRequest> none = null;
    assertThatThrownBy(() -> Rule.on("/a").cost(none))
        .isInstanceOf(NullPointerException.class)
        .hasMessage("ofRequest");
  }

  @Test
  void toString_saysWhatIsSpentWhere() {
    assertThat(
            Rule.on("/login", "/sign-in")
                .methods("POST")
                .limit("PerAddressPerUser", VaryBy.clientAddress(), VaryBy.principal())
                .limit("PerKey", request -> null, VaryBy.header("X-Api-Key"))
                .countOnly(401)
                .shadow()
                .build())
        .hasToString(
            "rule POST /login, /sign-in: spends 1 of PerAddressPerUser by the client's address"
                + " and the principal, of PerKey by the header X-Api-Key (with quotas of the"
                + " application), given back after some responses, in shadow");
    assertThat(Rule.on("/a").limit("PerKey", VaryBy.path()).cost(request -> 2).build())
        .hasToString("rule /a: spends a computed cost of PerKey by the path");
  }

  private static RequestLimiter.Builder forgotten(Limiter limiter) {
    return RequestLimiter.builder(limiter)
        .rule(Rule.on("/sign-up").limit("Forgotten", VaryBy.constant("all")).build());
  }

  @Test
  void limitThatIsNotConfigured_isRefusedAtTheStart_unlessAllowed() {
    Limiter limiter = Limiters.limiter();
    assertThatThrownBy(() -> forgotten(limiter).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "Forgotten has no default, but the rule /sign-up requires one; write burst, count and"
                + " period, or \"Forgotten: {unlimited: true}\"");
    Limiter open =
        Limiter.builder(limiter.limits(), BucketStore.inMemory())
            .missingDefault(MissingDefault.WARN)
            .build();
    assertThat(forgotten(open).build()).isNotNull();
    assertThat(open.limits().unmet(open.limits().get())).hasSize(1);
  }

  @Test
  void limitsThatLackWhatARuleNames_doNotReplaceThoseThatHold() {
    Limiter limiter = Limiters.limiter();
    Limits good = limiter.limits().get();
    Rule page = Rule.on("/page").limit("PerKey", VaryBy.constant("all")).build();
    RequestLimiter filter = RequestLimiter.builder(limiter).rule(page).build();
    Limits bad = Limits.builder(good.catalogue()).build();
    assertThatThrownBy(() -> limiter.limits().replace(bad))
        .isInstanceOf(MissingDefaultException.class)
        .hasMessageContaining("the rule /page");
    assertThat(limiter.limits().get()).isSameAs(good);
    RequestLimiter other = RequestLimiter.builder(limiter).rule(page).build();
    other.close();
    other.close();
    assertThatThrownBy(() -> limiter.limits().replace(bad))
        .as("the first is not closed")
        .isInstanceOf(MissingDefaultException.class);
    filter.close();
    limiter.limits().replace(bad);
    assertThat(limiter.limits().get()).isSameAs(bad);
  }

  @Test
  void limitsThatARuleDoesNotFit_doNotReplaceThoseThatHold() {
    Limiter limiter = Limiters.limiter();
    Limits good = limiter.limits().get();
    Rule costly = Rule.on("/page").limit("PerKey", VaryBy.constant("all")).cost(2).build();
    RequestLimiter filter = RequestLimiter.builder(limiter).rule(costly).build();
    Limits small =
        Limits.builder(good.catalogue())
            .limit("PerKey", Quota.per(1, Duration.ofMinutes(1)))
            .build();
    Limits otherId =
        Limits.builder(
                Catalogue.of(LimitName.builder(1003, "PerKey").id(IdFormat.ipAddress()).build()))
            .limit("PerKey", Quota.per(2, Duration.ofMinutes(1)))
            .build();
    assertThatThrownBy(() -> limiter.limits().replace(small))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("rule /page: found the cost 2 for PerKey, whose burst is 1");
    assertThatThrownBy(() -> limiter.limits().derived().replace(otherId))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("rule /page: ");
    assertThat(limiter.limits().get()).isSameAs(good);
    filter.close();
    limiter.limits().replace(small);
    assertThat(limiter.limits().get()).isSameAs(small);
  }

  private static Rule.Builder page() {
    return Rule.on("/page", "/users/{user}").limit("PerKey", VaryBy.constant("all"));
  }

  /** The variables of each path by which the rule knows the request. */
  private static List<Map<String, String>> match(Rule rule, String method, String... paths) {
    WebRequest plain = WebRequest.builder(method, "/").build();
    RequestFacts facts =
        new RequestFacts(new RequestOfPaths(plain, List.of(paths)), ClientAddress.direct());
    return rule.match(facts).stream().map(Rule.Reading::variables).toList();
  }

  @Test
  void methods_restrictTheRule_andGetIncludesHead() {
    Rule reads = page().methods("GET").build();
    assertThat(match(reads, "GET", "/page")).containsExactly(Map.of());
    assertThat(match(reads, "HEAD", "/page")).containsExactly(Map.of());
    assertThat(match(reads, "POST", "/page")).isEmpty();
    Rule writes = page().methods("POST", "PUT").methods("M-SEARCH").build();
    assertThat(match(writes, "PUT", "/page")).hasSize(1);
    assertThat(match(writes, "M-SEARCH", "/page")).hasSize(1);
    assertThat(match(writes, "HEAD", "/page")).isEmpty();
    assertThat(match(page().build(), "ANYTHING", "/page")).hasSize(1);
  }

  /** An application may take an escaped slash for a slash, or not: the rule holds either way. */
  @Test
  void match_looksAtAllReadingsOfThePath() {
    Rule rule = page().build();
    assertThat(match(rule, "GET", "/a%2Fb", "/users/7")).containsExactly(Map.of("user", "7"));
    assertThat(match(rule, "GET", "/users/8", "/users/7"))
        .containsExactly(Map.of("user", "8"), Map.of("user", "7"));
    assertThat(match(rule, "GET", "/x", "/y")).isEmpty();
    RequestFacts facts =
        new RequestFacts(
            new RequestOfPaths(WebRequest.builder("GET", "/x").build(), List.of("/x", "/users/7")),
            ClientAddress.direct());
    assertThat(PathPattern.parse("/users/{id}").match(facts)).isEqualTo(Map.of("id", "7"));
    assertThat(PathPattern.parse("/page").match(facts)).isNull();
  }

  /** Nobody knows which path the application goes by: each one's bucket is charged. */
  @Test
  void transactions_areThoseOfAllReadings() {
    RequestFacts facts =
        new RequestFacts(
            new RequestOfPaths(
                WebRequest.builder("GET", "/users/bob").build(),
                List.of("/users/bob", "/users/alice/../bob")),
            ClientAddress.direct());
    for (VaryBy id : List.of(VaryBy.pathVariable("user"), VaryBy.path())) {
      Rule rule = Rule.on("/users/{user}/**").limit("PerKey", id).build();
      assertThat(rule.transactions(Limiters.limits(), rule.match(facts)).join())
          .extracting(Transaction::id)
          .containsExactly(
              id.pathVariable() == null
                  ? new String[] {"/users/bob", "/users/alice/../bob"}
                  : new String[] {"bob", "alice"});
    }
  }

  @Test
  void cost_isThatOfTheRule_orOfTheRequest() {
    assertThat(costs(page().build())).containsExactly(1L);
    assertThat(costs(page().cost(2).build())).containsExactly(2L);
    assertThat(costs(page().cost(0).build())).as("looks, and takes nothing").containsExactly(0L);
    assertThat(costs(page().cost(request -> request.path().length() - 3).build()))
        .containsExactly(2L);
    for (long unfit : new long[] {-1, 3}) {
      assertThatThrownBy(() -> costs(page().cost(request -> unfit).build()))
          .isInstanceOf(UnusableRequestException.class)
          .hasMessage("the request costs %s, which the limit PerKey never allows", unfit);
    }
  }

  private static List<Long> costs(Rule rule) {
    RequestFacts facts =
        new RequestFacts(WebRequest.builder("GET", "/page").build(), ClientAddress.direct());
    return rule.transactions(Limiters.limits(), rule.match(facts)).join().stream()
        .map(Transaction::cost)
        .toList();
  }

  @ParameterizedTest
  @CsvSource({
    // status, countOnly(100, 401, 599), countAllBut(200, 204), countAllButSuccess
    "100, true,  true,  true",
    "199, false, true,  true",
    "200, false, false, false",
    "204, false, false, false",
    "299, false, true,  false",
    "300, false, true,  true",
    "401, true,  true,  true",
    "599, true,  true,  true"
  })
  void counts_goesByTheStatus(int status, boolean only, boolean allBut, boolean allButSuccess) {
    assertThat(page().countOnly(100, 401, 599).build().counts().test(status)).isEqualTo(only);
    assertThat(page().countAllBut(200, 204).build().counts().test(status)).isEqualTo(allBut);
    assertThat(page().countAllButSuccess().build().counts().test(status)).isEqualTo(allButSuccess);
    Rule last = page().countOnly(401).countAllButSuccess().build();
    assertThat(last.counts().test(status)).as("the last one replaces it").isEqualTo(allButSuccess);
    assertThat(page().build().counts()).as("all outcomes").isNull();
  }

  /** A request that an application may take for one of several paths. */
  private record RequestOfPaths(WebRequest plain, List<String> paths) implements WebRequest {
    @Override
    public String method() {
      return plain.method();
    }

    @Override
    public String path() {
      return paths.get(0);
    }

    @Override
    public List<String> headers(String name) {
      return plain.headers(name);
    }

    @Override
    public List<String> cookies(String name) {
      return plain.cookies(name);
    }

    @Override
    public @Nullable String query() {
      return plain.query();
    }

    @Override
    public @Nullable String peer() {
      return plain.peer();
    }

    @Override
    public @Nullable String user() {
      return plain.user();
    }
  }

  @Test
  void countOnly_ofNoStatus_isRefused() {
    assertThatThrownBy(() -> Rule.on("/a").countOnly())
        .hasMessage("countOnly: found [], expected statuses from 100 to 599");
    assertThatThrownBy(() -> Rule.on("/a").countOnly(99))
        .hasMessage("countOnly: found [99], expected statuses from 100 to 599");
    assertThatThrownBy(() -> Rule.on("/a").countAllBut(600))
        .hasMessage("countAllBut: found [600], expected statuses from 100 to 599");
  }
}
