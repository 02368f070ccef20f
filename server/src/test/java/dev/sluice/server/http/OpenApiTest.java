// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.sluice.store.BucketStore;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The OpenAPI document, held against the answers that the server really gives. */
final class OpenApiTest {

  private static final Pattern ROUTE =
      Pattern.compile("^(?:POST|GET |ANY ) +(/\\S*)(?:  (/\\S+))?", Pattern.MULTILINE);

  private static BucketStore store;
  private static TestServer server;
  private static OpenApiDocument document;

  @BeforeAll
  static void start() {
    store = BucketStore.inMemory();
    server = new TestServer(SampleFixture.limits(), store);
    document = new OpenApiDocument(TestServer.json(server.get("/openapi.json")));
  }

  @AfterAll
  static void stop() {
    server.close();
    store.close();
  }

  @Test
  void document_isOpenApi31_andEveryReferenceLeadsSomewhere() {
    assertThat(document.json().get("openapi").asText()).isEqualTo("3.1.0");
    assertThat(document.faults()).isEmpty();
    for (JsonNode reference : document.json().findParents("$ref")) {
      assertThat(document.resolved(reference).isMissingNode()).as(reference.toString()).isFalse();
    }
  }

  /** Or the checks would prove nothing. */
  @Test
  void document_withAMistake_isNotOpenApi() {
    ObjectNode wrong = document.json().deepCopy();
    ((ObjectNode) wrong.at("/paths/~1v1~1limits/get")).remove("responses");
    wrong.putObject("info");
    assertThat(new OpenApiDocument(wrong).faults()).isNotEmpty();
    JsonNode decision = document.json().at("/components/schemas/Decision");
    assertThat(document.faults(decision, TestServer.JSON.createObjectNode())).isNotEmpty();
  }

  @Test
  void index_andDocument_listTheSamePaths() {
    TreeSet<String> listed = new TreeSet<>();
    Matcher route = ROUTE.matcher(server.get("/").body());
    while (route.find()) {
      listed.add(route.group(1));
      if (route.group(2) != null) {
        listed.add(route.group(2));
      }
    }
    TreeSet<String> described = new TreeSet<>();
    document
        .json()
        .get("paths")
        .fieldNames()
        .forEachRemaining(
            path ->
                described.add(
                    path.replace("{name}", "NAME")
                        .replace("{id}", "ID")
                        .replace("{token}", "TOKEN")));
    described.remove("/"); // the index itself
    assertThat(listed).isEqualTo(described);
  }

  /** A bound on clients or a store that is away is a problem, also where a denial is none. */
  @Test
  void statusOfADenial_canAlsoHaveAProblem() {
    for (JsonNode responses : document.json().get("paths").findValues("responses")) {
      if (responses.has("429")) {
        assertThat(contents(responses, 429)).contains("application/problem+json");
      }
    }
    for (String path : new String[] {"/v1/check", "/v1/spend", "/v1/reservations"}) {
      JsonNode responses = document.json().get("paths").get(path).at("/post/responses");
      String[] both = {"application/json", "application/problem+json"};
      assertThat(contents(responses, 429)).containsExactlyInAnyOrder(both);
      assertThat(contents(responses, 503)).containsExactlyInAnyOrder(both);
    }
  }

  private static List<String> contents(JsonNode responses, int status) {
    List<String> types = new ArrayList<>();
    JsonNode response = document.resolved(responses.get(Integer.toString(status)));
    response.get("content").fieldNames().forEachRemaining(types::add);
    return types;
  }

  @Test
  void cancellation_isAsTheDocumentSays() {
    String held = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"cancelled\"}";
    String token = TestServer.json(server.post("/v1/reservations", held)).get("token").textValue();
    for (int status : new int[] {200, 409}) {
      HttpResponse<String> answer =
          server.send(
              "POST", "/v1/reservations/" + token + "/cancel", BodyPublishers.noBody(), null);
      assertThat(answer.statusCode()).isEqualTo(status);
      assertDescribed("/v1/reservations/{token}/cancel", answer);
    }
  }

  @Test
  void settlement_isAsTheDocumentSays() {
    String held = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"settled\",\"cost\":5}";
    String token = TestServer.json(server.post("/v1/reservations", held)).get("token").textValue();
    for (int status : new int[] {400, 200, 409}) {
      String cost = "{\"costs\":{\"ApiCallsPerKey\":" + (status == 400 ? 0 : 9) + "}}";
      HttpResponse<String> answer = server.post("/v1/reservations/" + token + "/settle", cost);
      assertThat(answer.statusCode()).isEqualTo(status);
      assertDescribed("/v1/reservations/{token}/settle", answer);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "GET | / | / |",
        "GET | /v1/stats | /v1/stats |",
        "GET | /v1/stats | /v1/stats?all |",
        "GET | /v1/stats | /v1/stats?series=ApiCallsPerKey |",
        "GET | /v1/stats | /v1/stats?series= |",
        "GET | /v1/stats | /v1/stats?series=ApiCallsPerKey,ApiCallsPerKey, |",
        "GET | /v1/rates | /v1/rates?limit=ApiCallsPerKey |",
        "GET | /v1/rates | /v1/rates?limit=Nope |",
        "GET | /v1/rates | /v1/rates |",
        "GET | /v1/rules | /v1/rules |",
        "GET | /v1/rules | /v1/rules?all |",
        "GET | /v1/admin/top-denied | /v1/admin/top-denied |",
        "POST | /v1/admin/top-denied | /v1/admin/top-denied |",
        "GET | /healthz | /healthz |",
        "GET | /readyz | /readyz |",
        "GET | /openapi.json | /openapi.json |",
        "GET | /metrics | /metrics |",
        "POST | /metrics | /metrics |",
        "GET | /v1/limits | /v1/limits |",
        "GET | /v1/limits | /v1/limits?all |",
        "POST | /v1/admin/reload | /v1/admin/reload |",
        "POST | /v1/admin/reload | /v1/admin/reload?now |",
        "GET | /v1/admin/reload | /v1/admin/reload |",
        "GET | /v1/limits/{name}/buckets/{id} | /v1/limits/ApiCallsPerKey/buckets/a |",
        "GET | /v1/limits/{name}/buckets/{id} | /v1/limits/Nope/buckets/a |",
        "GET | /v1/limits/{name}/buckets/{id} | /v1/limits/LoginsPerIPAddress/buckets/a |",
        "GET | /v1/limits/{name} | /v1/limits/ApiCallsPerKey |",
        "GET | /v1/limits/{name} | /v1/limits/SignUpsPerIPAddress |",
        "GET | /v1/limits/{name} | /v1/limits/Nope |",
        "GET | /v1/limits/{name} | /v1/limits/ApiCallsPerKey?all |",
        "GET | /v1/admin/overrides | /v1/admin/overrides |",
        "GET | /v1/admin/overrides | /v1/admin/overrides?most=0 |",
        "GET | /v1/admin/overrides | /v1/admin/overrides?limit=Nope |",
        "PUT | /v1/admin/overrides/{name}/{id} | /v1/admin/overrides/ApiCallsPerKey/o | {'burst':5,'count':5,'period':'1m','comment':'x'}",
        "GET | /v1/admin/overrides/{name}/{id} | /v1/admin/overrides/ApiCallsPerKey/o |",
        "GET | /v1/admin/overrides/{name}/{id} | /v1/admin/overrides/ApiCallsPerKey/none |",
        "PUT | /v1/admin/overrides/{name}/{id} | /v1/admin/overrides/ApiCallsPerKey/o | {'burst':0}",
        "DELETE | /v1/admin/overrides/{name}/{id} | /v1/admin/overrides/ApiCallsPerKey/o |",
        "PUT | /v1/admin/overrides/{name} | /v1/admin/overrides/ApiCallsPerKey?id=.. | {'burst':5,'count':5,'period':'1m'}",
        "GET | /v1/admin/overrides/{name} | /v1/admin/overrides/ApiCallsPerKey?id=.. |",
        "GET | /v1/admin/overrides/{name} | /v1/admin/overrides/ApiCallsPerKey |",
        "DELETE | /v1/admin/overrides/{name} | /v1/admin/overrides/ApiCallsPerKey?id=.. |",
        "PUT | /v1/admin/penalties/{name} | /v1/admin/penalties/ApiCallsPerKey?id=.. | {'for':'1h'}",
        "GET | /v1/admin/penalties/{name} | /v1/admin/penalties/ApiCallsPerKey?id=.. |",
        "GET | /v1/admin/penalties/{name} | /v1/admin/penalties/ApiCallsPerKey?id=..&name=x |",
        "DELETE | /v1/admin/penalties/{name} | /v1/admin/penalties/ApiCallsPerKey?id=.. |",
        "PUT | /v1/admin/penalties/{name}/{id} | /v1/admin/penalties/ApiCallsPerKey/p | {'owe':5,'comment':'x'}",
        "PUT | /v1/admin/penalties/{name}/{id} | /v1/admin/penalties/ApiCallsPerKey/q | {'for':'1h'}",
        "PUT | /v1/admin/penalties/{name}/{id} | /v1/admin/penalties/ApiCallsPerKey/q | {}",
        "POST | /v1/check | /v1/check | {'limit':'ApiCallsPerKey','id':'p'}",
        "GET | /v1/admin/penalties | /v1/admin/penalties |",
        "GET | /v1/admin/penalties/{name}/{id} | /v1/admin/penalties/ApiCallsPerKey/p |",
        "DELETE | /v1/admin/penalties/{name}/{id} | /v1/admin/penalties/ApiCallsPerKey/p |",
        "DELETE | /v1/admin/penalties/{name}/{id} | /v1/admin/penalties/ApiCallsPerKey/none |",
        "POST | /healthz | /healthz |",
        "POST | /v1/check | /v1/check | {'limit':'ApiCallsPerKey','id':'a'}",
        "POST | /v1/spend | /v1/spend | {'limit':'ApiCallsPerKey','id':'a','cost':0}",
        "POST | /v1/spend | /v1/spend | {'limit':'SignUpsPerIPAddress','id':'192.0.2.7'}",
        "POST | /v1/spend | /v1/spend | {'limit':'ApiCallsPerKey','id':'slow','cost':2}",
        "POST | /v1/spend | /v1/spend?status=429 | {'limit':'ApiCallsPerKey','id':'slow','cost':2}",
        "POST | /v1/spend | /v1/spend | {'limit':'ApiCallsPerKey','id':'slow','cost':2}",
        "POST | /v1/spend | /v1/spend | {'transactions':[{'limit':'ApiCallsPerKey','id':'slow','cost':2},{'limit':'LoginsPerIPAddress','id':'::1','kind':'checkOnly'}]}",
        "POST | /v1/spend | /v1/spend | {'transactions':[{'limit':'ApiCallsPerKey','id':'a','kind':'spendOnly'}]}",
        "POST | /v1/refund | /v1/refund | {'limit':'ApiCallsPerKey','id':'slow','cost':2}",
        "POST | /v1/reset | /v1/reset | {'limit':'ApiCallsPerKey','id':'a'}",
        "POST | /v1/reset | /v1/reset | {'limit':'ApiCallsPerKey','id':''}",
        "POST | /v1/spend | /v1/spend | {'limit':'ApiCallsPerKey'}",
        "POST | /v1/spend | /v1/spend | {'limit':'Nope','id':'a'}",
        "POST | /v1/reset | /v1/reset | {'limit':'ApiCallsPerKey','id':'a','cost':1}",
        "POST | /v1/spend | /v1/spend | {'transactions':[{'limit':'Nope'},{},7,{'cost':-1,'x':[{}]}]}",
        "PUT | /v1/spend | /v1/spend | {}",
        "POST | /v1/reservations | /v1/reservations | {'limit':'ApiCallsPerKey','id':'held'}",
        "POST | /v1/reservations | /v1/reservations | {'limit':'ApiCallsPerKey','id':'slow','cost':2}",
        "POST | /v1/reservations | /v1/reservations?status=429 | {'limit':'ApiCallsPerKey','id':'slow','cost':2}",
        "POST | /v1/reservations | /v1/reservations | {'transactions':[{'limit':'ApiCallsPerKey','id':'held'}]}",
        "POST | /v1/reservations | /v1/reservations?expires=2d | {'limit':'ApiCallsPerKey','id':'held'}",
        "POST | /v1/reservations/{token}/cancel | /v1/reservations/x/cancel | {}",
        "POST | /v1/reservations/{token}/settle | /v1/reservations/x/settle | {'costs':{}}",
        "POST | /v1/reservations/{token}/settle | /v1/reservations/x/settle | {'costs':{'A':-1},'x':1}",
        "POST | /v1/decisions | /v1/decisions | {}",
        "GET | /v1/forward-auth | /v1/forward-auth |",
        "GET | /v1/forward-auth | /v1/forward-auth?limit=ApiCallsPerKey&id=f&cost=100 |",
        "PUT | /v1/forward-auth | /v1/forward-auth?limit=ApiCallsPerKey&id=f&cost=100 |",
        "GET | /v1/forward-auth | /v1/forward-auth?limit=ApiCallsPerKey&id=f&cost=100&deny=403 |",
        "GET | /v1/forward-auth | /v1/forward-auth?limit=Nope&id=f |",
        "POST | /v1/forward-auth | /v1/forward-auth/behind |",
      })
  void answer_isAsTheDocumentSays(String method, String path, String request, String body) {
    HttpResponse<String> answer =
        body == null
            ? server.send(method, request, BodyPublishers.noBody(), null)
            : server.send(
                method,
                request,
                BodyPublishers.ofString(body.replace('\'', '"')),
                "application/json");

    assertDescribed(path, answer);
  }

  private static void assertDescribed(String path, HttpResponse<String> answer) {
    JsonNode item = document.json().get("paths").get(path);
    assertThat(item).as("the path %s", path).isNotNull();
    String method = answer.request().method().toLowerCase(Locale.ROOT);
    // A path has one method of its own; another one is answered as that says. Or it has them all.
    JsonNode operation = item.has(method) ? item.get(method) : item.elements().next();
    JsonNode responses = operation.get("responses");
    JsonNode response = responses.get(Integer.toString(answer.statusCode()));
    assertThat(response).as("the status %d of %s", answer.statusCode(), path).isNotNull();
    response = document.resolved(response);
    if (!response.has("content")) {
      assertThat(answer.body()).isEmpty();
      return;
    }
    String type = answer.headers().firstValue("Content-Type").orElseThrow();
    JsonNode content = response.get("content").get(type.replaceFirst(";.*", ""));
    assertThat(content).as("the type %s of %s", type, path).isNotNull();
    if (type.contains("json")) {
      assertThat(document.faults(content.get("schema"), TestServer.json(answer)))
          .as(answer.body())
          .isEmpty();
    }
  }
}
