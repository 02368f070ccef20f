// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

final class HttpAnswersTest {

  private static final String LOGIN = "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.7\"}";
  private static final String SLOW_2 = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"slow\",\"cost\":2}";

  private static final ManualTime time = new ManualTime();
  private static BucketStore store;
  private static TestServer server;

  @BeforeAll
  static void start() {
    store = BucketStore.inMemory(time);
    server = new TestServer(SampleFixture.limits(), store);
  }

  @BeforeEach
  void fillAllBuckets() {
    time.advance(Duration.ofDays(2));
  }

  @AfterAll
  static void stop() {
    server.close();
    store.close();
  }

  @Test
  void headers_tellTheDecisionOnceMore_whereTheyAreAskedFor() {
    String login = "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.77\",\"cost\":10}";
    var ietf = server.post("/v1/spend?headers=ietf", login).headers();
    assertThat(ietf.firstValue("RateLimit-Policy")).hasValue("\"LoginsPerIPAddress\";q=10;w=60");
    assertThat(ietf.firstValue("RateLimit").orElse("")).startsWith("\"LoginsPerIPAddress\";r=0");
    var legacy = server.post("/v1/check?headers=legacy", login).headers();
    assertThat(legacy.firstValue("X-RateLimit-Limit")).hasValue("10");
    assertThat(legacy.firstValue("X-RateLimit-Remaining")).hasValue("0");
    assertThat(legacy.firstValue("Retry-After")).isPresent();
    var github = server.post("/v1/check?headers=github", login).headers();
    assertThat(github.firstValue("X-RateLimit-Resource")).hasValue("LoginsPerIPAddress");
    var draft03 = server.post("/v1/check?headers=draft03", login).headers();
    assertThat(draft03.firstValue("RateLimit-Limit")).hasValue("10");
    assertThat(draft03.firstValue("RateLimit-Remaining")).hasValue("0");
    assertThat(draft03.firstValue("RateLimit-Reset")).hasValue("60");
    assertThat(draft03.firstValue("Retry-After")).isPresent();
    var none = server.post("/v1/check", login).headers();
    assertThat(none.firstValue("RateLimit")).isEmpty();
    assertThat(server.post("/v1/spend?headers=itef", login).body())
        .contains(
            "found \\\"itef\\\", expected one of none, ietf, legacy, github, draft03", "ietf");
    assertThat(server.post("/v1/refund?headers=ietf", login).statusCode()).isEqualTo(400);
  }

  private static String upTo(String cost) {
    return "{\"limit\":\"ApiCallsPerKey\",\"id\":\"slow\"" + cost + ",\"upTo\":true}";
  }

  @Test
  void spendUpTo_answersHowManyItTook() {
    String all = server.post("/v1/spend", upTo(",\"cost\":9000000")).body();
    assertThat(all).startsWith("{\"taken\":").contains("\"allowed\":true", "\"remaining\":0");
    String none = server.post("/v1/spend", upTo(",\"cost\":9000000")).body();
    assertThat(none).startsWith("{\"taken\":0,\"allowed\":false");
    String line = "{\"op\":\"spend\"," + upTo(",\"cost\":3").substring(1) + "\n";
    assertThat(
            server
                .send(
                    "POST", "/v1/decisions", BodyPublishers.ofString(line), "application/x-ndjson")
                .body())
        .startsWith("{\"taken\":0,");
  }

  @Test
  void spendUpTo_withoutACostOrInAnotherAct_isRefused() {
    assertThat(server.post("/v1/spend", upTo("")).body())
        .contains("the cost is missing, expected the largest number of tokens to spend, 1 or more");
    assertThat(server.post("/v1/spend", upTo(",\"cost\":0")).body())
        .contains("found 0, expected the largest number of tokens to spend, 1 or more");
    for (String act : List.of("check", "refund", "reset", "reservations")) {
      HttpResponse<String> refused = server.post("/v1/" + act, upTo(",\"cost\":3"));
      assertThat(refused.statusCode()).as(act).isEqualTo(400);
      assertThat(refused.body()).as(act).contains("found upTo, expected upTo only in a spend");
    }
    assertThat(server.post("/v1/spend", "{\"transactions\":[" + LOGIN + "],\"upTo\":true}").body())
        .contains("found upTo in a batch, expected upTo with a single transaction only");
    assertThat(server.post("/v1/spend", upTo(",\"cost\":3").replace("true", "1")).body())
        .contains("found the number 1, expected true or false");
  }

  @Test
  void limits_haveATag_byWhichACallerLearnsThatNothingHasChanged() {
    HttpResponse<String> first = server.get("/v1/limits");
    String tag = first.headers().firstValue("ETag").orElseThrow();
    HttpResponse<String> second =
        server.send("GET", "/v1/limits", BodyPublishers.noBody(), null, "If-None-Match", tag);
    assertThat(second.statusCode()).isEqualTo(304);
    assertThat(second.body()).isEmpty();
    assertThat(second.headers().firstValue("ETag")).hasValue(tag);
    HttpResponse<String> other =
        server.send("GET", "/v1/limits", BodyPublishers.noBody(), null, "If-None-Match", "\"x\"");
    assertThat(other.body()).isEqualTo(first.body());
    HttpResponse<String> any =
        server.send("GET", "/v1/limits", BodyPublishers.noBody(), null, "If-None-Match", "*");
    assertThat(any.statusCode()).isEqualTo(304);
  }

  @Test
  void spend_thatFits_answersTheWholeDecision() {
    HttpResponse<String> answer = server.post("/v1/spend", LOGIN);

    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.body())
        .isEqualTo(
            "{\"allowed\":true,\"limited\":true,\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.7\","
                + "\"bucketKey\":\"101:192.0.2.7\",\"decidedBy\":\"store\",\"remaining\":9,\"burst\":10,\"count\":10,"
                + "\"period\":\"1m0s\",\"periodSeconds\":60,"
                + "\"retryInNanos\":0,\"retryInSeconds\":0,"
                + "\"resetInNanos\":6000000000,\"resetInSeconds\":6}");
    assertThat(answer.headers().firstValue("Cache-Control")).hasValue("no-store");
    assertThat(answer.headers().firstValue("Retry-After")).isEmpty();
  }

  @Test
  void spend_thatIsDenied_is200WithMessageAndRetryAfterRoundedUp() {
    assertThat(server.post("/v1/spend", SLOW_2).statusCode()).isEqualTo(200);
    HttpResponse<String> denied = server.post("/v1/spend", SLOW_2);

    assertThat(denied.statusCode()).isEqualTo(200);
    JsonNode decision = TestServer.json(denied);
    assertThat(decision.get("allowed").asBoolean()).isFalse();
    assertThat(decision.get("retryInNanos").asLong()).isEqualTo(3_000_000_000L);
    assertThat(decision.get("message").asText()).contains("API calls (2)", "retry after");
    assertThat(denied.headers().firstValue("Retry-After").orElseThrow()).isIn("3", "4");

    time.advanceNanos(1);
    assertThat(server.post("/v1/spend", SLOW_2).headers().firstValue("Retry-After").orElseThrow())
        .isIn("3", "4");
  }

  @Test
  void denial_isA429_whereTheCallerAsksForIt() {
    assertThat(server.post("/v1/spend?status=429", SLOW_2).statusCode()).isEqualTo(200);
    assertThat(server.post("/v1/spend?status=429", SLOW_2).statusCode()).isEqualTo(429);
    assertThat(server.post("/v1/check?status=429", SLOW_2).statusCode()).isEqualTo(429);
    assertThat(server.post("/v1/check?status=200", SLOW_2).statusCode()).isEqualTo(200);
  }

  @Test
  void check_changesNothing() {
    for (int i = 0; i < 3; i++) {
      JsonNode decision = TestServer.json(server.post("/v1/check", LOGIN));
      assertThat(decision.get("remaining").asLong()).isEqualTo(9);
    }
  }

  @Test
  void refund_givesBack_andSaysSoWhenThereIsNothing() {
    server.post("/v1/spend", LOGIN);
    JsonNode refunded = TestServer.json(server.post("/v1/refund", LOGIN));
    assertThat(refunded.get("allowed").asBoolean()).isTrue();
    assertThat(refunded.get("remaining").asLong()).isEqualTo(10);

    HttpResponse<String> nothing = server.post("/v1/refund", LOGIN);
    assertThat(TestServer.json(nothing).get("allowed").asBoolean()).isFalse();
    assertThat(TestServer.json(nothing).has("message")).isFalse();
    assertThat(nothing.headers().firstValue("Retry-After")).isEmpty();
  }

  @Test
  void reset_answersThatItWasReset() {
    server.post("/v1/spend", SLOW_2);
    assertThat(server.post("/v1/reset", SLOW_2.replace(",\"cost\":2", "")).body())
        .isEqualTo("{\"reset\":true}");
    assertThat(TestServer.json(server.post("/v1/spend", SLOW_2)).get("allowed").asBoolean())
        .isTrue();
  }

  @Test
  void batch_answersTheStrictestAndEachOwn() {
    String batch =
        "{\"transactions\":[{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.7\"},"
            + "{\"limit\":\"ApiCallsPerKey\",\"id\":\"slow\",\"cost\":2,\"kind\":\"checkOnly\"},"
            + "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\",\"kind\":\"spendOnly\"}]}";
    server.post("/v1/spend", SLOW_2);

    JsonNode denied = TestServer.json(server.post("/v1/spend", batch));
    assertThat(denied.get("allowed").asBoolean()).isFalse();
    assertThat(denied.get("id").asText()).isEqualTo("slow");
    assertThat(denied.get("decisions")).hasSize(3);
    assertThat(denied.at("/decisions/0/allowed").asBoolean()).isTrue();
    assertThat(denied.at("/decisions/0/remaining").asLong()).as("not spent").isEqualTo(10);
    assertThat(denied.at("/decisions/0/resetInNanos").asLong()).as("not spent").isZero();
    assertThat(denied.at("/decisions/1/message").asText()).isNotEmpty();

    JsonNode untouched =
        TestServer.json(server.get("/v1/limits/LoginsPerIPAddress/buckets/192.0.2.7"));
    assertThat(untouched.get("remaining").asLong()).as("all or nothing").isEqualTo(10);
  }

  @Test
  void batch_inWhichNothingIsChecked_hasNoStrictest() {
    String batch =
        "{\"transactions\":[{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\",\"kind\":\"spendOnly\"}]}";
    JsonNode allowed = TestServer.json(server.post("/v1/spend", batch));
    assertThat(allowed.get("limited").asBoolean()).isFalse();
    assertThat(allowed.get("reason").asText()).isEqualTo("nothingToCheck");
    assertThat(allowed.has("limit")).isFalse();
    assertThat(allowed.has("remaining")).isFalse();
    assertThat(allowed.at("/decisions/0/remaining").asLong()).isEqualTo(99);
  }

  @Test
  void limitThatIsUnlimited_isAllowed_andTheAnswerSaysWhy() {
    String body = "{\"limit\":\"FailedLoginsPerIPAddress\",\"id\":\"192.0.2.7\"}";
    for (String act : List.of("check", "spend")) {
      assertThat(server.post("/v1/" + act, body).body())
          .isEqualTo(
              "{\"allowed\":true,\"limited\":false,\"reason\":\"unlimited\","
                  + "\"limit\":\"FailedLoginsPerIPAddress\",\"id\":\"192.0.2.7\","
                  + "\"bucketKey\":\"102:192.0.2.7\",\"retryInNanos\":0,\"retryInSeconds\":0,"
                  + "\"resetInNanos\":0,\"resetInSeconds\":0}");
    }
    JsonNode refund = TestServer.json(server.post("/v1/refund", body));
    assertThat(refund.get("allowed").asBoolean()).as("nothing was given back").isFalse();
    assertThat(refund.get("limited").asBoolean()).isFalse();
    JsonNode bucket =
        TestServer.json(server.get("/v1/limits/FailedLoginsPerIPAddress/buckets/192.0.2.7"));
    assertThat(bucket.get("reason").asText()).isEqualTo("unlimited");
  }

  @Test
  void limitWithOverridesAlone_refusesOtherIds() {
    String body = "{\"limit\":\"LoginsPerUserPerIPAddress\",\"id\":\"192.0.2.8:bob\"}";
    for (String act : List.of("check", "spend", "refund", "reset", "reservations")) {
      HttpResponse<String> refused = server.post("/v1/" + act, body);
      assertThat(refused.statusCode()).as(act).isEqualTo(404);
      assertThat(refused.body())
          .contains("\"type\":\"tag:sluice.dev,2026:unknown-limit\"")
          .contains("LoginsPerUserPerIPAddress has no default; write burst, count and period");
    }
    assertThat(
            server.get("/v1/limits/LoginsPerUserPerIPAddress/buckets/192.0.2.8%3Abob").statusCode())
        .isEqualTo(404);
    HttpResponse<String> batch =
        server.post(
            "/v1/spend",
            "{\"transactions\":[{\"limit\":\"LoginsPerUserPerIPAddress\",\"id\":\"192.0.2.7:bob\"},"
                + body
                + "]}");
    assertThat(batch.statusCode()).isEqualTo(404);
    assertThat(batch.body()).contains("\"field\":\"transactions[1].limit\"");
    JsonNode overridden =
        TestServer.json(
            server.post(
                "/v1/spend", "{\"limit\":\"LoginsPerUserPerIPAddress\",\"id\":\"192.0.2.7:bob\"}"));
    assertThat(overridden.get("limited").asBoolean()).isTrue();
    assertThat(overridden.get("remaining").asLong()).isZero();
  }

  @ParameterizedTest
  @EnumSource(
      value = MissingDefault.class,
      names = {"WARN", "ALLOW"})
  void missingDefaultThatIsAllowed_isNotLimited_andTheAnswerSaysWhy(MissingDefault policy) {
    try (TestServer open = new TestServer(SampleFixture.limits(), store, policy)) {
      String noDefault = "{\"limit\":\"LoginsPerUserPerIPAddress\",\"id\":\"192.0.2.8:bob\"}";
      assertThat(open.post("/v1/spend", noDefault).body())
          .startsWith("{\"allowed\":true,\"limited\":false,\"reason\":\"noDefault\",");
      String notConfigured = "{\"limit\":\"SignUpsPerIPAddress\",\"id\":\"192.0.2.7\"}";
      assertThat(open.post("/v1/spend", notConfigured).body())
          .startsWith("{\"allowed\":true,\"limited\":false,\"reason\":\"notConfigured\",");
    }
  }

  @Test
  void limitThatIsNotConfigured_isAnsweredLikeAnUnknownOne() {
    String body = "{\"limit\":\"SignUpsPerIPAddress\",\"id\":\"192.0.2.7\"}";
    for (String act : List.of("check", "spend", "refund", "reset")) {
      HttpResponse<String> refused = server.post("/v1/" + act, body);
      assertThat(refused.statusCode()).as(act).isEqualTo(404);
      assertThat(refused.body()).contains("SignUpsPerIPAddress has no default");
    }
    assertThat(server.get("/v1/limits/SignUpsPerIPAddress").statusCode()).isEqualTo(404);
    assertThat(server.get("/v1/limits/SignUpsPerIPAddress/buckets/192.0.2.7").statusCode())
        .isEqualTo(404);
    String limits = server.get("/v1/limits").body();
    assertThat(limits)
        .contains("FailedLoginsPerIPAddress", "\"reason\":\"unlimited\"", "\"noDefault\"")
        .doesNotContain("SignUpsPerIPAddress", "null");
  }

  @ParameterizedTest
  @CsvSource({
    "SignUpsPerIPv6Range, 2001:db8::%2F64, 2001:db8::/64",
    "SignUpsPerIPv6Range, 2001%3Adb8%3A%3A%2F64, 2001:db8::/64",
    "SignUpsPerIPv6Range, 2001:0DB8::/64, 2001:db8::/64",
    "ApiCallsPerKey, a%3Bb;c%2Fd%25+e%20f%3Fg, a;b;c/d%+e f?g",
    "ApiCallsPerKey, %C3%BC, ü",
    "ApiCallsPerKey, %E2%82%AC//x, €//x",
  })
  void bucket_ofAnyId_isFoundByItsEncodedPath(String limit, String encoded, String id) {
    HttpResponse<String> answer = server.get("/v1/limits/" + limit + "/buckets/" + encoded);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    assertThat(TestServer.json(answer).get("id").asText()).isEqualTo(id);
  }

  @Test
  void limits_areListedWithTheirDefaults() {
    JsonNode limits = TestServer.json(server.get("/v1/limits")).get("limits");
    assertThat(limits).hasSize(5);
    assertThat(limits.get(0).toString())
        .isEqualTo(
            "{\"name\":\"ApiCallsPerKey\",\"number\":104,\"id\":\"string\",\"limited\":true,"
                + "\"burst\":100,\"count\":50,\"period\":\"1s\",\"periodSeconds\":1,"
                + "\"overrides\":1}");
    assertThat(limits.findValuesAsText("name"))
        .contains("LoginsPerIPAddress", "FailedLoginsPerIPAddress");
  }

  @Test
  void limitWithoutANumber_isServedByItsName() {
    Limits own =
        Limits.builder(Catalogue.of(LimitName.builder("ExportsPerUser").build()))
            .limit("ExportsPerUser", Quota.per(10, Duration.ofMinutes(1)))
            .build();
    try (TestServer one = new TestServer(own, BucketStore.inMemory(time))) {
      assertThat(one.post("/v1/spend", "{\"limit\":\"ExportsPerUser\",\"id\":\"42\"}").body())
          .contains("\"remaining\":9");
      JsonNode limit = TestServer.json(one.get("/v1/limits/ExportsPerUser"));
      assertThat(limit.has("number")).isFalse();
      assertThat(one.get("/v1/limits/ExportsPerUser/buckets/42").body()).contains("\"id\":\"42\"");
    }
  }

  @Test
  void limit_isDescribedAsInTheList() {
    JsonNode limits = TestServer.json(server.get("/v1/limits")).get("limits");
    for (JsonNode limit : limits) {
      HttpResponse<String> one = server.get("/v1/limits/" + limit.get("name").asText());
      assertThat(one.statusCode()).isEqualTo(200);
      assertThat(TestServer.json(one)).isEqualTo(limit);
    }
  }

  @Test
  void seconds_haveAllDigitsOfTheNanoseconds() {
    server.post("/v1/spend", SLOW_2);
    time.advanceNanos(1);
    String body = server.post("/v1/spend", SLOW_2).body();
    assertThat(body)
        .contains("\"period\":\"1.5s\",\"periodSeconds\":1.5,")
        .contains("\"retryInNanos\":2999999999,\"retryInSeconds\":2.999999999,");
    time.advanceNanos(2_999_999_949L);
    assertThat(server.get("/v1/limits/ApiCallsPerKey/buckets/slow").body())
        .contains("\"resetInNanos\":50,\"resetInSeconds\":0.00000005,");
  }

  /** A check says what a spend would leave, a bucket what is in it. */
  @Test
  void check_answersWhatASpendWouldLeave_andABucketWhatItHolds() {
    JsonNode check = TestServer.json(server.post("/v1/check", LOGIN));
    JsonNode bucket =
        TestServer.json(server.get("/v1/limits/LoginsPerIPAddress/buckets/192.0.2.7"));
    JsonNode spend = TestServer.json(server.post("/v1/spend", LOGIN));
    assertThat(bucket.get("remaining").asLong()).isEqualTo(10);
    assertThat(check.get("remaining").asLong()).isEqualTo(9);
    assertThat(check).isEqualTo(spend);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/",
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/v1/limits",
        "/v1/limits/ApiCallsPerKey"
      })
  void head_isGetWithoutItsBody(String path) {
    HttpResponse<String> get = server.get(path);
    HttpResponse<String> head = server.send("HEAD", path, BodyPublishers.noBody(), null);
    assertThat(get.statusCode()).isEqualTo(200);
    assertThat(head.statusCode()).isEqualTo(200);
    assertThat(head.body()).isEmpty();
    assertThat(head.headers().firstValue("Content-Length"))
        .isEqualTo(get.headers().firstValue("Content-Length"));
  }

  @Test
  void options_listsTheMethods() {
    HttpResponse<String> post = server.send("OPTIONS", "/v1/spend", BodyPublishers.noBody(), null);
    assertThat(post.statusCode()).isEqualTo(204);
    assertThat(post.headers().firstValue("Allow")).hasValue("POST, OPTIONS");
    HttpResponse<String> get = server.send("OPTIONS", "/healthz", BodyPublishers.noBody(), null);
    assertThat(get.headers().firstValue("Allow")).hasValue("GET, HEAD, OPTIONS");
  }
}
