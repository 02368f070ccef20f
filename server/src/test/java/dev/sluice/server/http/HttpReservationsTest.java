// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code POST /v1/reservations} and {@code POST /v1/reservations/{token}/cancel}. */
final class HttpReservationsTest {

  private static final String LOGIN =
      "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.7\",\"cost\":4}";
  private static final String STATE = "/v1/limits/LoginsPerIPAddress/buckets/192.0.2.7";

  private final ManualTime time = new ManualTime();
  private final BucketStore store = BucketStore.inMemory(time);
  private final TestServer server = new TestServer(SampleFixture.limits(), store);

  @AfterEach
  void stop() {
    server.close();
    store.close();
  }

  private long remaining() {
    return TestServer.json(server.get(STATE)).get("remaining").longValue();
  }

  private HttpResponse<String> cancel(String token) {
    return server.send(
        "POST", "/v1/reservations/" + token + "/cancel", BodyPublishers.noBody(), null);
  }

  @Test
  void reservation_spends_andItsCancellationGivesBack_once() {
    JsonNode held = TestServer.json(server.post("/v1/reservations", LOGIN));
    assertThat(held.get("allowed").booleanValue()).isTrue();
    assertThat(held.get("remaining").longValue()).isEqualTo(6);
    assertThat(held.get("expiresInSeconds").intValue()).isEqualTo(600);
    assertThat(remaining()).isEqualTo(6);
    String token = held.get("token").textValue();

    HttpResponse<String> first = cancel(token);
    HttpResponse<String> second = cancel(token);

    assertThat(first.statusCode()).isEqualTo(200);
    assertThat(first.body()).isEqualTo("{\"cancelled\":true}");
    assertThat(remaining()).isEqualTo(10);
    assertThat(second.statusCode()).isEqualTo(409);
    assertThat(TestServer.json(second).get("type").textValue()).endsWith(":cancelled-reservation");
  }

  @Test
  void batch_isReservedAsAWhole() {
    JsonNode held =
        TestServer.json(
            server.post(
                "/v1/reservations?expires=30s",
                "{\"transactions\":[{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.7\"},"
                    + "{\"limit\":\"ApiCallsPerKey\",\"id\":\"a\",\"cost\":2}]}"));
    assertThat(held.get("decisions")).hasSize(2);
    assertThat(held.get("expiresInSeconds").intValue()).isEqualTo(30);

    assertThat(cancel(held.get("token").textValue()).statusCode()).isEqualTo(200);

    assertThat(remaining()).isEqualTo(10);
  }

  private HttpResponse<String> settle(String token, String body) {
    return server.post("/v1/reservations/" + token + "/settle", body);
  }

  private String reserved() {
    return TestServer.json(server.post("/v1/reservations", LOGIN)).get("token").textValue();
  }

  @Test
  void settlement_replacesTheCost_once() {
    String token = reserved();

    HttpResponse<String> settled = settle(token, "{\"costs\":{\"LoginsPerIPAddress\":12}}");

    assertThat(settled.statusCode()).isEqualTo(200);
    assertThat(settled.body())
        .isEqualTo(
            "{\"settled\":true,\"limits\":[{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.7\",\"charged\":10,\"givenBack\":0,\"owed\":0,\"cut\":2,\"remaining\":0}]}");
    assertThat(settle(token, "{\"costs\":{\"LoginsPerIPAddress\":1}}").statusCode()).isEqualTo(409);
    assertThat(cancel(token).statusCode()).isEqualTo(409);
    assertThat(remaining()).isZero();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'costs':{'LoginsPerIPAddress':0}} | costs | cost of LoginsPerIPAddress: found 0, expected 1 or more; if the call cost nothing, set allowZero (ALLOWZERO over the Redis protocol)",
        "{'costs':{'LoginsPerIPAddres':5}} | costs | the reservation has no limit LoginsPerIPAddres; did you mean \"LoginsPerIPAddress\"?; it has LoginsPerIPAddress",
        "{'costs':{'LoginsPerIPAddress':-1}} | costs.LoginsPerIPAddress | found -1, expected 0 or more",
        "{'costs':{'LoginsPerIPAddress':'5'}} | costs.LoginsPerIPAddress | found the string \"5\", expected a whole number, without quotes",
        "{'costs':{'LoginsPerIPAddress':5,'LoginsPerIPAddress':5}} | costs.LoginsPerIPAddress | found the cost twice, expected it once",
        "{'costs':{'LoginsPerIPAddress':{'192.0.2.7':5},'LoginsPerIPAddress':{'192.0.2.8':5}}} | costs.LoginsPerIPAddress | found the limit twice, expected it once",
        "{'costs':{'LoginsPerIPAddress':{'192.0.2.7':5},'LoginsPerIPAddress':5}} | costs.LoginsPerIPAddress | found the cost twice, expected it once",
        "{'costs':{'Typo':{}}} | costs.Typo | found {}, expected a cost, or an object with a cost for each id",
        "{'costs':5} | costs | found the number 5, expected an object with a cost for each limit",
        "{'costs':{},'cost':5} | cost | found the unknown field \"cost\", expected costs, allowZero; did you mean \"costs\"?",
        "{} | costs | the costs are missing, expected an object with a cost for each limit",
      })
  void settlement_withAMistake_isRefused_andTheTokenStaysGood(
      String body, String field, String detail) {
    String token = reserved();

    HttpResponse<String> refused = settle(token, body.replace('\'', '"'));

    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(TestServer.json(refused).get("field").textValue()).isEqualTo(field);
    assertThat(TestServer.json(refused).get("detail").textValue()).isEqualTo(detail);
    assertThat(settle(token, "{\"costs\":{\"LoginsPerIPAddress\":0},\"allowZero\":true}").body())
        .contains("\"charged\":0,\"givenBack\":4");
    assertThat(remaining()).isEqualTo(10);
  }

  @Test
  void settlement_ofSeveralBucketsOfALimit_hasACostForEachId() {
    JsonNode held =
        TestServer.json(
            server.post(
                "/v1/reservations",
                "{\"transactions\":[{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.7\",\"cost\":4},"
                    + "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"2001:DB8::1\"}]}"));
    String token = held.get("token").textValue();

    HttpResponse<String> refused = settle(token, "{\"costs\":{\"LoginsPerIPAddress\":2}}");
    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(refused.body()).contains("has several buckets of LoginsPerIPAddress");
    JsonNode settled =
        TestServer.json(
            settle(
                token, "{\"costs\":{\"LoginsPerIPAddress\":{\"192.0.2.7\":2,\"2001:DB8::1\":3}}}"));

    assertThat(settled.get("limits")).hasSize(2);
    assertThat(settled.get("limits").get(0).get("remaining").longValue()).isEqualTo(8);
    assertThat(settled.get("limits").get(1).get("remaining").longValue()).isEqualTo(7);
  }

  @Test
  void settlement_ofAnUnlimitedBatch_isKnown() {
    JsonNode held =
        TestServer.json(
            server.post(
                "/v1/reservations",
                "{\"transactions\":[{\"limit\":\"FailedLoginsPerIPAddress\",\"id\":\"192.0.2.7\"}]}"));
    assertThat(
            settle(held.get("token").textValue(), "{\"costs\":{\"FailedLoginsPerIPAddress\":3}}")
                .body())
        .isEqualTo("{\"settled\":true,\"limits\":[]}");
  }

  @Test
  void denial_hasNoToken_andTheFormThatWasAskedFor() {
    server.post("/v1/spend", LOGIN);
    server.post("/v1/spend", LOGIN);

    HttpResponse<String> denied = server.post("/v1/reservations?status=429&headers=ietf", LOGIN);

    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(denied.headers().firstValue("Retry-After")).isPresent();
    assertThat(denied.headers().firstValue("RateLimit")).isPresent();
    assertThat(TestServer.json(denied).has("token")).isFalse();
  }

  @Test
  void cancel_afterTheTokensWereRefilled_givesBackNothing() {
    String token = TestServer.json(server.post("/v1/reservations", LOGIN)).get("token").textValue();
    time.advance(Duration.ofMinutes(2));
    server.post("/v1/spend", LOGIN);

    assertThat(cancel(token).statusCode()).isEqualTo(200);

    assertThat(remaining()).isEqualTo(6);
  }

  @ParameterizedTest
  @ValueSource(strings = {"x", "AAAA", "a%20b"})
  void unknownToken_isNotFound(String token) {
    HttpResponse<String> answer = cancel(token);

    assertThat(answer.statusCode()).isEqualTo(404);
    assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/problem+json");
  }

  @ParameterizedTest
  @CsvSource({
    "POST,/v1/reservations/x/%63ancel,404",
    "POST,/v1/reservations/x/cancel/,404",
    "POST,/v1/reservations/x,404",
    "POST,/v1/reservations/x/settle,415",
    "GET,/v1/reservations/x/settle,405",
    "POST,/v1/reservations//cancel,404",
    "GET,/v1/reservations/x/cancel,405",
    "GET,/v1/reservations,405",
    "POST,/v1/reservations/x/cancel?again=1,400",
  })
  void otherPath_leadsNowhere(String method, String path, int status) {
    assertThat(server.send(method, path, BodyPublishers.noBody(), null).statusCode())
        .isEqualTo(status);
  }

  @Test
  void life_outOfItsRange_isRefused_andNothingIsSpent() {
    HttpResponse<String> answer = server.post("/v1/reservations?expires=2d", LOGIN);

    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(TestServer.json(answer).get("field").textValue()).isEqualTo("expires");
    assertThat(TestServer.json(answer).get("detail").textValue())
        .isEqualTo("found 48h, expected a time from 1s to 24h");
    assertThat(remaining()).isEqualTo(10);
  }
}
