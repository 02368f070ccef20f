// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.server.UnchargedException;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.ManualTime;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code POST /v1/decisions}. */
final class DecisionsTest {

  private static final String NDJSON = "application/x-ndjson";

  private final ManualTime time = new ManualTime();
  private final BucketStore store = BucketStore.inMemory(time);
  private final TestServer server = new TestServer(SampleFixture.limits(), store);

  @AfterEach
  void stop() {
    server.close();
    store.close();
  }

  private HttpResponse<String> send(String lines) {
    return send(server, lines);
  }

  private static HttpResponse<String> send(TestServer server, String lines) {
    return server.send(
        "POST", "/v1/decisions", BodyPublishers.ofString(lines.replace('\'', '"')), NDJSON);
  }

  private static List<JsonNode> answers(HttpResponse<String> response) throws IOException {
    List<JsonNode> answers = new ArrayList<>();
    for (String line : response.body().lines().toList()) {
      answers.add(TestServer.JSON.readTree(line));
    }
    return answers;
  }

  @Test
  void everyLine_isDecidedOnItsOwn_inOrder() throws Exception {
    HttpResponse<String> response =
        send(
            """
            {'op':'spend','limit':'LoginsPerIPAddress','id':'192.0.2.7','cost':10}
            {'op':'spend','limit':'LoginsPerIPAddress','id':'192.0.2.7'}

            {'op':'refund','limit':'LoginsPerIPAddress','id':'192.0.2.7','cost':3}
            {'op':'check','limit':'LoginsPerIPAddress','id':'192.0.2.7','cost':0}
            {'op':'reset','limit':'LoginsPerIPAddress','id':'192.0.2.7'}
            {'op':'batchSpend','transactions':[{'limit':'LoginsPerIPAddress','id':'192.0.2.7'}]}
            """);

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("Content-Type")).hasValue(NDJSON);
    assertThat(response.headers().firstValue("Cache-Control")).hasValue("no-store");
    List<JsonNode> answers = answers(response);
    assertThat(answers).hasSize(6);
    assertThat(answers.get(0).get("allowed").booleanValue()).isTrue();
    assertThat(answers.get(1).get("allowed").booleanValue()).isFalse();
    assertThat(answers.get(3).get("remaining").longValue()).isEqualTo(3);
    assertThat(answers.get(4).get("reset").booleanValue()).isTrue();
    assertThat(answers.get(5).at("/decisions/0/remaining").longValue()).isEqualTo(9);
  }

  @Test
  void lineWithMistakes_saysSo_andTheOthersAreDecided() throws Exception {
    List<JsonNode> answers =
        answers(
            send(
                """
                {'op':'spend','limit':'ApiCallsPerKey','id':'a'}
                {'op':'spend','limit':'Nope','id':'a','cost':-1}
                nonsense
                {'op':'spend','limit':'ApiCallsPerKey','id':'a'}
                """));

    assertThat(answers).hasSize(4);
    assertThat(answers.get(1).get("status").intValue()).isEqualTo(404);
    assertThat(answers.get(1).get("line").intValue()).isEqualTo(2);
    assertThat(answers.get(1).get("field").textValue()).isEqualTo("limit");
    assertThat(answers.get(2).get("status").intValue()).isEqualTo(400);
    assertThat(answers.get(2).get("line").intValue()).isEqualTo(3);
    assertThat(answers.get(3).get("remaining").longValue())
        .isEqualTo(answers.get(0).get("remaining").longValue() - 1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'limit':'ApiCallsPerKey','id':'a'} | op | the op is missing, expected one of check, spend, refund, reset, batchSpend",
        "{'op':'spent','limit':'ApiCallsPerKey','id':'a'} | op | found \"spent\", expected one of check, spend, refund, reset, batchSpend; did you mean \"spend\"?",
        "{'op':'batchSpend','limit':'ApiCallsPerKey','id':'a'} | transactions | the transactions are missing: the op batchSpend requires a list of transactions",
        "{'at':1,'op':'spend','limit':'ApiCallsPerKey','id':'a'} | at | found the unknown field \"at\", expected op, limit, id, cost, upTo, transactions",
        "{'op':'reset','limit':'ApiCallsPerKey','id':'a','cost':1} | cost | found a cost, expected none: a reset deletes the whole bucket",
      })
  void mistake_isNamed(String line, String field, String detail) throws Exception {
    JsonNode answer = answers(send(line)).get(0);

    assertThat(answer.get("status").intValue()).isEqualTo(400);
    assertThat(answer.get("field").textValue()).isEqualTo(field);
    assertThat(answer.get("detail").textValue()).isEqualTo(detail);
  }

  @Test
  void allMistakesOfALine_areReportedAtOnce() throws Exception {
    JsonNode answer = answers(send("{'op':'spent','limit':'ApiCallPerKey','costs':1}")).get(0);

    assertThat(answer.get("status").intValue()).isEqualTo(400);
    assertThat(answer.get("errors").findValuesAsText("field"))
        .containsExactly("costs", "op", "limit", "id");
  }

  @Test
  void manyLines_areAllAnswered_inOrder() throws Exception {
    String line = "{'op':'check','limit':'ApiCallsPerKey','id':'%s','cost':0}\n";
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < 1500; i++) {
      lines.append(line.formatted(i));
    }

    List<JsonNode> answers = answers(send(lines.toString()));

    assertThat(answers).hasSize(1500);
    for (int i = 0; i < answers.size(); i++) {
      assertThat(answers.get(i).get("id").textValue()).isEqualTo(Integer.toString(i));
    }
  }

  @Test
  void nothing_isAnsweredWithNothing() {
    HttpResponse<String> response = send("\r\n\n");

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.body()).isEmpty();
  }

  @Test
  void anotherContentType_isRefused() {
    HttpResponse<String> response = server.post("/v1/decisions", "{}");

    assertThat(response.statusCode()).isEqualTo(415);
    assertThat(TestServer.json(response).get("detail").textValue())
        .isEqualTo(
            "found Content-Type: application/json, expected the header Content-Type: application/x-ndjson");
  }

  @Test
  void unknownQuery_isRefused() {
    HttpResponse<String> response =
        server.send("POST", "/v1/decisions?status=429", BodyPublishers.ofString("{}"), NDJSON);

    assertThat(response.statusCode()).isEqualTo(400);
  }

  /** A check charges nothing, whatever became of it. */
  @Test
  void storeThatTimesOut_hasChargedNothing_inALineThatChecks() throws Exception {
    BucketStore late =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            throw new StoreException("timed out; whether anything was charged is unknown");
          }

          @Override
          public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
            return CompletableFuture.supplyAsync(() -> charge(charges));
          }
        };
    try (TestServer away = new TestServer(SampleFixture.limits(), late)) {
      List<JsonNode> answers =
          answers(
              send(
                  away,
                  "{'op':'check','limit':'ApiCallsPerKey','id':'a'}\n"
                      + "{'op':'spend','limit':'ApiCallsPerKey','id':'a'}"));
      assertThat(answers.get(0).get("detail").textValue()).endsWith("; nothing was charged");
      assertThat(answers.get(1).get("detail").textValue()).endsWith("charged is unknown");
    }
  }

  @Test
  void storeThatFails_isAnIncident_inEachLineThatItCouldNotDecide() throws Exception {
    BucketStore broken =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            throw new UnchargedException("10.0.0.1:6379: connection refused");
          }

          @Override
          public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
            return CompletableFuture.failedFuture(
                new UnchargedException("10.0.0.1:6379: connection refused"));
          }
        };
    try (TestServer away = new TestServer(SampleFixture.limits(), broken)) {
      JsonNode answer =
          answers(send(away, "{'op':'spend','limit':'ApiCallsPerKey','id':'a'}")).get(0);

      assertThat(answer.get("status").intValue()).isEqualTo(503);
      assertThat(answer.get("incident").textValue()).isNotEmpty();
      assertThat(answer.toString()).doesNotContain("10.0.0.1");
    }
  }
}
