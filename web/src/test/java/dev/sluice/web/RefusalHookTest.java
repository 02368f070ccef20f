// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.LimitName;
import dev.sluice.store.BucketStore;
import dev.sluice.web.RequestLimiterTest.Way;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The application's own answers to refused requests. */
class RefusalHookTest {

  private final HeldStore store = new HeldStore();
  private final Limiter limiter = Limiters.on(store);
  private final List<String> called = new ArrayList<>();

  private RefusalHook hook(String name) {
    return (request, decision, prepared) -> {
      called.add(
          "%s %s %s %s".formatted(name, request.method(), prepared.status(), decision != null));
      return prepared
          .withStatus(444)
          .withoutHeader("ratelimit-policy")
          .withHeader("retry-after", "7")
          .withBody("text/html", "<p>later</p>");
    };
  }

  private RequestLimiter requests(Rule rule) {
    return RequestLimiter.builder(limiter)
        .rule(rule)
        .onDenied(hook("denied"))
        .onError(hook("error"))
        .build();
  }

  private static WebRequest get(String path) {
    return WebRequest.builder("GET", path).peer("192.0.2.7").build();
  }

  @ParameterizedTest
  @EnumSource
  void denial_isAnsweredByTheHook_withSluicesHeaders(Way way) {
    RequestLimiter requests =
        requests(Rule.on("/**").limit("PerKey", VaryBy.constant("a")).cost(2).build());
    assertThat(way.admit(requests, get("/a")).refusal()).isNull();

    Refusal refusal = way.admit(requests, get("/a")).refusal();

    assertThat(called).containsExactly("denied GET 429 true");
    assertThat(refusal.status()).isEqualTo(444);
    assertThat(refusal.body()).isEqualTo("<p>later</p>");
    assertThat(refusal.headers())
        .isEqualTo(
            Map.of(
                "RateLimit", "\"PerKey\";r=0;t=60",
                "Cache-Control", "no-store",
                "retry-after", "7",
                "Content-Type", "text/html;charset=utf-8"));
  }

  @ParameterizedTest
  @EnumSource
  void errors_areAnsweredByTheirOwnHook(Way way) {
    RequestLimiter unusable =
        requests(Rule.on("/**").limit("PerKey", VaryBy.header("X-Key")).build());
    assertThat(way.admit(unusable, get("/a")).refusal().status()).isEqualTo(444);
    RequestLimiter withoutQuota =
        requests(
            Rule.on("/**")
                .limit(
                    "PerKey",
                    request -> {
                      throw new IllegalStateException();
                    },
                    VaryBy.constant("a"))
                .build());
    assertThat(way.admit(withoutQuota, get("/a")).refusal().status()).isEqualTo(444);
    store.breakDown();
    RequestLimiter broken = requests(Rule.on("/**").limit("PerKey", VaryBy.constant("a")).build());
    assertThat(way.admit(broken, get("/a")).refusal().status()).isEqualTo(444);

    assertThat(called)
        .containsExactly("error GET 400 false", "error GET 500 false", "error GET 503 false");
  }

  @ParameterizedTest
  @EnumSource
  void shadowRule_neverCallsAHook(Way way) {
    RequestLimiter requests =
        requests(Rule.on("/**").limit("PerKey", VaryBy.constant("a")).cost(2).shadow().build());
    for (int i = 0; i < 3; i++) {
      assertThat(way.admit(requests, get("/a")).refusal()).isNull();
    }
    assertThat(called).isEmpty();
  }

  @SuppressWarnings("NullAway") // mistakes of the application
  static List<UnaryOperator<Refusal>> mistakes() {
    Map<String, String> headers = new HashMap<>();
    headers.put("X-Page", null);
    return List.of(
        prepared -> null,
        prepared -> prepared.withStatus(1_000),
        prepared -> prepared.withBody("text/html", null),
        prepared -> prepared.withBody(null, "later"),
        prepared -> prepared.withHeader("X-Page", null),
        prepared -> prepared.withHeader(null, "later"),
        prepared -> prepared.withHeader("", "later"),
        prepared -> prepared.withHeader("X Page", "later"),
        prepared -> prepared.withHeader("X-Page", "a\r\nSet-Cookie: b"),
        prepared -> new Refusal(0, prepared.headers(), prepared.body()),
        prepared -> new Refusal(600, prepared.headers(), prepared.body()),
        prepared -> new Refusal(429, headers, prepared.body()),
        prepared -> new Refusal(429, null, prepared.body()),
        prepared -> new Refusal(429, Map.of(), null));
  }

  @ParameterizedTest
  @MethodSource("mistakes")
  void hookThatFails_refusesTheRequestAllTheSame(UnaryOperator<Refusal> hook) {
    RequestLimiter requests =
        RequestLimiter.builder(limiter)
            .rule(Rule.on("/**").limit("PerKey", VaryBy.constant("a")).cost(2).build())
            .onDenied((request, decision, prepared) -> hook.apply(prepared))
            .build();
    assertThat(requests.admit(get("/a")).refusal()).isNull();

    Refusal refusal = requests.admit(get("/a")).refusal();

    assertThat(refusal.status()).isEqualTo(429);
    assertThat(refusal.headers()).containsEntry("Retry-After", "60").doesNotContainKey("X-Page");
    assertThat(refusal.body()).startsWith("{");
  }

  @ParameterizedTest
  @CsvSource({
    "text/html, text/html;charset=utf-8",
    "Text/Plain, Text/Plain;charset=utf-8",
    "text/html; level=1, text/html; level=1;charset=utf-8",
    "text/html; Charset=UTF-8, text/html; Charset=UTF-8",
    "application/json, application/json",
  })
  void textWithoutACharset_isLabelledAsTheUtf8ThatItIs(String type, String sent) {
    assertThat(Refusal.storeFailed().withBody(type, "später").headers())
        .containsEntry("Content-Type", sent);
  }

  @Test
  @SuppressWarnings("NullAway") // a mistake of the application
  void null_isRefusedAtTheDoor() {
    assertThatThrownBy(() -> RequestLimiter.builder(limiter).onDenied(null)).hasMessage("hook");
    assertThatThrownBy(() -> RequestLimiter.builder(limiter).onError(null)).hasMessage("hook");
  }

  @Test
  void status_outOfRange_isRefused() {
    assertThatThrownBy(() -> Refusal.storeFailed().withStatus(99))
        .hasMessage("status: found 99, expected 200 to 599");
  }

  private static Refusal deniedWithPage(@Nullable String page) {
    LimitName.Builder name = LimitName.builder(1, "Calls");
    if (page != null) {
      name.helpLink(page);
    }
    Quota quota = Quota.per(1, Duration.ofMinutes(1));
    Transaction call = Transaction.of(name.build(), quota, "a");
    Limiter fresh = Limiter.of(BucketStore.inMemory(() -> Bucket.START_NANOS));
    assertThat(fresh.spend(call).allowed()).isTrue();
    Decision denial = fresh.spend(call);
    return Refusal.denied(denial, HeaderProfile.NONE);
  }

  @Test
  void limitWithAPage_hasALinkToIt() {
    assertThat(deniedWithPage("https://example.com/limits?a=b#calls").headers())
        .containsEntry("Link", "<https://example.com/limits?a=b#calls>; rel=\"help\"");
  }

  @ParameterizedTest
  @ValueSource(strings = {"https://example.com/später", "https://例え.jp/"})
  void pageWithCharactersThatNoHeaderMayHave_hasNoLink(String page) {
    assertThat(deniedWithPage(page).headers()).doesNotContainKey("Link");
    assertThat(deniedWithPage(null).headers()).doesNotContainKey("Link");
  }
}
