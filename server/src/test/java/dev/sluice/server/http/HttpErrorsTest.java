// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.server.UnchargedException;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every way to be refused, by a real request; each answer is a problem that says what to do. */
final class HttpErrorsTest {

  private static final String BUCKET = "/v1/limits/ApiCallsPerKey/buckets/a";
  private static final String LOGIN = "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.7\"}";

  private static BucketStore store;
  private static TestServer server;

  @BeforeAll
  static void start() {
    store = BucketStore.inMemory();
    server = new TestServer(SampleFixture.limits(), store);
  }

  @AfterAll
  static void stop() {
    server.close();
    store.close();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        // the body | status | field | what the detail says
        "{'limit':'Nope','id':'1'} | 404 | limit | no limit has the name",
        "{'limit':'LoginsPerIPAdress','id':'1'} | 404 | limit | did you mean \"LoginsPerIPAddress\"",
        "{'id':'1'} | 400 | limit | the name of the limit is missing",
        "{'limit':7,'id':'1'} | 400 | limit | found the number 7, expected a string",
        "{'limit':null,'id':'1'} | 400 | limit | found null, expected a string",
        "{'limit':'LoginsPerIPAddress'} | 400 | id | the id is missing",
        "{'limit':'LoginsPerIPAddress','id':''} | 400 | id | empty",
        "{'limit':'LoginsPerIPAddress','id':'lol'} | 400 | id | is not an IP address",
        "{'limit':'LoginsPerIPAddress','id':17} | 400 | id | expected a string, in double quotes",
        "{'limit':'LoginsPerIPAddress','id':'192.0.2.7','cost':-1} | 400 | cost | must be >= 0",
        "{'limit':'LoginsPerIPAddress','id':'192.0.2.7','cost':11} | 400 | cost | cost 11 exceeds the burst (10)",
        "{'limit':'LoginsPerIPAddress','id':'192.0.2.7','cost':1.0} | 400 | cost | found the number 1.0",
        "{'limit':'LoginsPerIPAddress','id':'192.0.2.7','cost':1e2} | 400 | cost | whole number",
        "{'limit':'LoginsPerIPAddress','id':'192.0.2.7','cost':'1'} | 400 | cost | without quotes",
        "{'limit':'LoginsPerIPAddress','id':'192.0.2.7','cost':true} | 400 | cost | found true",
        "{'limit':'LoginsPerIPAddress','id':'192.0.2.7','cost':9223372036854775808} | 400 | cost | at most 64 bits",
        "{'limit':'LoginsPerIPAddress','id':'192.0.2.7','cots':1} | 400 | cots | did you mean \"cost\"",
        "{'limit':'LoginsPerIPAddress','id':'192.0.2.7','kind':'checkOnly'} | 400 | kind | kind is a field of each of the transactions",
        "{'limit':'LoginsPerIPAddress','id':'192.0.2.7','id':'192.0.2.8'} | 400 | id | twice",
        "{'transactions':[]} | 400 | transactions | found 0 transactions, expected 1 to 1000",
        "{'transactions':{}} | 400 | transactions | found an object, expected a list",
        "{'transactions':[1]} | 400 | transactions[0] | found the number 1, expected a JSON object",
        "{'transactions':[{'limit':'ApiCallsPerKey','id':'a'},{'limit':'ApiCallsPerKey','id':'a'}]} | 400 | transactions[1] | found the bucket 104:a again, expected each bucket once in a batch; transactions[0] has the same bucket",
        "{'transactions':[{'limit':'ApiCallsPerKey','id':'a'},{'limit':'Nope','id':'a'}]} | 404 | transactions[1].limit | no limit",
        "{'transactions':[{'limit':'ApiCallsPerKey','id':'a','kind':'spendonly'}]} | 400 | transactions[0].kind | did you mean \"spendOnly\"",
        "{'transactions':[{'limit':'ApiCallsPerKey','id':'a','cost':101}]} | 400 | transactions[0].cost | exceeds the burst (100)",
        "{'transactions':[{'limit':'ApiCallsPerKey','id':'a'}],'id':'a'} | 400 | transactions | a batch and a single",
        "[] | 400 | - | found a list, expected a JSON object",
        "'x' | 400 | - | found the string \"x\", expected a JSON object",
        "{'limit':'A' | 400 | - | not valid JSON",
        "{'limit':'A'} x | 400 | - | not valid JSON",
        "{'limit':'A','id':'1'}{} | 400 | - | text after the JSON object",
        "{limit:'A'} | 400 | - | not valid JSON",
        "{'transactions':[[[[[[[[]]]]]]]]} | 400 | transactions[0] | expected a JSON object",
        "`` | 400 | - | the body is empty, expected a JSON object",
      })
  void request_thatCanNotBeDecided_isRefusedWithItsField(
      String body, int status, String field, String detail) {
    for (String act : List.of("check", "spend", "refund", "reset")) {
      HttpResponse<String> answer = server.post("/v1/" + act, body.replace('\'', '"'));
      JsonNode problem = problem(answer, status);
      assertThat(problem.path("field").asText("-")).isEqualTo(field);
      String found = problem.get("detail").asText();
      boolean needless = act.equals("reset") && found.contains("a reset deletes the whole bucket");
      assertThat(found).contains(needless && field.matches(".*(cost|kind)") ? "found a" : detail);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"\u0000\u0001\u0002", "ÿþ", "\uFEFF", "NaN", "0", "/* x */ {}"})
  void junk_isRefused(String junk) {
    problem(server.post("/v1/spend", junk), 400);
  }

  @ParameterizedTest
  @ValueSource(strings = {"UTF-16", "UTF-16LE", "UTF-32", "UTF-32LE"})
  void anotherEncoding_isRefused(String charset) {
    byte[] body = LOGIN.getBytes(Charset.forName(charset));
    problem(
        server.send("POST", "/v1/spend", BodyPublishers.ofByteArray(body), "application/json"),
        400);
  }

  /** A slash, in as many bytes as it needs, and in two and three. */
  @Test
  void characterInMoreBytesThanItNeeds_isRefused() {
    byte[] body = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"...\"}".getBytes(StandardCharsets.UTF_8);
    for (byte[] slash :
        List.of(new byte[] {'a', (byte) 0xc0, (byte) 0xaf}, new byte[] {(byte) 0xe0, -128, -81})) {
      System.arraycopy(slash, 0, body, body.length - 5, 3);
      JsonNode problem =
          problem(
              server.send(
                  "POST", "/v1/spend", BodyPublishers.ofByteArray(body), "application/json"),
              400);
      assertThat(problem.get("detail").asText()).contains("expected text in UTF-8");
    }
  }

  @Test
  void valueThatIsFarTooLong_isRefused_withItsField() {
    String id = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"%s\"}".formatted("x".repeat(100_000));
    JsonNode text = problem(server.post("/v1/spend", id), 400);
    assertThat(text.get("field").asText()).isEqualTo("id");
    assertThat(text.get("detail").asText())
        .contains("more than 8192 characters")
        .doesNotContain("`");
    String digits = "9".repeat(1000);
    String cost = "{\"transactions\":[{\"cost\":%s}]}".formatted(digits);
    JsonNode number = problem(server.post("/v1/spend", cost), 400);
    assertThat(number.get("field").asText()).isEqualTo("transactions[0].cost");
    assertThat(number.get("detail").asText()).doesNotContain(digits, "`");
  }

  @Test
  void batch_ofMoreThan1000_isRefused() {
    assertThat(server.post("/v1/spend", batchOf(1000)).statusCode()).isEqualTo(200);
    JsonNode problem = problem(server.post("/v1/spend", batchOf(1001)), 400);
    assertThat(problem.get("detail").asText()).contains("expected 1 to 1000");
  }

  private static String batchOf(int size) {
    return IntStream.range(0, size)
        .mapToObj(i -> "{\"limit\":\"ApiCallsPerKey\",\"id\":\"batch" + i + "\"}")
        .collect(Collectors.joining(",", "{\"transactions\":[", "]}"));
  }

  @Test
  void body_overTheBound_isRefused() {
    String padded = LOGIN + " ".repeat(SluiceServer.MAX_BODY - LOGIN.length());
    assertThat(server.post("/v1/spend", padded).statusCode()).isEqualTo(200);
    JsonNode problem = problem(server.post("/v1/spend", padded + " "), 413);
    assertThat(problem.get("detail").asText()).contains("131072 bytes");
  }

  @Test
  void body_overTheBound_inChunks_isRefused() {
    byte[] spaces = " ".repeat(SluiceServer.MAX_BODY + 1).getBytes(StandardCharsets.UTF_8);
    var chunks = BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(spaces));
    problem(server.send("POST", "/v1/spend", chunks, "application/json"), 413);
  }

  @ParameterizedTest
  @CsvSource({
    "GET, /v1/spend, 'POST, OPTIONS'",
    "PUT, /v1/check, 'POST, OPTIONS'",
    "DELETE, /v1/limits, 'GET, HEAD, OPTIONS'",
    "POST, /healthz, 'GET, HEAD, OPTIONS'",
    "POST, /v1/limits/ApiCallsPerKey/buckets/a, 'GET, HEAD, OPTIONS'",
    "PATCH, /, 'GET, HEAD, OPTIONS'",
  })
  void wrongMethod_isRefusedWithThoseThereAre(String method, String path, String allowed) {
    HttpResponse<String> answer =
        server.send(method, path, BodyPublishers.ofString(LOGIN), "application/json");
    problem(answer, 405);
    assertThat(answer.headers().firstValue("Allow")).hasValue(allowed);
  }

  @Test
  void methodThatNobodyKnows_isRefused() {
    HttpResponse<String> answer = server.send("BREW", "/v1/spend", BodyPublishers.noBody(), null);
    JsonNode problem = problem(answer, 405);
    assertThat(problem.get("type").asText()).endsWith(":wrong-method");
    assertThat(problem.get("detail").asText())
        .isEqualTo(
            "found an unknown method, expected one of GET, HEAD, POST, PUT, DELETE, OPTIONS");
    assertThat(answer.headers().firstValue("Allow"))
        .hasValue("GET, HEAD, POST, PUT, DELETE, OPTIONS");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "PING\\r\\n | a client of Redis needs the port of --resp",
        "*1\\r\\n$4\\r\\nPING\\r\\n | a client of Redis needs the port of --resp",
        "GET / HTTP/x\\r\\n | found a first line that is not METHOD PATH HTTP/1.1",
        "\u0016\u0003\u0001\u0002\u0000\u0001?\\n?? | if the client speaks TLS",
        "GET / HTTP/1.1\\r\\nContent-Length: -5\\r\\n\\r\\n | not a whole number >= 0",
        "GET / HTTP/1.1\\r\\nContent-Length: 1\\r\\nContent-Length: 2\\r\\n\\r\\n | several values",
        "GET / HTTP/1.1\\r\\nContent-Length: 1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n | only one of these headers",
        "GET / HTTP/1.1\\r\\nno colon\\r\\n\\r\\n | found bytes that are not HTTP/1.1",
        "GET http://localhost/healthz HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n | found a target that is not a path",
      })
  void bytesThatAreNotHttp_areToldWhatIsWrong(String bytes, String detail) throws IOException {
    String answer = raw(bytes.replace("\\r", "\r").replace("\\n", "\n"));
    assertThat(answer).startsWith("HTTP/1.1 400").contains(detail).doesNotContain("Decoder");
  }

  private static String raw(String request) throws IOException {
    try (RawClient client = RawClient.connect(server.address())) {
      return client.send(request).all();
    }
  }

  /** The library would answer it itself, to any host. */
  @Test
  void optionsOfTheServer_areThoseOfTheRoot_behindTheSameChecks() throws IOException {
    String ours = raw("OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assertThat(ours)
        .startsWith("HTTP/1.1 204")
        .containsIgnoringCase("allow: GET, HEAD, OPTIONS")
        .containsIgnoringCase("cache-control: no-store");
    assertThat(raw("OPTIONS * HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"))
        .startsWith("HTTP/1.1 421");
  }

  @ParameterizedTest
  @ValueSource(strings = {"example.com:443", "/v1/forward-auth", "/"})
  void tunnel_isRefused_withoutAListOfMethods(String target) throws IOException {
    assertThat(raw("CONNECT " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        .startsWith("HTTP/1.1 405")
        .contains("found CONNECT, expected another method: this server opens no tunnels");
  }

  @ParameterizedTest
  @CsvSource({"OPTIONS, *, 204", "CONNECT, /, 405", "CONNECT, example.com:443, 405"})
  void requestsThatTheLibraryWouldAnswer_areAnsweredAlike_overHttp2(
      String method, String path, int status) throws IOException {
    try (RawClient client = RawClient.connect(server.address())) {
      client.send(RawClient.http2(SluiceServer.MAX_BODY));
      client.send(RawClient.http2Request(1, method, path));
      assertThat(RawClient.statusOf(client.frame(RawClient.HEADERS))).isEqualTo(status);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "text/plain",
        "application/x-www-form-urlencoded",
        "nonsense",
        "application/json; charset=utf-16",
        "application/json;charset=\"ISO-8859-1\"",
        "application/json; charset=utf-8; charset=utf-7"
      })
  void wrongMediaType_isRefused(String type) {
    HttpResponse<String> answer =
        server.send("POST", "/v1/spend", BodyPublishers.ofString(LOGIN), type);
    assertThat(problem(answer, 415).get("detail").asText()).contains("application/json");
  }

  @Test
  void mediaType_thatIsRepeated_isRefused_andBothAreNamed() {
    String json = "application/json";
    HttpResponse<String> answer =
        server.send(
            "POST",
            "/v1/spend",
            BodyPublishers.ofString(LOGIN),
            json,
            "Content-Type",
            "text/plain");
    assertThat(problem(answer, 415).get("detail").asText())
        .isEqualTo(
            "found Content-Type: application/json, text/plain, expected the header Content-Type: application/json");
  }

  @Test
  void mediaType_thatIsMissing_isRefused_andOneWithACharset_isNot() {
    problem(server.send("POST", "/v1/spend", BodyPublishers.ofString(LOGIN), null), 415);
    HttpResponse<String> charset =
        server.send(
            "POST",
            "/v1/check",
            BodyPublishers.ofString(LOGIN),
            "Application/JSON; Charset=\"UTF-8\"");
    assertThat(charset.statusCode()).isEqualTo(200);
  }

  @Test
  void compressedBody_isRefused_unread() throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
      gzip.write(LOGIN.getBytes(StandardCharsets.UTF_8));
    }
    byte[] body = packed.toByteArray();
    JsonNode problem =
        problem(
            server.send(
                "POST",
                "/v1/spend",
                BodyPublishers.ofByteArray(body),
                "application/json",
                "Content-Encoding",
                "gzip"),
            415);
    assertThat(problem.get("type").asText()).endsWith(":wrong-encoding");
    assertThat(problem.get("detail").asText()).contains("Content-Encoding: gzip");
  }

  @ParameterizedTest
  @CsvSource({
    "/nope, 404, -",
    "/v1/, 404, -",
    "/v1/spend/, 404, -",
    "/v1/limits/, 404, -",
    "/v1/limits/ApiCallsPerKey/, 404, -",
    "/v1/limits/ApiCallsPerKey/bucket, 404, -",
    "/v1/limits/Nope, 404, limit",
    "/v1/limits/%FF, 400, limit",
    "/v1/limits/Nope/buckets/a, 404, limit",
    "/v1/limits/LoginsPerIPAddress/buckets/lol, 400, id",
    "/v1/limits/ApiCallsPerKey/buckets/, 400, id",
    "/v1/limits/ApiCallsPerKey/buckets/%FF, 400, id",
    "/v1/limits/ApiCallsPerKey/buckets/a?cost=3, 400, cost",
    "/v1/limits?all, 400, all",
    "/v1/limits/ApiCallsPerKey/buckets/%2E%2E, 400, -",
  })
  void path_thatLeadsNowhere_isRefused(String path, int status, String field) {
    assertThat(problem(server.get(path), status).path("field").asText("-")).isEqualTo(field);
  }

  @ParameterizedTest
  @CsvSource({
    "/v1/spend?status=500, status",
    "/v1/spend?stats=429, stats",
    "/v1/refund?status=429, status",
    "/v1/spend?status=429&status=200, status",
  })
  void query_thatIsUnknown_isRefused(String path, String field) {
    assertThat(problem(server.post(path, LOGIN), 400).get("field").asText()).isEqualTo(field);
  }

  @Test
  void requestLineOrHeaders_overTheBound_areRefused() {
    problem(server.get("/" + "a".repeat(20_000)), 414);
    String large = "a".repeat(20_000);
    problem(server.send("GET", "/healthz", BodyPublishers.noBody(), null, "X-Large", large), 431);
  }

  @Test
  void store_thatIsUnreachable_isA503() {
    String why = "redis://10.1.2.3:6379 did not answer within 1 s";
    BucketStore broken = new FailingStore(() -> new StoreException(why));
    try (TestServer down = new TestServer(SampleFixture.limits(), broken)) {
      LogLines log = new LogLines();
      JsonNode problem;
      try (log) {
        problem = problem(down.post("/v1/spend", LOGIN), 503);
      }
      assertThat(problem.get("detail").asText())
          .isEqualTo("the store could not decide; whether anything was charged is unknown");
      assertThat(problem.toString()).doesNotContain("10.1.2.3", "redis");
      assertThat(log.lines())
          .anyMatch(line -> line.contains(problem.get("incident").asText()) && line.contains(why));
      assertThat(problem(down.get(BUCKET), 503).get("detail").asText())
          .isEqualTo("the store could not decide; nothing was charged"); // a read never charges
      assertThat(problem(down.post("/v1/check", LOGIN), 503).get("detail").asText())
          .isEqualTo("the store could not decide; nothing was charged");
      String explain = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"a\"}";
      assertThat(problem(down.post("/v1/explain", explain), 503).get("detail").asText())
          .isEqualTo("the store could not decide; nothing was charged");
      assertThat(problem(down.get("/readyz"), 503).get("detail").asText())
          .isEqualTo("the store does not answer"); // nobody asked for a charge
      assertThat(down.get("/healthz").statusCode()).isEqualTo(200);
    }
  }

  @Test
  void store_thatNeverAnswers_isA503() {
    BucketStore silent =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            throw new AssertionError("an event loop must not block");
          }

          @Override
          public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
            return new CompletableFuture<>();
          }
        };
    Duration idle = Duration.ofSeconds(20);
    Duration brief = Duration.ofMillis(500);
    try (TestServer slow = new TestServer(SampleFixture.limits(), silent, idle, brief)) {
      JsonNode problem = problem(slow.post("/v1/spend", LOGIN), 503);
      assertThat(problem.get("detail").asText())
          .contains("whether anything was charged is unknown");
      assertThat(problem(slow.get(BUCKET), 503).get("detail").asText())
          .contains("nothing was charged");
      assertThat(problem(slow.post("/v1/check", LOGIN), 503).get("detail").asText())
          .contains("nothing was charged");
      String proxied = "/v1/forward-auth?limit=ApiCallsPerKey&id=a";
      assertThat(problem(slow.get(proxied + "&dry=true"), 503).get("detail").asText())
          .contains("nothing was charged");
      assertThat(problem(slow.post(proxied, "a client's body"), 503).get("detail").asText())
          .contains("whether anything was charged is unknown");
    }
  }

  @Test
  void store_thatChargedNothing_isA503ThatSaysSo() {
    BucketStore full = new FailingStore(() -> new UnchargedException("x:1 is full"));
    try (TestServer down = new TestServer(SampleFixture.limits(), full)) {
      JsonNode problem = problem(down.post("/v1/spend", LOGIN), 503);
      assertThat(problem.get("detail").asText()).endsWith("; nothing was charged");
    }
  }

  @Test
  void batch_isRefusedWithAllItsMistakes() {
    String batch =
        """
        {"limits":[1,{"a":[]}],"transactions":[
          {"limit":"LoginsPerIPAddress","id":"lol","cost":-1},
          {"limit":"Nope","cost":-1},
          7,
          {"limit":"ApiCallsPerKey","id":"a","cost":101,"kind":"spendonly"},
          {"limit":"ApiCallsPerKey","id":"b","cost":{"x":1}},
          {"limit":"ApiCallsPerKey","id":"c"},
          {"limit":"ApiCallsPerKey","id":"c","id":"d"}]}""";
    JsonNode problem = problem(server.post("/v1/spend", batch), 400);
    assertThat(problem.get("field").asText()).isEqualTo("limits");
    assertThat(problem.get("detail").asText()).endsWith(" (and 10 more mistakes: see errors)");
    assertThat(problem.get("errors").findValuesAsText("field"))
        .containsExactlyInAnyOrder(
            "limits",
            "transactions[0].id",
            "transactions[0].cost",
            "transactions[1].limit",
            "transactions[1].id",
            "transactions[2]",
            "transactions[3].cost",
            "transactions[3].kind",
            "transactions[4].cost",
            "transactions[6].id",
            "transactions[6]");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1/spend", "/v1/check", "/v1/reservations"})
  void query_isToldOf_beforeTheBody(String path) {
    String query = "?status=500&hedaers=ietf&headers=itef";
    String body = "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"lol\",\"cost\":-1}";
    JsonNode problem = problem(server.post(path + query, body), 400);
    assertThat(problem.get("field").asText()).isEqualTo("hedaers");
    assertThat(problem.get("errors").findValuesAsText("field"))
        .containsExactly("hedaers", "status", "headers", "id", "cost");
    JsonNode broken = problem(server.post(path + "?status=500", "{"), 400);
    assertThat(broken.get("errors")).hasSize(2);
    assertThat(broken.get("field").asText()).isEqualTo("status");
  }

  @Test
  void batch_ofUnknownLimitsOnly_isA404_thatNamesTheFirst20() {
    String batch = batchOf(30).replace("ApiCallsPerKey", "Nope");
    JsonNode problem = problem(server.post("/v1/spend", batch), 404);
    assertThat(problem.get("errors")).hasSize(20);
    assertThat(problem.get("detail").asText()).contains("and 29 more mistakes");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'limit':'ApiCallsPerKey','id':'a','cost':1} | cost",
        "{'transactions':[{'limit':'ApiCallsPerKey','id':'a','cost':0}]} | transactions[0].cost",
        "{'transactions':[{'limit':'ApiCallsPerKey','id':'a','kind':'checkOnly'}]} | transactions[0].kind",
      })
  void reset_withACostOrAKind_isRefused(String body, String field) {
    JsonNode problem = problem(server.post("/v1/reset", body.replace('\'', '"')), 400);
    assertThat(problem.get("field").asText()).isEqualTo(field);
    assertThat(problem.get("detail").asText()).contains("a reset deletes the whole bucket");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'limit':'A'",
        "{limit:'A'}",
        "{'limit':secret}",
        "{'limit':'A\u0001'}",
        "{'limit':'\\x'}",
        "{'limit':1.}",
        "{'limit':'A',}",
        "{'a':[[[[[[[1]]]]]]]}"
      })
  void badJson_isRefusedInOurOwnWords(String body) {
    String detail =
        problem(server.post("/v1/spend", body.replace('\'', '"')), 400).get("detail").asText();
    assertThat(detail)
        .containsPattern("^(found|the text is not valid JSON) ")
        .doesNotContain("secret", "Unexpected", "JsonToken", "StreamReadConstraints", "START_");
  }

  @Test
  void mistakeOfOurs_isA500_thatTellsNothing() {
    BucketStore broken = new FailingStore(() -> new IllegalStateException("secret"));
    try (TestServer failing = new TestServer(SampleFixture.limits(), broken)) {
      HttpResponse<String> answer = failing.post("/v1/spend", LOGIN);
      problem(answer, 500);
      assertThat(answer.body()).doesNotContain("secret", "Exception", "at dev.");
      assertThat(TestServer.json(answer).get("incident").asText()).matches("[0-9a-f]{8}");
    }
  }

  @Test
  void resetOfAPenalizedId_isDone_whereItsPenaltyCantBeLookedUp() {
    AtomicBoolean away = new AtomicBoolean();
    try (BucketStore memory = BucketStore.inMemory();
        TestServer failing =
            new TestServer(SampleFixture.limits(), new ResetsOnly(memory, away::get))) {
      HttpResponse<String> put =
          failing.send(
              "PUT",
              "/v1/admin/penalties/LoginsPerIPAddress/192.0.2.7",
              BodyPublishers.ofString("{\"for\":\"1h\"}"),
              "application/json");
      assertThat(put.statusCode()).as(put.body()).isLessThan(300);
      away.set(true);
      problem(failing.post("/v1/check", LOGIN), 503);

      HttpResponse<String> answer = failing.post("/v1/reset", LOGIN);
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
      assertThat(TestServer.json(answer).get("reset").asBoolean()).isTrue();
    }
  }

  @CanIgnoreReturnValue
  private static JsonNode problem(HttpResponse<String> answer, int status) {
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
    assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/problem+json");
    assertThat(answer.headers().firstValue("Cache-Control")).hasValue("no-store");
    JsonNode problem = TestServer.json(answer);
    assertThat(problem.get("status").asInt()).isEqualTo(status);
    assertThat(problem.get("type").asText()).startsWith("tag:sluice.dev,2026:");
    assertThat(problem.get("title").asText()).isNotEmpty();
    assertThat(problem.get("detail").asText()).isNotEmpty();
    return problem;
  }

  /** A store that can be told to fail whatever is no reset. */
  private record ResetsOnly(BucketStore memory, BooleanSupplier away) implements BucketStore {
    @Override
    public List<Reading> charge(List<Charge> charges) {
      if (!away.getAsBoolean()
          || charges.stream().allMatch(charge -> charge.effect().op() == Op.RESET)) {
        return memory.charge(charges);
      }
      throw new UnchargedException("the store is away");
    }
  }

  /** A store whose every call ends badly. */
  private record FailingStore(Supplier<RuntimeException> failure) implements BucketStore {
    @Override
    public List<Reading> charge(List<Charge> charges) {
      throw failure.get();
    }

    @Override
    public void ping() {
      throw failure.get();
    }
  }
}
