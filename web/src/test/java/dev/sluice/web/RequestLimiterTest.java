// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static dev.sluice.web.Limiters.remaining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.limit.CurrentLimits;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests without a server: both ways to ask, on a store whose answers the test holds back. */
class RequestLimiterTest {

  private final HeldStore store = new HeldStore();
  private final Limiter limiter =
      Limiter.builder(new CurrentLimits(Limiters.limits()), store)
          .onFailure("PerKey", FailureRule.deny())
          .build();

  /** Blocking, or not. */
  enum Way {
    SYNC,
    ASYNC;

    Admission admit(RequestLimiter requests, WebRequest request) {
      if (this == SYNC) {
        return requests.admit(request);
      }
      try {
        return requests.admitAsync(request).toCompletableFuture().join();
      } catch (CompletionException e) {
        throw (RuntimeException) e.getCause();
      }
    }
  }

  private RequestLimiter requests(Rule... rules) {
    RequestLimiter.Builder builder = RequestLimiter.builder(limiter);
    for (Rule rule : rules) {
      builder.rule(rule);
    }
    return builder.build();
  }

  private static WebRequest get(String target) {
    return WebRequest.builder("GET", target).peer("192.0.2.7").build();
  }

  private static Rule perKey(String path) {
    return Rule.on(path).limit("PerKey", VaryBy.constant("a")).build();
  }

  private static Rule failed(String path) {
    return Rule.on(path).limit("FailedPerAddress", VaryBy.clientAddress()).countOnly(401).build();
  }

  private long failedLeft() {
    return remaining(limiter, "FailedPerAddress", "192.0.2.7");
  }

  @ParameterizedTest
  @EnumSource
  void request_passesUntilItsLimitDenies(Way way) {
    RequestLimiter requests = requests(perKey("/page"));
    for (int left = 1; left >= 0; left--) {
      Admission passed = way.admit(requests, get("/page"));
      assertThat(passed.refusal()).isNull();
      assertThat(passed.isConditional()).isFalse();
      assertThat(requests.headers(passed.decision()))
          .containsEntry("RateLimit", "\"PerKey\";r=" + left);
    }

    Refusal refusal = way.admit(requests, get("/page")).refusal();

    assertThat(refusal.status()).isEqualTo(429);
    assertThat(refusal.headers())
        .containsEntry("Retry-After", "30")
        .containsEntry("Cache-Control", "no-store")
        .containsEntry("Content-Type", "application/problem+json");
    assertThat(refusal.body()).contains("#quota-exceeded");
  }

  /** A client has 2^64 IPv6 addresses: behind a CDN, its address is in a header. */
  @Test
  void ipv6AddressInAHeaderCookieOrParameter_isGroupedAsTheClientsAddress() {
    RequestLimiter requests =
        requests(
            Rule.on("/a").limit("PerAddress", VaryBy.header("Fastly-Client-Ip")).build(),
            Rule.on("/a").limit("FailedPerAddress", VaryBy.cookie("c")).build(),
            Rule.on("/a")
                .limit("PerAddressPerUser", VaryBy.queryParameter("q"), VaryBy.header("X-User"))
                .build());
    for (String address : List.of("2001:db8:7:7::1", "2001:DB8:7:7::2/128")) {
      WebRequest request =
          WebRequest.builder("GET", "/a?q=" + address)
              .header("Fastly-Client-Ip", address)
              .header("Cookie", "c=" + address)
              .header("X-User", "2001:db8:7:7::1")
              .build();
      assertThat(requests.admit(request).refusal()).isNull();
    }
    assertThat(remaining(limiter, "PerAddress", "2001:db8:7:7::")).isEqualTo(1);
    assertThat(remaining(limiter, "FailedPerAddress", "2001:db8:7:7::")).isEqualTo(28);
    assertThat(remaining(limiter, "PerAddressPerUser", "[2001:db8:7:7::]:2001:db8:7:7::1"))
        .isZero();
    for (String unusable : List.of("2001:db8:7:7::1/64", "10.0.0.1/8", "a")) {
      WebRequest request =
          WebRequest.builder("GET", "/a").header("Fastly-Client-Ip", unusable).build();
      assertThat(requests.admit(request).refusal().body())
          .contains("the request has an invalid value for the header Fastly-Client-Ip");
    }
  }

  @ParameterizedTest
  @EnumSource
  void requestWithoutRule_passesWithoutDecision(Way way) {
    RequestLimiter requests = requests(perKey("/page"));
    Admission passed = way.admit(requests, get("/other"));

    assertThat(passed.refusal()).isNull();
    assertThat(passed.decision()).isNull();
    assertThat(requests.headers(passed.decision())).isEmpty();
    assertThat(store.charges()).isZero();
  }

  @ParameterizedTest
  @EnumSource
  void unusableRequest_isA400_andBrokenStoreA503(Way way) {
    RequestLimiter requests =
        requests(
            Rule.on("/key").limit("PerKey", VaryBy.header("X-Key")).build(),
            perKey("/page"),
            failed("/login"));

    assertThat(way.admit(requests, get("/key")).refusal().status()).isEqualTo(400);
    for (String target : List.of("/page#1", "/page%zz", "/page%2F..", "page")) {
      assertThat(way.admit(requests, get(target)).refusal().status()).isEqualTo(400);
    }
    store.breakDown();
    Refusal byRule = way.admit(requests, get("/page")).refusal();
    assertThat(byRule.status()).isEqualTo(503);
    assertThat(byRule.headers()).containsKey("Retry-After");
    Refusal withoutRule = way.admit(requests, get("/login")).refusal();
    assertThat(withoutRule.status()).isEqualTo(503);
    assertThat(withoutRule.body()).contains("#temporary-reduced-capacity");
  }

  @ParameterizedTest
  @EnumSource
  void requestThatCannotBeRead_passesWhereAllRulesAreTrials(Way way) {
    RequestLimiter requests =
        requests(Rule.on("/**").shadow().limit("PerKey", VaryBy.constant("all")).build());
    assertThat(way.admit(requests, get("/page#1")).refusal()).isNull();
  }

  @ParameterizedTest
  @EnumSource
  void functionThatThrows_isTheApplicationsMistake(Way way) {
    Rule crash =
        Rule.on("/page")
            .limit(
                "PerKey",
                VaryBy.function(
                    "the tenant",
                    request -> {
                      throw new IllegalStateException("no tenant");
                    }))
            .build();

    assertThatThrownBy(() -> way.admit(requests(crash), get("/page")))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("no tenant");
  }

  @ParameterizedTest
  @EnumSource
  void trials_areChargedByThemselves_andRefuseNothing(Way way) {
    Rule trial = Rule.on("/page").limit("PerKey", VaryBy.constant("a")).cost(2).shadow().build();
    Rule unusable = Rule.on("/page").limit("PerKey", VaryBy.header("X-Key")).shadow().build();
    RequestLimiter requests = requests(trial, unusable, failed("/page"));

    for (int i = 0; i < 3; i++) {
      assertThat(way.admit(requests, get("/page")).refusal()).isNull();
    }

    assertThat(remaining(limiter, "PerKey", "a")).isEqualTo(2);
    assertThat(Limiters.remainingInShadow(limiter, "PerKey", "a")).isZero();
  }

  @ParameterizedTest
  @EnumSource
  void conditionalRule_isSettledByTheStatus_once(Way way) {
    RequestLimiter requests = requests(failed("/login"));

    Admission good = way.admit(requests, get("/login"));
    assertThat(good.isConditional()).isTrue();
    assertThat(failedLeft()).isEqualTo(29);
    good.settle(200);
    assertThat(failedLeft()).isEqualTo(30);

    Admission bad = way.admit(requests, get("/login"));
    bad.settleAsync(401).toCompletableFuture().join();
    bad.settleAsync(200).toCompletableFuture().join();
    bad.settle(200);
    assertThat(failedLeft()).isEqualTo(29);

    Admission unknown = way.admit(requests, get("/login"));
    unknown.leaveSpent();
    unknown.settle(200);
    assertThat(failedLeft()).isEqualTo(28);

    way.admit(requests, get("/login")).settleAsync(200).toCompletableFuture().join();
    assertThat(failedLeft()).isEqualTo(28);
  }

  /** A limit on failed logins would open if a rule that does not count the status could decide. */
  @ParameterizedTest
  @EnumSource
  void twoConditionalRulesOnOneBucket_giveBackOnlyWhatNeitherCounts(Way way) {
    Rule forbidden =
        Rule.on("/login").limit("FailedPerAddress", VaryBy.clientAddress()).countOnly(403).build();
    for (List<Rule> order :
        List.of(List.of(failed("/login"), forbidden), List.of(forbidden, failed("/login")))) {
      RequestLimiter requests = requests(order.toArray(Rule[]::new));
      for (int status : new int[] {401, 403, 200}) {
        long before = failedLeft();
        Admission admitted = way.admit(requests, get("/login"));
        assertThat(failedLeft()).as("charged once").isEqualTo(before - 1);
        if (way == Way.SYNC) {
          admitted.settle(status);
        } else {
          admitted.settleAsync(status).toCompletableFuture().join();
        }
        assertThat(failedLeft())
            .as("after a %s", status)
            .isEqualTo(before - (status == 200 ? 0 : 1));
      }
    }
  }

  @Test
  void settlement_whoseStoreFails_leavesTheTokensSpent() {
    RequestLimiter requests = requests(failed("/login"));
    Admission one = requests.admit(get("/login"));
    Admission other = requests.admit(get("/login"));

    store.breakDown();
    one.settle(200);
    assertThat(other.settleAsync(200).toCompletableFuture()).isCompleted();
    store.repair();

    assertThat(failedLeft()).isEqualTo(28);
  }

  /** Operators learn from the log what a trial would have done, and clients do not. */
  @ParameterizedTest
  @EnumSource
  void trials_areLogged_whereTheyWouldHaveDenied(Way way) {
    Rule trial = Rule.on("/page").limit("PerKey", VaryBy.constant("a")).cost(2).shadow().build();
    RequestLimiter requests = requests(trial);
    try (LoggedLines log = new LoggedLines(RequestLimiter.class)) {
      assertThat(way.admit(requests, get("/page")).refusal()).isNull();
      assertThat(log.lines()).isEmpty();
      assertThat(way.admit(requests, get("/page")).refusal()).isNull();
      assertThat(log.lines())
          .containsExactly("INFO PerKey would have denied a request (shadow rule on /page)");
    }
  }

  @ParameterizedTest
  @EnumSource
  void trial_thatCannotBeDecided_isLogged_andTheRequestPasses(Way way) {
    RequestLimiter unusable =
        requests(Rule.on("/page").limit("PerKey", VaryBy.header("X-Key")).shadow().build());
    RequestLimiter away =
        requests(
            Rule.on("/page")
                .limit("FailedPerAddress", VaryBy.constant("192.0.2.9"))
                .shadow()
                .build());
    store.breakDown();
    try (LoggedLines log = new LoggedLines(RequestLimiter.class)) {
      assertThat(way.admit(unusable, get("/page")).refusal()).isNull();
      assertThat(way.admit(away, get("/page")).refusal()).isNull();
      assertThat(log.lines())
          .containsExactly(
              "WARNING the limiter could not decide for the shadow rule on /page:"
                  + " the request lacks the header X-Key, which a limit needs",
              "WARNING the limiter could not decide for the shadow rule on /page:"
                  + " the store is broken, as the test wants");
    }
  }

  /** A function in Kotlin can throw a checked exception. */
  @ParameterizedTest
  @EnumSource
  void trial_whoseFunctionThrowsACheckedException_isLogged_andTheRequestPasses(Way way) {
    VaryBy tenant =
        VaryBy.function("the tenant", request -> unchecked(new IOException("no directory")));
    Rule id = Rule.on("/page").limit("PerKey", tenant).shadow().build();
    Rule cost =
        Rule.on("/page")
            .limit("PerKey", VaryBy.constant("a"))
            .cost(request -> unchecked(new IOException("no price")))
            .shadow()
            .build();
    try (LoggedLines log = new LoggedLines(RequestLimiter.class)) {
      for (Rule trial : List.of(id, cost)) {
        Admission passed = way.admit(requests(failed("/page"), trial), get("/page"));
        assertThat(passed.refusal()).isNull();
        passed.settle(200);
      }
      assertThat(log.lines())
          .containsExactly(
              "WARNING the limiter could not decide for the shadow rule on /page: no directory",
              "WARNING the limiter could not decide for the shadow rule on /page: no price");
    }
    assertThat(failedLeft()).isEqualTo(30);
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"}) // as Kotlin would throw it
  private static <T, E extends Exception> T unchecked(Exception failure) throws E {
    throw (E) failure;
  }

  @ParameterizedTest
  @EnumSource
  void failures_ofTheStore_areLogged(Way way) {
    RequestLimiter requests = requests(failed("/login"));
    Admission admitted = way.admit(requests, get("/login"));
    store.breakDown();
    try (LoggedLines log = new LoggedLines(RequestLimiter.class)) {
      if (way == Way.SYNC) {
        admitted.settle(200);
      } else {
        admitted.settleAsync(200).toCompletableFuture().join();
      }
      assertThat(log.lines())
          .containsExactly(
              "WARNING tokens were not given back: the store is broken, as the test wants");
    }
    RequestLimiter fresh = requests(failed("/login"));
    try (LoggedLines log = new LoggedLines(RequestLimiter.class)) {
      assertThat(way.admit(fresh, get("/login")).refusal().status()).isEqualTo(503);
      assertThat(log.lines())
          .containsExactly(
              "WARNING the limiter could not decide on a request: the store is broken, as the test wants");
    }
  }

  @Test
  void admitAsync_doesNotBlock_whileTheStoreHoldsItsAnswer() {
    store.hold();
    CompletableFuture<Admission> admission =
        requests(perKey("/page")).admitAsync(get("/page")).toCompletableFuture();

    assertThat(admission).isNotDone();
    store.release();

    assertThat(admission).isCompleted();
  }

  @Test
  void caller_thatGivesUp_cancelsTheCallToTheStore() {
    store.hold();
    CompletableFuture<Admission> admission =
        requests(failed("/login")).admitAsync(get("/login")).toCompletableFuture();

    assertThat(admission.cancel(false)).isTrue();

    assertThat(store.cancelled()).isEqualTo(1);
    assertThatThrownBy(admission::join).isInstanceOf(CancellationException.class);
  }

  /** What was spent stays spent, and nobody can give it back any more. */
  @Test
  void caller_thatGivesUpDuringATrial_leavesTheTokensSpent() {
    Rule trial = Rule.on("/login").limit("PerKey", VaryBy.constant("a")).shadow().build();
    RequestLimiter requests = requests(failed("/login"), trial);
    store.holdAfter(1);
    CompletableFuture<Admission> admission =
        requests.admitAsync(get("/login")).toCompletableFuture();
    assertThat(admission).isNotDone();

    assertThat(admission.cancel(false)).isTrue();
    store.release();

    assertThat(failedLeft()).isEqualTo(29);
  }

  @Test
  void match_saysWhatWouldBeCharged_andChargesNothing() {
    Rule first = perKey("/page");
    Rule trial = Rule.on("/**").limit("PerKey", VaryBy.constant("b")).shadow().build();
    Rule second = Rule.on("/page").limit("PerKey", VaryBy.constant("a")).cost(2).build();
    Rules rules = Rules.of(List.of(first, trial, perKey("/x"), second), ClientAddress.direct());

    Match match = rules.match(get("/page"), Limiters.limits());

    assertThat(match.transactions()).extracting(Transaction::id).containsExactly("a");
    assertThat(match.transactions()).extracting(Transaction::cost).containsExactly(2L);
    assertThat(store.charges()).isZero();
    assertThat(rules.match(get("/y"), Limiters.limits()).transactions()).isEmpty();
    assertThatThrownBy(
            () ->
                Rules.of(
                        List.of(Rule.on("/a").limit("PerKey", VaryBy.header("K")).build()),
                        ClientAddress.direct())
                    .match(get("/a"), Limiters.limits()))
        .isInstanceOf(UnusableRequestException.class);
  }

  @Test
  void headers_ofADegradedDecision_nameTheRule_andTellNoNumberThatNobodyKnows() {
    store.breakDown();

    assertThat(headers(FailureRule.allow())).isEqualTo(Map.of("RateLimit-Degraded", "allow"));
    assertThat(headers(FailureRule.local(1)))
        .containsEntry("RateLimit-Degraded", "local")
        .containsKeys("RateLimit", "RateLimit-Policy");
  }

  private Map<String, String> headers(FailureRule rule) {
    RequestLimiter requests = RequestLimiter.builder(failing(rule)).rule(perKey("/page")).build();
    return requests.headers(requests.admit(get("/page")).decision());
  }

  private Limiter failing(FailureRule rule) {
    return Limiter.builder(new CurrentLimits(Limiters.limits()), store).onFailure(rule).build();
  }

  /** The denial of a share is as true as any other; that of the rule "deny" says nothing. */
  @Test
  void denialByAShare_isA429_andByTheRuleDenyA503() {
    store.breakDown();
    RequestLimiter local =
        RequestLimiter.builder(failing(FailureRule.local(1000))).rule(perKey("/page")).build();
    Refusal refusal = null;
    for (int i = 0; i < 2; i++) {
      refusal = local.admit(get("/page")).refusal();
    }
    assertThat(refusal.status()).isEqualTo(429);
    assertThat(refusal.headers())
        .containsEntry("RateLimit-Degraded", "local")
        .hasEntrySatisfying("RateLimit-Policy", policy -> assertThat(policy).contains(";q=1;"));

    Refusal denied =
        RequestLimiter.builder(failing(FailureRule.deny()))
            .rule(perKey("/page"))
            .build()
            .admit(get("/page"))
            .refusal();
    assertThat(denied.status()).isEqualTo(503);
    assertThat(denied.headers())
        .containsEntry("RateLimit-Degraded", "deny")
        .containsKey("Retry-After")
        .doesNotContainKey("RateLimit");
  }
}
