// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.web.RequestLimiterTest.Way;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Rules whose quotas the application supplies, for each request. */
class SuppliedQuotaTest {

  private static final Quota SMALL = Quota.per(1, Duration.ofMinutes(1));
  private static final Quota LARGE = Quota.per(100, Duration.ofMinutes(1));
  private static final LimitName OWN = LimitName.builder(2001, "CallsPerCustomer").build();

  private final HeldStore store = new HeldStore();
  private final List<String> failed = new ArrayList<>();
  private final List<Decision> decided = new ArrayList<>();
  private final Limiter limiter =
      Limiter.builder(new CurrentLimits(Limiters.limits()), store)
          .observer(
              new LimiterObserver() {
                @Override
                public void quotaFailed(LimitName limit, Throwable failure) {
                  failed.add(limit + ": " + failure.getMessage());
                }

                @Override
                public void decided(Act act, Decision decision, long elapsedNanos) {
                  decided.add(decision);
                }
              })
          .build();

  /** Both forms of a function. */
  enum Form {
    QUOTA,
    STAGE;

    Rule.Builder rule(String limit, Function<WebRequest, @Nullable Quota> quota) {
      Rule.Builder rule = Rule.on("/api/**");
      return this == QUOTA
          ? rule.limit(limit, quota, VaryBy.header("X-Key"))
          : rule.limitAsync(limit, request -> stage(quota, request), VaryBy.header("X-Key"));
    }

    Rule.Builder several(String limit) {
      Rule.Builder rule = Rule.on("/api/**");
      return this == QUOTA
          ? rule.limitQuotas(limit, SuppliedQuotaTest::plans, VaryBy.header("X-Key"))
          : rule.limitQuotasAsync(limit, Form::plans, VaryBy.header("X-Key"));
    }

    Rule.Builder several(LimitName limit) {
      Rule.Builder rule = Rule.on("/api/**");
      return this == QUOTA
          ? rule.limitQuotas(limit, SuppliedQuotaTest::plans, VaryBy.header("X-Key"))
          : rule.limitQuotasAsync(limit, Form::plans, VaryBy.header("X-Key"));
    }

    private static CompletionStage<@Nullable List<Quota>> plans(WebRequest request) {
      return CompletableFuture.completedFuture(SuppliedQuotaTest.plans(request));
    }

    private static CompletionStage<@Nullable Quota> stage(
        Function<WebRequest, @Nullable Quota> quota, WebRequest request) {
      CompletableFuture<@Nullable Quota> stage = new CompletableFuture<>();
      try {
        stage.complete(quota.apply(request));
      } catch (RuntimeException e) {
        stage.completeExceptionally(e);
      }
      return stage;
    }
  }

  private RequestLimiter requests(Rule... rules) {
    RequestLimiter.Builder builder = RequestLimiter.builder(limiter);
    for (Rule rule : rules) {
      builder.rule(rule);
    }
    return builder.build();
  }

  private static WebRequest call(String key) {
    return WebRequest.builder("GET", "/api/calls").header("X-Key", key).peer("192.0.2.7").build();
  }

  private static @Nullable Quota plan(WebRequest request) {
    return switch (request.headers("X-Key").get(0)) {
      case "small" -> SMALL;
      case "large" -> LARGE;
      case "broken" -> throw new IllegalStateException("the database is away");
      default -> null;
    };
  }

  @ParameterizedTest
  @CsvSource({
    "QUOTA, SYNC",
    "QUOTA, ASYNC",
    "STAGE, SYNC",
    "STAGE, ASYNC",
  })
  void suppliedQuota_decides_andNullMeansTheLimitsOwn(Form form, Way way) {
    RequestLimiter requests = requests(form.rule("PerKey", SuppliedQuotaTest::plan).build());

    assertThat(requests.headers(way.admit(requests, call("large")).decision()))
        .containsEntry("RateLimit-Policy", "\"PerKey\";q=100;w=60")
        .containsEntry("RateLimit", "\"PerKey\";r=99");
    assertThat(way.admit(requests, call("small")).refusal()).isNull();
    assertThat(way.admit(requests, call("small")).refusal().headers())
        .containsEntry("RateLimit-Policy", "\"PerKey\";q=1;w=60")
        .containsEntry("Retry-After", "60");
    assertThat(requests.headers(way.admit(requests, call("other")).decision()))
        .containsEntry("RateLimit-Policy", "\"PerKey\";q=2;w=60");
  }

  private static @Nullable List<Quota> plans(WebRequest request) {
    Quota aSecond = Quota.per(2, Duration.ofSeconds(1));
    return switch (request.headers("X-Key").get(0)) {
      case "several" -> List.of(aSecond, LARGE);
      case "one" -> List.of(SMALL);
      case "none" -> List.of();
      case "twice" -> List.of(SMALL, LARGE);
      default -> null;
    };
  }

  @ParameterizedTest
  @CsvSource({
    "QUOTA, SYNC",
    "QUOTA, ASYNC",
    "STAGE, SYNC",
    "STAGE, ASYNC",
  })
  void severalSuppliedQuotas_decideTogether(Form form, Way way) {
    RequestLimiter requests = requests(form.several("PerKey").build());

    assertThat(requests.headers(way.admit(requests, call("several")).decision()))
        .containsEntry("RateLimit-Policy", "\"PerKey\";q=100;w=60, \"PerKey/1s\";q=2;w=1")
        .containsEntry("RateLimit", "\"PerKey\";r=99, \"PerKey/1s\";r=1");
    assertThat(way.admit(requests, call("several")).refusal()).isNull();
    assertThat(way.admit(requests, call("several")).refusal().headers())
        .containsEntry("Retry-After", "1");
    assertThat(requests.headers(way.admit(requests, call("one")).decision()))
        .containsEntry("RateLimit-Policy", "\"PerKey\";q=1;w=60");
    assertThat(requests.headers(way.admit(requests, call("other")).decision()))
        .containsEntry("RateLimit-Policy", "\"PerKey\";q=2;w=60");
    assertThat(failed).isEmpty();
    for (String key : List.of("none", "twice")) {
      assertThat(way.admit(requests, call(key)).refusal().status()).isEqualTo(500);
    }
    assertThat(failed)
        .satisfiesExactly(
            one -> assertThat(one).contains("found 0 quotas, expected 1 to 4"),
            one -> assertThat(one).contains("two quotas with the same period"));
  }

  @Test
  void severalQuotasOfALimitOfTheApplication_needNoDefault() {
    for (Form form : Form.values()) {
      RequestLimiter requests = requests(form.several(OWN).build());
      assertThat(requests.admit(call("several")).decision().quotas()).hasSize(2);
      assertThat(requests.admit(call("other")).refusal().status()).isEqualTo(500);
    }
  }

  @Test
  void twoRulesOnOneBucket_theLowerQuotaOfEachPeriodDecides() {
    Quota aSecond = Quota.per(2, Duration.ofSeconds(1));
    Quota slower = Quota.per(1, Duration.ofSeconds(1));
    Quota anHour = Quota.per(50, Duration.ofHours(1));
    List<Quota> some = List.of(SMALL, aSecond);
    Map<List<Quota>, List<Quota>> together =
        Map.of(
            List.of(SMALL), some,
            List.of(LARGE, slower), List.of(SMALL, slower),
            List.of(anHour, LARGE), List.of(anHour, SMALL, aSecond),
            List.of(slower), List.of(SMALL, slower));
    for (List<Quota> others : together.keySet()) {
      for (List<List<Quota>> order : List.of(List.of(some, others), List.of(others, some))) {
        List<Rule> rules =
            order.stream()
                .map(
                    quotas ->
                        Rule.on("/**")
                            .limitQuotas("PerKey", any -> quotas, VaryBy.constant("a"))
                            .build())
                .toList();
        assertThat(
                Rules.of(rules, ClientAddress.direct())
                    .match(call("x"), Limiters.limits())
                    .transactions())
            .extracting(Transaction::quotas)
            .containsExactly(together.get(others));
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "QUOTA, SYNC",
    "QUOTA, ASYNC",
    "STAGE, SYNC",
    "STAGE, ASYNC",
  })
  void functionThatFails_isA500_andCounted_andSpendsNothing(Form form, Way way) {
    RequestLimiter requests =
        requests(
            form.rule("PerKey", SuppliedQuotaTest::plan).build(),
            Rule.on("/**").limit("PerAddress", VaryBy.clientAddress()).build());

    Refusal refusal = way.admit(requests, call("broken")).refusal();

    assertThat(refusal.status()).isEqualTo(500);
    assertThat(refusal.body()).contains("\"status\":500").doesNotContain("database");
    assertThat(failed).containsExactly("PerKey: the database is away");
    assertThat(store.charges()).isZero();
  }

  @ParameterizedTest
  @EnumSource
  void stageThatFails_orIsCancelled_orIsNone_isA500(Way way) {
    CompletableFuture<@Nullable Quota> cancelled = new CompletableFuture<>();
    cancelled.cancel(false);
    List<@Nullable CompletionStage<@Nullable Quota>> stages = new ArrayList<>();
    stages.add(CompletableFuture.failedFuture(new TimeoutException()));
    stages.add(cancelled);
    stages.add(null);
    for (CompletionStage<@Nullable Quota> stage : stages) {
      RequestLimiter requests =
          requests(
              Rule.on("/**").limitAsync("PerKey", request -> stage, VaryBy.constant("a")).build());
      assertThat(way.admit(requests, call("x")).refusal().status()).isEqualTo(500);
    }
    assertThat(failed).hasSize(3);
  }

  @ParameterizedTest
  @EnumSource
  void trialWhoseFunctionFails_refusesNobody_andIsCounted(Way way) {
    RequestLimiter requests =
        requests(Form.STAGE.rule("PerKey", SuppliedQuotaTest::plan).shadow().build());

    assertThat(way.admit(requests, call("broken")).refusal()).isNull();
    assertThat(failed).hasSize(1);
    assertThat(way.admit(requests, call("small")).refusal()).isNull();
    assertThat(way.admit(requests, call("small")).refusal()).isNull();
    assertThat(decided).extracting(Decision::allowed).containsExactly(true, false);
    assertThat(decided).allMatch(decision -> decision.transaction().isShadow());
  }

  @Test
  void trial_isNotAskedFor_whereTheRequestIsDenied() {
    List<String> asked = new ArrayList<>();
    RequestLimiter requests =
        requests(
            Rule.on("/**").limit("PerKey", VaryBy.constant("a")).cost(2).build(),
            Form.QUOTA
                .rule(
                    "PerKey",
                    request -> {
                      asked.add("plan");
                      return SMALL;
                    })
                .shadow()
                .build());

    assertThat(requests.admit(call("x")).refusal()).isNull();
    assertThat(requests.admit(call("x")).refusal().status()).isEqualTo(429);
    assertThat(asked).hasSize(1);
  }

  @ParameterizedTest
  @EnumSource
  void function_isCalledOnce_andOnlyForARequestWithAnId(Way way) {
    List<WebRequest> asked = new ArrayList<>();
    RequestLimiter requests =
        requests(
            Rule.on("/api/**")
                .limit(
                    "PerKey",
                    request -> {
                      asked.add(request);
                      return LARGE;
                    },
                    VaryBy.queryParameter("key").orSkip())
                .build());

    WebRequest twoSpellings = WebRequest.builder("GET", "/api/a?key=a+b").peer("192.0.2.7").build();
    assertThat(way.admit(requests, twoSpellings).decision().parts()).hasSize(2);
    assertThat(way.admit(requests, call("x")).decision()).isNull();
    assertThat(asked).hasSize(1);
  }

  @ParameterizedTest
  @EnumSource
  void requestWithoutItsId_isA400_beforeTheFunctionIsCalled(Way way) {
    RequestLimiter requests = requests(Form.QUOTA.rule("PerKey", r -> LARGE).build());
    WebRequest without = WebRequest.builder("GET", "/api/a").peer("192.0.2.7").build();
    assertThat(way.admit(requests, without).refusal().status()).isEqualTo(400);
  }

  @ParameterizedTest
  @EnumSource
  void costAboveTheSuppliedBurst_isA400(Way way) {
    RequestLimiter requests =
        requests(Form.QUOTA.rule("PerKey", SuppliedQuotaTest::plan).cost(50).build());
    assertThat(way.admit(requests, call("large")).refusal()).isNull();
    assertThat(way.admit(requests, call("small")).refusal().status()).isEqualTo(400);
  }

  @ParameterizedTest
  @EnumSource
  void limitOfTheApplication_needsNoDefault_andNoDeclaration(Way way) {
    RequestLimiter requests =
        requests(
            Rule.on("/own").limit(OWN, request -> SMALL, VaryBy.constant("a")).build(),
            Rule.on("/null").limit(OWN, request -> null, VaryBy.constant("a")).build(),
            Rule.on("/forgotten")
                .limit("Forgotten", request -> SMALL, VaryBy.constant("a"))
                .build());
    for (String path : List.of("/own", "/forgotten")) {
      WebRequest request = WebRequest.builder("GET", path).peer("192.0.2.7").build();
      assertThat(way.admit(requests, request).refusal()).isNull();
      assertThat(way.admit(requests, request).refusal().status()).isEqualTo(429);
    }
    WebRequest noQuota = WebRequest.builder("GET", "/null").peer("192.0.2.7").build();
    assertThat(way.admit(requests, noQuota).refusal().status()).isEqualTo(500);
    assertThat(failed).singleElement().asString().contains("found null, expected a quota");
  }

  @Test
  void nameThatTheLimitsDoNotKnow_orPairDifferently_isRefusedAtStart() {
    Rule unknown = Rule.on("/a").limit("PerKye", request -> SMALL, VaryBy.constant("a")).build();
    LimitName clash = LimitName.builder(1003, "CallsPerCustomer").build();
    Rule clashing = Rule.on("/b").limit(clash, request -> SMALL, VaryBy.constant("a")).build();

    assertThatThrownBy(() -> requests(unknown, clashing))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("rule /a: ")
        .hasMessageContaining("PerKye")
        .hasMessageContaining("rule /b: ")
        .hasMessageContaining("the number 1003");
  }

  @Test
  void default_thatTheApplicationMayRelyOn_staysOnReload() {
    CurrentLimits limits = new CurrentLimits(Limiters.limits());
    RequestLimiter.Builder builder = RequestLimiter.builder(Limiter.of(limits, store));
    builder.rule(Form.QUOTA.rule("PerKey", SuppliedQuotaTest::plan).build());
    builder.rule(Rule.on("/b").limit("Forgotten", request -> SMALL, VaryBy.constant("a")).build());
    try (RequestLimiter requests = builder.build()) {
      Limits without = Limits.builder(Limiters.limits().catalogue()).build();

      assertThatThrownBy(() -> limits.replace(without))
          .hasMessageContaining("PerKey has no default, but the rule /api/** requires one")
          .hasMessageNotContaining("Forgotten");
      assertThat(requests.admit(call("other")).refusal()).isNull();
    }
  }

  @Test
  @SuppressWarnings("NullAway") // a mistake of the application
  void null_isRefusedAtTheDoor() {
    Function<WebRequest, Quota> noQuota = null;
    Function<WebRequest, CompletionStage<Quota>> noStage = null;
    Rule.Builder rule = Rule.on("/a");
    VaryBy id = VaryBy.constant("a");
    assertThatThrownBy(() -> rule.limit("PerKey", noQuota, id)).hasMessage("quota");
    assertThatThrownBy(() -> rule.limitAsync("PerKey", noStage, id)).hasMessage("quota");
    assertThatThrownBy(() -> rule.limit((LimitName) null, request -> SMALL, id)).hasMessage("name");
  }

  @Test
  void stageThatIsPending_isWaitedForWithoutAThread_andCanBeGivenUp() {
    CompletableFuture<@Nullable Quota> plan = new CompletableFuture<>();
    RequestLimiter requests =
        requests(
            Rule.on("/**").limitAsync("PerKey", request -> plan, VaryBy.constant("a")).build());

    CompletableFuture<Admission> first = requests.admitAsync(call("x")).toCompletableFuture();
    CompletableFuture<Admission> givenUp = requests.admitAsync(call("x")).toCompletableFuture();
    assertThat(first).isNotDone();
    givenUp.cancel(false);
    plan.complete(LARGE);

    assertThat(first.join().decision().remaining()).isEqualTo(99);
    assertThat(store.charges()).isEqualTo(1);
  }

  @Test
  void match_showsTheSuppliedQuota() {
    Rules rules =
        Rules.of(
            List.of(Form.STAGE.rule("PerKey", SuppliedQuotaTest::plan).build()),
            ClientAddress.direct());
    assertThat(rules.match(call("large"), Limiters.limits()).transactions())
        .extracting(Transaction::quota)
        .containsExactly(LARGE);
    assertThatThrownBy(() -> rules.match(call("broken"), Limiters.limits()))
        .isInstanceOf(QuotaFailedException.class)
        .hasMessage(
            "the application supplied no quota for PerKey: java.lang.IllegalStateException: the"
                + " database is away");
  }

  private static final Quota OF_LIMIT = Quota.per(2, Duration.ofMinutes(1)); // PerKey's own

  private static Rule fixed(String limit, @Nullable Quota quota, long cost) {
    VaryBy id = VaryBy.constant("a");
    Rule.Builder rule = Rule.on("/**");
    return (quota == null ? rule.limit(limit, id) : rule.limit(limit, request -> quota, id))
        .cost(cost)
        .build();
  }

  static List<Arguments> twoRules() {
    return List.of(
        Arguments.of(fixed("PerKey", LARGE, 1), fixed("PerKey", SMALL, 1), SMALL, 1),
        Arguments.of(fixed("PerKey", null, 1), fixed("PerKey", LARGE, 1), LARGE, 1),
        Arguments.of(fixed("PerKey", null, 2), fixed("PerKey", LARGE, 1), LARGE, 2),
        Arguments.of(fixed("PerKey", null, 1), fixed("PerKey", null, 2), OF_LIMIT, 2),
        Arguments.of(fixed("Disabled", null, 1), fixed("Disabled", LARGE, 1), LARGE, 1),
        Arguments.of(fixed("Disabled", null, 5), fixed("Disabled", SMALL, 1), SMALL, 5));
  }

  /** A bucket is charged once: what limits it more decides, in any order of the rules. */
  @ParameterizedTest
  @MethodSource("twoRules")
  void twoRulesOnOneBucket_theSuppliedAndLowerQuotaDecides(
      Rule one, Rule other, Quota quota, long cost) {
    for (List<Rule> rules : List.of(List.of(one, other), List.of(other, one))) {
      RequestLimiter requests = requests(rules.toArray(Rule[]::new));
      if (cost > quota.burst()) {
        assertThat(requests.admit(call("x")).refusal().status()).isEqualTo(400);
        continue;
      }
      assertThat(Rules.of(rules, ClientAddress.direct()).match(call("x"), Limiters.limits()))
          .satisfies(
              match -> {
                assertThat(match.transactions())
                    .extracting(Transaction::quota, Transaction::cost)
                    .containsExactly(tuple(quota, cost));
              });
    }
  }

  @ParameterizedTest
  @EnumSource
  void twoTrialsOnOneBucket_thatAreNotUsable_refuseNobody(Way way) {
    VaryBy id = VaryBy.constant("a");
    RequestLimiter requests =
        requests(
            Rule.on("/**")
                .limit("Disabled", id)
                .limit("Disabled", request -> SMALL, id)
                .cost(request -> request.headers("X-Key").size())
                .shadow()
                .build());
    assertThat(way.admit(requests, call("x")).refusal()).isNull();
  }

  /** Kotlin's functions, and Java's that hide it from the compiler, throw these too. */
  @ParameterizedTest
  @CsvSource({
    "QUOTA, SYNC",
    "QUOTA, ASYNC",
    "STAGE, SYNC",
    "STAGE, ASYNC",
  })
  void functionThatThrowsACheckedException_isA500_andCounted(Form form, Way way) {
    VaryBy id = VaryBy.constant("a");
    Rule.Builder rule = Rule.on("/**");
    rule =
        form == Form.QUOTA
            ? rule.limit(
                "PerKey",
                request -> {
                  throw hidden();
                },
                id)
            : rule.limitAsync(
                "PerKey",
                request -> {
                  throw hidden();
                },
                id);
    RequestLimiter requests = requests(rule.build());

    assertThat(way.admit(requests, call("x")).refusal().status()).isEqualTo(500);
    assertThat(failed).containsExactly("PerKey: the disk is away");
  }

  private static RuntimeException hidden() {
    throw SuppliedQuotaTest.<RuntimeException>unchecked(new IOException("the disk is away"));
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"}) // as Kotlin would throw it
  private static <E extends Throwable> RuntimeException unchecked(Throwable failure) throws E {
    throw (E) failure;
  }

  @ParameterizedTest
  @CsvSource({
    "QUOTA, SYNC",
    "QUOTA, ASYNC",
    "STAGE, SYNC",
    "STAGE, ASYNC",
  })
  void nullQuota_ofALimitWithoutADefault_isA500_andCounted(Form form, Way way) {
    RequestLimiter requests = requests(form.rule("Forgotten", SuppliedQuotaTest::plan).build());

    assertThat(way.admit(requests, call("other")).refusal().status()).isEqualTo(500);
    assertThat(failed).singleElement().asString().startsWith("Forgotten: ").contains("found null");
    assertThat(way.admit(requests, call("large")).refusal()).isNull();
    assertThat(failed).hasSize(1);
  }
}
