// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Limits with several quotas over HTTP. */
final class HttpSeveralQuotasTest {

  private static final List<Quota> QUOTAS =
      List.of(Quota.per(100, Duration.ofHours(1)), Quota.per(10, Duration.ofSeconds(1)));
  private static final String CALL = "{\"limit\":\"Calls\",\"id\":\"a\",\"cost\":7}";

  private final BucketStore store = BucketStore.inMemory(new ManualTime());
  private final TestServer server = new TestServer(limits(), store);
  private final OpenApiDocument document =
      new OpenApiDocument(TestServer.json(server.get("/openapi.json")));

  private static Limits limits() {
    LimitName calls = LimitName.builder("Calls").build();
    List<Quota> slow =
        List.of(Quota.per(5, Duration.ofDays(1)), Quota.per(1, Duration.ofMinutes(1)));
    return Limits.builder(Catalogue.of(calls))
        .limit("Calls", QUOTAS)
        .override(new LimitOverride(calls, "slow", slow, "", "", null))
        .build();
  }

  @AfterEach
  void stop() {
    server.close();
    store.close();
  }

  private JsonNode asDescribed(String schema, HttpResponse<String> answer) {
    JsonNode json = TestServer.json(answer);
    JsonNode described = document.json().at("/components/schemas/" + schema);
    assertThat(document.faults(described, json)).isEmpty();
    return json;
  }

  @Test
  void explain_describesTheStrictest_andNamesEachQuota() {
    var unused = asDescribed("Decision", server.post("/v1/spend", CALL));
    JsonNode lines =
        TestServer.json(server.post("/v1/explain", "{\"limit\":\"Calls\",\"id\":\"a\"}"))
            .get("lines");
    assertThat(lines.get(0).textValue())
        .isEqualTo("Calls of a: 3 of 10 tokens left, a request passes now");
    assertThat(lines.get(1).textValue())
        .isEqualTo("limited by the default: 100 per 1h, burst 100 and 10 per 1s, burst 10");
  }

  @Test
  void spend_answersWithTheStrictest_andWithEach() {
    JsonNode first = asDescribed("Decision", server.post("/v1/spend", CALL));
    assertThat(first.get("burst").longValue()).isEqualTo(10);
    assertThat(first.get("remaining").longValue()).isEqualTo(3);
    assertThat(first.get("bucketKey").textValue()).isEqualTo("Calls:a");
    assertThat(first.get("quotas").get(0).toString())
        .isEqualTo(
            "{\"allowed\":true,\"burst\":100,\"count\":100,\"period\":\"1h0m0s\",\"periodSeconds\":3600,\"remaining\":93,\"retryInNanos\":0,\"retryInSeconds\":0,\"resetInNanos\":252000000000,\"resetInSeconds\":252}");
    JsonNode denied = asDescribed("Decision", server.post("/v1/spend", CALL));
    assertThat(denied.get("allowed").booleanValue()).isFalse();
    assertThat(denied.get("quotas").get(0).get("remaining").longValue()).isEqualTo(93);
    assertThat(denied.get("quotas").get(1).get("retryInNanos").longValue()).isEqualTo(400_000_000);
    JsonNode slow =
        asDescribed("Decision", server.post("/v1/check", "{\"limit\":\"Calls\",\"id\":\"slow\"}"));
    assertThat(slow.get("quotas").get(1).get("period").textValue()).isEqualTo("1m0s");
    JsonNode batch =
        TestServer.json(server.post("/v1/check", "{\"transactions\":[%s]}".formatted(CALL)));
    assertThat(batch.get("decisions").get(0).get("quotas")).hasSize(2);
  }

  @Test
  void cost_thatDoesNotFit_isABadRequest() {
    HttpResponse<String> above =
        server.post("/v1/spend", "{\"limit\":\"Calls\",\"id\":\"a\",\"cost\":11}");
    assertThat(above.statusCode()).isEqualTo(400);
    assertThat(above.body()).contains("exceeds the burst (10) of the quota with the period 1s");
    String upTo = "{\"limit\":\"Calls\",\"id\":\"a\",\"cost\":7,\"upTo\":true}";
    for (long taken : List.of(7L, 3L, 0L)) {
      JsonNode answer = asDescribed("Decision", server.post("/v1/spend", upTo));
      assertThat(answer.get("taken").longValue()).isEqualTo(taken);
      assertThat(answer.get("quotas")).hasSize(2);
    }
  }

  @Test
  void limitsAndOverrides_listAllQuotas() {
    JsonNode limit = asDescribed("Limit", server.get("/v1/limits/Calls"));
    assertThat(limit.get("burst").longValue()).isEqualTo(100);
    assertThat(limit.get("quotas")).hasSize(2);
    JsonNode slow = asDescribed("Override", server.get("/v1/admin/overrides/Calls/slow"));
    assertThat(slow.get("quotas").get(1).get("burst").longValue()).isEqualTo(1);
  }

  @Test
  void overrideWithSeveralQuotas_isReplacedByOne_onlyByForce() {
    String body = "{\"burst\":900,\"count\":900,\"period\":\"1m\"}";
    HttpResponse<String> refused = put("slow", body);
    assertThat(refused.statusCode()).isEqualTo(409);
    assertThat(refused.body()).contains("has several quotas", "fewer", "add force=true");
    assertThat(put("slow?force=true", body).statusCode()).isEqualTo(200);
  }

  @Test
  void override_isSetWithSeveralQuotas_asObjectsOrTexts() {
    HttpResponse<String> set =
        put("b", "{\"quotas\":[{\"burst\":9,\"count\":5,\"period\":\"1s\"},\"50 per 1h\"]}");
    assertThat(set.statusCode()).as(set.body()).isEqualTo(200);
    JsonNode json = asDescribed("Override", set);
    assertThat(json.get("count").longValue()).isEqualTo(50);
    assertThat(json.get("quotas").findValuesAsText("burst")).containsExactly("50", "9");
    JsonNode spent =
        TestServer.json(server.post("/v1/spend", "{\"limit\":\"Calls\",\"id\":\"b\",\"cost\":9}"));
    assertThat(spent.get("quotas").findValuesAsText("remaining")).containsExactly("41", "0");
    assertThat(put("b", "{\"quotas\":[\"50 per 1h\",\"5 per 1s, burst 8\"]}").statusCode())
        .as("a lower one")
        .isEqualTo(409);
    assertThat(put("c", "{\"quotas\":[\"50 per 1h\"]}").statusCode()).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[] | quotas | found 0 quotas, expected 1 to 4",
        "['1 per 1s','1 per 2s','1 per 3s','1 per 4s','1 per 5s','1 per 6s'] | quotas | found 6 quotas, expected 1 to 4",
        "['1 per 1s','2 per 1000ms'] | quotas | two quotas with the same period",
        "7 | quotas | found no list, expected a list of quotas",
        "['1 per 1s','lots'] | quotas[1] | expected COUNT per PERIOD",
        "['1 per 1s',7] | quotas[1] | expected a text such as 10 per 1s",
        "['1 per 1s',[7]] | quotas[1] | expected a text such as 10 per 1s",
        "['0 per 1s'] | quotas[0] | count: found 0",
        "[{'burst':1,'count':1}] | quotas[0].period | the field is missing",
        "[{'burst':1,'count':'1','period':'1s'}] | quotas[0].count | found a string",
        "[{'burst':1,'count':1,'period':'1s','id':'x'}] | quotas[0].id | unknown field",
        "[{'burst':[],'count':1,'period':'1s'}] | quotas[0].burst | a value of the wrong type",
      })
  void override_withWrongQuotas_namesEach(String quotas, String field, String reason) {
    HttpResponse<String> answer = put("b", ("{'quotas':" + quotas + "}").replace('\'', '"'));
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(answer.body()).contains("\"field\":\"" + field + "\"", reason);
    assertThat(server.get("/v1/admin/overrides/Calls/b").statusCode()).isEqualTo(404);
  }

  @Test
  void override_withBothForms_orAListWhereNoneBelongs_isRefused() {
    assertThat(put("b", "{\"burst\":3,\"quotas\":[\"1 per 1s\"]}").body())
        .contains("\"field\":\"burst\"", "found this field and quotas, expected only one");
    assertThat(put("b", "{\"burst\":[3],\"count\":1,\"period\":\"1s\"}").body())
        .contains("\"field\":\"burst\"", "a value of the wrong type");
  }

  @Test
  void override_thatIsChanged_keepsItsCommentAndAuthor() {
    String quota = "{\"burst\":9,\"count\":9,\"period\":\"1m\"";
    var unused = put("b", quota + ",\"comment\":\"ticket 1\",\"author\":\"ann\"}");
    assertThat(put("b", quota.replace('9', '8') + "}").statusCode()).isEqualTo(409);
    assertThat(put("b", quota.replace("9", "10") + "}").body())
        .contains("\"comment\":\"ticket 1\",\"author\":\"ann\"");
  }

  private HttpResponse<String> put(String id, String body) {
    return server.send(
        "PUT",
        "/v1/admin/overrides/Calls/" + id,
        BodyPublishers.ofString(body),
        "application/json");
  }

  @Test
  void reservation_isCancelledAndSettled_onEachBucket() {
    HttpResponse<String> cancelled =
        server.send(
            "POST", "/v1/reservations/" + token() + "/cancel", BodyPublishers.noBody(), null);
    assertThat(cancelled.body()).isEqualTo("{\"cancelled\":true}");
    assertThat(bucket().get("quotas").findValuesAsText("remaining")).containsExactly("100", "10");
    JsonNode settled =
        asDescribed(
            "Settlement",
            server.post("/v1/reservations/" + token() + "/settle", "{\"costs\":{\"Calls\":9}}"));
    assertThat(settled.get("limits").findValuesAsText("period")).containsExactly("1h0m0s", "1s");
    assertThat(bucket().get("quotas").findValuesAsText("remaining")).containsExactly("91", "1");
  }

  private String token() {
    return TestServer.json(server.post("/v1/reservations", CALL)).get("token").textValue();
  }

  private JsonNode bucket() {
    return TestServer.json(server.get("/v1/limits/Calls/buckets/a"));
  }
}
