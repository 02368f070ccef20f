// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.UnchargedException;
import dev.sluice.server.net.HostPort;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.testkit.ManualTime;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The question as JSON, with and without gRPC's names of fields. */
final class JsonServiceTest {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private static final String ONE =
      "{\"domain\":\"edge\",\"descriptors\":[{\"entries\":[{\"key\":\"PerUser\",\"value\":\"ann\"}]}]}";

  private static Limits limits() {
    return Limits.builder(Catalogue.of(LimitName.builder(1, "PerUser").jitter(0).build()))
        .limit("PerUser", Quota.per(2, Duration.ofMinutes(1)))
        .build();
  }

  private static HttpResponse<String> send(TestRlsServer server, String method, String body)
      throws Exception {
    return send(server, method, body.getBytes(StandardCharsets.UTF_8));
  }

  private static HttpResponse<String> send(
      TestRlsServer server, String method, byte[] body, String... headers) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://" + HostPort.format(server.address()) + "/json"))
            .method(method, BodyPublishers.ofByteArray(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return CLIENT.send(request.build(), BodyHandlers.ofString());
  }

  @Test
  void answer_isThatOfGrpc_asJson() throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      HttpResponse<String> ok = send(server, "POST", ONE);
      assertThat(ok.statusCode()).isEqualTo(200);
      assertThat(ok.headers().firstValue("content-type")).hasValue("application/json");
      assertThat(ok.headers().firstValue("ratelimit")).hasValue("\"PerUser\";r=1");
      JsonNode answer = JSON.readTree(ok.body());
      assertThat(answer.get("overallCode").textValue()).isEqualTo("OK");
      assertThat(answer.at("/statuses/0").toString())
          .isEqualTo(
              "{\"code\":\"OK\",\"currentLimit\":{\"requestsPerUnit\":2,\"unit\":\"MINUTE\",\"name\":\"PerUser\"},\"limitRemaining\":1,\"durationUntilReset\":\"30s\"}");

      String both =
          "{\"domain\":\"edge\",\"hits_addend\":1,\"descriptors\":[{\"entries\":[{\"key\":\"PerUser\",\"value\":\"ann\"}],\"hitsAddend\":\"2\"}]}";
      HttpResponse<String> over = send(server, "POST", both);
      assertThat(over.statusCode()).isEqualTo(429);
      assertThat(over.headers().firstValue("content-type")).hasValue("application/json");
      assertThat(over.headers().firstValue("retry-after")).hasValue("30");
      assertThat(over.headers().allValues("cache-control")).containsExactly("no-store");
      assertThat(JSON.readTree(over.body()).get("overallCode").textValue()).isEqualTo("OVER_LIMIT");
    }
  }

  /** Read leniently, all of them would be one id. */
  @ParameterizedTest
  @ValueSource(strings = {"\u00ff", "\u00c0\u0080", "\u00ed\u00a0\u0080", "a\u00e9", "\u00c3"})
  void bytesThatAreNotUtf8_are400(String bytes) throws Exception {
    try (BucketStore store = BucketStore.inMemory();
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      byte[] body = ONE.replace("ann", bytes).getBytes(StandardCharsets.ISO_8859_1);
      HttpResponse<String> answer = send(server, "POST", body);
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(400);
      assertThat(JSON.readTree(answer.body()).get("detail").textValue()).contains("UTF-8");
      HttpResponse<String> half = send(server, "POST", ONE.replace("ann", "\\ud800"));
      assertThat(half.statusCode()).as(half.body()).isEqualTo(400);
      assertThat(send(server, "POST", ONE.replace("ann", "é")).statusCode()).isEqualTo(200);
    }
  }

  /** Read as UTF-8, "+AGEAbgBu-" of UTF-7 would be another client than "ann". */
  @ParameterizedTest
  @CsvSource({
    "Content-Type, application/json; charset=utf-16",
    "Content-Type, application/json;charset=UTF-7",
    "Content-Type, application/json; Charset=\"iso-8859-1\"",
    "Content-Type, application/json; charset=utf-8; charset=utf-16le",
    "Content-Type, application/json; charset=",
    "Content-Encoding, gzip",
    "Content-Encoding, 'identity, deflate'",
    "Content-Encoding, br"
  })
  void bodyInAnotherCharset_orCompressed_isA415(String header, String value) throws Exception {
    try (BucketStore store = BucketStore.inMemory();
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      byte[] body = ONE.getBytes(StandardCharsets.UTF_8);
      HttpResponse<String> answer = send(server, "POST", body, header, value);
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(415);
      assertThat(answer.headers().firstValue("content-type")).hasValue("application/problem+json");
      assertThat(JSON.readTree(answer.body()).get("detail").textValue())
          .startsWith("found " + header + ": " + value + ", expected ");
      for (String plain :
          List.of(
              "application/json; charset=UTF-8", "text/plain", "application/json;charset=utf8")) {
        HttpResponse<String> right =
            send(server, "POST", body, "Content-Type", plain, "Content-Encoding", "identity");
        assertThat(right.statusCode()).as(plain).isNotEqualTo(415);
      }
      assertThat(remaining(send(server, "POST", ONE.replace("ann", "new")))).isEqualTo(1);
    }
  }

  @Test
  void contentType_thatIsRepeated_isA415_thatNamesBoth() throws Exception {
    try (BucketStore store = BucketStore.inMemory();
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      byte[] body = ONE.getBytes(StandardCharsets.UTF_8);
      String json = "application/json";
      HttpResponse<String> answer =
          send(server, "POST", body, "Content-Type", json, "Content-Type", "text/plain");
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(415);
      assertThat(JSON.readTree(answer.body()).get("detail").textValue())
          .startsWith("found Content-Type: application/json, text/plain, expected ");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "[]",
        "null",
        "{\"domain\":1e9}",
        "{\"domain\":\"edge\"}",
        "{\"domain\":\"\",\"descriptors\":[{}]}",
        "{\"domain\":\"edge\",\"descriptor\":[{}]}",
        "{\"domain\":\"edge\",\"descriptors\":[{\"hits_addend\":1,\"hitsAddend\":2}]}",
        "{\"domain\":\"edge\",\"descriptors\":[{\"hitsAddend\":\"-1\"}]}",
        "{\"domain\":\"edge\",\"descriptors\":[{\"limit\":{\"unit\":\"FORTNIGHT\"}}]}"
      })
  void badRequests_are400(String body) throws Exception {
    try (BucketStore store = BucketStore.inMemory();
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      HttpResponse<String> answer = send(server, "POST", body);
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(400);
      assertThat(answer.headers().firstValue("content-type")).hasValue("application/problem+json");
      assertThat(JSON.readTree(answer.body()).get("detail").textValue()).isNotEmpty();
    }
  }

  @Test
  void negativeHits_areGivenBack_andUnknownFieldsRefusedInDescriptorsAlone() throws Exception {
    try (BucketStore store = BucketStore.inMemory();
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      String descriptor =
          "{\"entries\":[{\"key\":\"PerUser\",\"value\":\"ann\"%s}],\"hitsAddend\":\"2\"%s}";
      String body =
          "{\"domain\":\"edge\",\"later\":{\"x\":1e99999999},\"descriptors\":[" + descriptor + "]}";
      assertThat(remaining(send(server, "POST", body.formatted("", "")))).isZero();
      assertThat(remaining(send(server, "POST", body.formatted("", ",\"isNegativeHits\":true"))))
          .isEqualTo(2);
      assertThat(remaining(send(server, "POST", body.formatted("", ",\"is_negative_hits\":false"))))
          .isZero();
      HttpResponse<String> unknown =
          send(server, "POST", body.formatted("", ",\"is_negative\":true"));
      assertThat(unknown.statusCode()).isEqualTo(400);
      assertThat(JSON.readTree(unknown.body()).get("detail").textValue())
          .startsWith("descriptors[0]: found the field \"is_negative\", which this version");
      assertThat(
              JSON.readTree(send(server, "POST", body.formatted(",\"as\":1", "")).body())
                  .get("detail")
                  .textValue())
          .startsWith("descriptors[0].entries[0]: found the field \"as\"");
    }
  }

  @Test
  void secondObject_isRefused_asItWouldNotBeCounted() throws Exception {
    try (BucketStore store = BucketStore.inMemory();
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      for (String more : List.of(ONE, "{}", "1", " []")) {
        HttpResponse<String> answer = send(server, "POST", ONE + more);
        assertThat(answer.statusCode()).as(more).isEqualTo(400);
        assertThat(answer.body()).contains("there is more text after the JSON object");
      }
      assertThat(remaining(send(server, "POST", ONE + " \n"))).isEqualTo(1);
    }
  }

  private static int remaining(HttpResponse<String> answer) throws IOException {
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return JSON.readTree(answer.body()).get("statuses").get(0).path("limitRemaining").asInt();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "[",
        "{{",
        "nul",
        "x",
        "'",
        "{\"domain\":}",
        "{\"domain\":{}}",
        "{\"domain\":[1]}",
        "{\"hitsAddend\":\"x\"}",
        "{\"hitsAddend\":1e99}",
        "{\"descriptors\":3}",
        "{\"descriptors\":[{\"limit\":{\"unit\":\"NOW\"}}]}",
        "{\"domain\":\"a\",\"domain\":\"b\"}",
        "{\"domain\":\"\\ud800\"}",
        "/* x */ {}",
        "{} {}"
      })
  void badRequests_areToldWithoutNamesOfClasses(String body) throws Exception {
    try (BucketStore store = BucketStore.inMemory();
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      assertThat(send(server, "POST", body).body())
          .contains("\"status\":400")
          .doesNotContainPattern("[a-z]+\\.[a-zA-Z.]*Exception|java\\.|gson");
    }
  }

  /** The library would write out all zeros of such a number. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"hitsAddend\":1e100000000}",
        "{\"hitsAddend\":\"1e300000000\"}",
        "{\"hits_addend\":\"1E+100000000\"}",
        "{\"hits\\u0041ddend\":1e100000000}",
        "{\"hitsAddend\":[[\"1e100000000\"]]}",
        "{\"hitsAddend\":\"\u0661e100000000\"}",
        "{\"hitsAddend\":100000000000000000000000}",
        "{\"domain\":\"e\",\"descriptors\":[{\"hitsAddend\":\"1e100000000\"}]}",
        "{\"domain\":\"e\",\"descriptors\":[{\"hits_addend\":1e100000000}]}",
        "{\"domain\":\"e\",\"descriptors\":[{\"limit\":{\"requestsPerUnit\":1e100000000}}]}",
        "{\"domain\":\"e\",\"descriptors\":[{\"limit\":{\"requests_per_unit\":\"1e-100000000\"}}]}",
        "{\"domain\":\"e\",\"descriptors\":[{\"limit\":{\"unit\":\"1e100000000\"}}]}"
      })
  void numbersWithAnExponent_orTooManyDigits_are400(String body) throws Exception {
    try (BucketStore store = BucketStore.inMemory();
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      HttpResponse<String> answer = send(server, "POST", body);
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(400);
      assertThat(JSON.readTree(answer.body()).get("detail").textValue())
          .contains("expected a number of at most 20 digits without an exponent");
    }
  }

  /** What the library reads leniently, it would also read numbers from. */
  @ParameterizedTest
  @ValueSource(
      strings = {"{hitsAddend:1e100000000}", "{'hitsAddend':1e100000000}", "{\"hitsAddend\"=1e9}"})
  void textThatIsAlmostJson_isA400(String body) throws Exception {
    try (BucketStore store = BucketStore.inMemory();
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      HttpResponse<String> answer = send(server, "POST", body);
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(400);
      assertThat(answer.body()).contains("not JSON at line 1 column ");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"1e100000000", "100000000000000000000000"})
  void textsThatLookLikeNumbers_areIds(String id) throws Exception {
    try (BucketStore store = BucketStore.inMemory();
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      assertThat(send(server, "POST", ONE.replace("ann", id)).statusCode()).isEqualTo(200);
    }
  }

  @Test
  void deepNesting_isA400() throws Exception {
    try (BucketStore store = BucketStore.inMemory();
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      assertThat(send(server, "POST", "[".repeat(50_000)).statusCode()).isEqualTo(400);
      String descriptors = "{\"descriptors\":".repeat(5_000);
      assertThat(send(server, "POST", descriptors).statusCode()).isEqualTo(400);
      assertThat(send(server, "POST", ONE).statusCode()).isEqualTo(200);
    }
  }

  @Test
  void otherMethods_areRefused() throws Exception {
    try (BucketStore store = BucketStore.inMemory();
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      HttpResponse<String> answer = send(server, "GET", "");
      assertThat(answer.statusCode()).isEqualTo(405);
      assertThat(answer.headers().firstValue("allow")).hasValue("POST, OPTIONS");
    }
  }

  @Test
  void storeThatIsAway_isA500() throws Exception {
    BucketStore away =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            throw new UnchargedException("away");
          }

          @Override
          public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
            return CompletableFuture.failedFuture(new UnchargedException("away"));
          }
        };
    try (TestRlsServer server = new TestRlsServer(limits(), away)) {
      HttpResponse<String> answer = send(server, "POST", ONE);
      assertThat(answer.statusCode()).isEqualTo(500);
      assertThat(answer.body()).contains("the store could not decide; nothing was charged");
    }
  }
}
