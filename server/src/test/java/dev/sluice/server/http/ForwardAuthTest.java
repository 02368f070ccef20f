// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.Aside;
import dev.sluice.server.TestParts;
import dev.sluice.server.http.HttpPart.ForwardAuthPart;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.web.Spellings;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.ProxyHeader;
import dev.sluice.yaml.LimitFiles;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The door for proxies, with the requests that they send. */
final class ForwardAuthTest {

  private static final String LIMITS =
      """
      LoginsPerIPAddress: {burst: 2, count: 2, period: 1m}
      ApiCallsPerKey: {burst: 3, count: 3, period: 1m}
      SignUpsPerIPv6Range: {burst: 1, count: 1, period: 1m}
      """;
  private static final String RULES =
      """
      rules:
        - {path: /health, unlimited: true}
        - {path: /old/**, deny: true}
        - path: /login
          methods: POST
          limits:
            - {limit: LoginsPerIPAddress, id: "{ip}"}
            - {limit: ApiCallsPerKey, id: tried, shadow: true, cost: 3}
        - {path: "/orders/{account}/**", host: shop.test, limit: ApiCallsPerKey, id: "{path:account}"}
        - {path: /keyed, limit: ApiCallsPerKey, id: "{header:X-Api-Key}"}
        - {path: /costly, limit: ApiCallsPerKey, id: costly, cost: {header: X-Cost}}
        - {path: /tried, limit: ApiCallsPerKey, id: tried, cost: {header: X-Cost}, shadow: true}
        - {path: /session, limit: ApiCallsPerKey, id: "{cookie:s}"}
        - path: /try
          limits:
            - {limit: LoginsPerIPAddress, id: "{ip}"}
            - {limit: ApiCallsPerKey, id: "{header:X-Api-Key}", shadow: true}
        - {path: /office, clients: 10.0.0.0/8, unlimited: true}
        - {path: /dav/**, methods: PROPFIND, deny: true}
        - {path: /socket, headers: {Upgrade: websocket}, deny: true}
      """;
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private final BucketStore memory = BucketStore.inMemory(new ManualTime());
  private final AtomicBoolean broken = new AtomicBoolean();
  private final BucketStore store = this::charge;

  private final MeterRegistry meters = new SimpleMeterRegistry();
  private Denials denials = Denials.none();

  @TempDir Path folder;

  private SluiceServer server;

  private List<Reading> charge(List<Charge> charges) {
    if (broken.get()) {
      throw new StoreException("the store is broken, as the test wants");
    }
    return memory.charge(charges);
  }

  @AfterEach
  void stop() {
    Aside.run(server::close); // its acceptor takes two seconds
  }

  private void start(FailureRule onFailure, ClientAddress client, boolean rules)
      throws IOException {
    LimitFiles.Builder files =
        LimitFiles.builder()
            .catalogue(Catalogue.samples())
            .defaults(Files.writeString(folder.resolve("limits.yml"), LIMITS));
    if (rules) {
      files.companion(Files.writeString(folder.resolve("rules.yml"), RULES), RuleBook.reader());
    }
    start(files.build().load(), onFailure, client);
  }

  private void start(Limits limits, FailureRule onFailure, ClientAddress client) {
    Limiter limiter =
        Limiter.builder(new CurrentLimits(limits), store).onFailure(onFailure).build();
    server =
        SluiceServer.builder(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                ConnectionBudget.usual())
            .part(TestParts.http(limiter, store))
            .part(new ForwardAuthPart(limiter, client, meters, denials))
            .start();
  }

  private void start() throws IOException {
    start(FailureRule.fail(), behindLoopback(), false);
  }

  private void startWithRules() throws IOException {
    start(FailureRule.fail(), behindLoopback(), true);
  }

  private static ClientAddress behindLoopback() {
    return ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "127.0.0.0/8");
  }

  private HttpResponse<String> send(String method, String path, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create(
                    "http://" + HostPort.format(server.address()) + "/v1/forward-auth" + path))
            .timeout(Duration.ofMinutes(1))
            .method(method, BodyPublishers.noBody());
    if (headers.length > 0) {
      request.headers(headers);
    }
    try {
      return CLIENT.send(request.build(), BodyHandlers.ofString());
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @CanIgnoreReturnValue
  private HttpResponse<String> get(String path, String... headers) {
    return send("GET", path, headers);
  }

  /** What a proxy says of a request of a client at 192.0.2.7. */
  private HttpResponse<String> asked(String method, String uri, String... more) {
    String[] all = new String[more.length + 8];
    System.arraycopy(
        new String[] {
          "X-Forwarded-Method",
          method,
          "X-Forwarded-Uri",
          uri,
          "X-Forwarded-Host",
          "shop.test",
          "X-Forwarded-For",
          "203.0.113.9, 192.0.2.7"
        },
        0,
        all,
        0,
        8);
    System.arraycopy(more, 0, all, 8, more.length);
    return get("", all);
  }

  private static String header(HttpResponse<?> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }

  @Test
  void limitOfTheQuery_isSpentAndDenied_withTheHeadersOfBoth() throws IOException {
    start();
    HttpResponse<String> first = get("?limit=LoginsPerIPAddress&id=192.0.2.7");
    assertThat(first.statusCode()).isEqualTo(200);
    assertThat(first.body()).isEmpty();
    assertThat(header(first, "RateLimit")).isEqualTo("\"LoginsPerIPAddress\";r=1");
    assertThat(header(first, "RateLimit-Policy")).isEqualTo("\"LoginsPerIPAddress\";q=2;w=60");
    assertThat(header(first, "Cache-Control")).isEqualTo("no-store");
    assertThat(header(first, "Retry-After")).isEmpty();
    assertThat(get("?limit=LoginsPerIPAddress&id=192.0.2.7").statusCode()).isEqualTo(200);

    HttpResponse<String> third = get("?limit=LoginsPerIPAddress&id=192.0.2.7");
    assertThat(third.statusCode()).isEqualTo(429);
    int retryAfter = Integer.parseInt(header(third, "Retry-After")); // with jitter
    assertThat(retryAfter).isBetween(30, 31);
    assertThat(header(third, "RateLimit")).startsWith("\"LoginsPerIPAddress\";r=0;t=3");
    assertThat(header(third, "Content-Type")).isEqualTo("application/problem+json");
    assertThat(header(third, "Cache-Control")).isEqualTo("no-store");
    JsonNode problem = TestServer.json(third);
    assertThat(problem.get("status").intValue()).isEqualTo(429);
    assertThat(problem.get("violated-policies").get(0).textValue()).isEqualTo("LoginsPerIPAddress");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "FOO"})
  void everyMethod_spends(String method) throws IOException {
    start();
    String bucket = "?limit=ApiCallsPerKey&id=m&cost=3";
    HttpResponse<String> first = send(method, bucket);
    assertThat(first.statusCode()).isEqualTo(200);
    assertThat(first.body()).isEmpty();
    assertThat(send(method, bucket).statusCode()).isEqualTo(429);
  }

  /** No body is read, so none is asked for. */
  @ParameterizedTest
  @ValueSource(strings = {"?limit=ApiCallsPerKey&id=e&cost=3", "/orders/7"})
  void clientThatWaitsToSendItsBody_getsTheDecisionAlone(String target) throws IOException {
    startWithRules();
    String request =
        """
        POST /v1/forward-auth%s HTTP/1.1
        Host: localhost
        Expect: 100-Continue
        Content-Length: 5
        RateLimit-Key: ApiCallsPerKey:f

        """;
    try (RawClient client = RawClient.connect(server.address())) {
      client.send(request.formatted(target).replace("\n", "\r\n"));
      assertThat(client.answer()).startsWith("HTTP/1.1 200 OK");
    }
  }

  @Test
  void clientThatWaitsToSendItsBody_getsTheDecisionAlone_overHttp2() throws IOException {
    start();
    String path = "/v1/forward-auth?limit=ApiCallsPerKey&id=e";
    try (RawClient client = RawClient.connect(server.address())) {
      client.send(RawClient.http2(SluiceServer.MAX_BODY));
      client.send(RawClient.http2Post(1, path, "http://localhost", "expect", "100-continue"));
      assertThat(RawClient.statusOf(client.frame(RawClient.HEADERS))).isEqualTo(200);
    }
  }

  /** HAProxy can pass it on as the client sent it; a server ignores it where it asks itself. */
  @ParameterizedTest
  @CsvSource({"'Upgrade: websocket\n', 429", "'Upgrade: h2c\n', 200", "'', 200"})
  void upgradeOfTheClient_isTheOneThatRulesSee(String upgrade, int status) throws IOException {
    startWithRules();
    String request =
        "GET /v1/forward-auth/socket HTTP/1.1\nHost: localhost\nX-Forwarded-For: 192.0.2.7\nConnection: Upgrade\n%s\n";
    try (RawClient proxy = RawClient.connect(server.address())) {
      proxy.send(request.formatted(upgrade).replace("\n", "\r\n"));
      assertThat(proxy.answer()).startsWith("HTTP/1.1 " + status);
    }
  }

  /** Envoy writes the original path behind ours, and keeps the method. */
  @Test
  void methodThatTheLibraryDoesNotKnow_isTheOneThatRulesSee() throws IOException {
    startWithRules();
    assertThat(send("PROPFIND", "/dav/x").statusCode()).isEqualTo(429);
    assertThat(send("MKCOL", "/dav/x").statusCode()).isEqualTo(200);
    assertThat(send("GET", "/dav/x").statusCode()).isEqualTo(200);
    assertThat(send("PROPFIND", "x").statusCode()).as("another path").isEqualTo(405);
  }

  @Test
  void methodThatTheLibraryDoesNotKnow_isTheOneThatRulesSee_overHttp2() throws IOException {
    startWithRules();
    try (RawClient client = RawClient.connect(server.address())) {
      client.send(RawClient.http2(SluiceServer.MAX_BODY));
      client.send(RawClient.http2Request(1, "MKCOL", "/v1/forward-auth/dav/x"));
      assertThat(RawClient.statusOf(client.frame(RawClient.HEADERS))).isEqualTo(200);
      client.send(RawClient.http2Request(3, "PROPFIND", "/v1/forward-auth/dav/x"));
      assertThat(RawClient.statusOf(client.frame(RawClient.HEADERS))).isEqualTo(429);
      client.send(RawClient.http2Request(5, "MKCOL", "/v1/spend"));
      assertThat(RawClient.statusOf(client.frame(RawClient.HEADERS))).isEqualTo(400);
    }
  }

  /** A proxy that writes Forwarded passes on the X-Forwarded-For that a client made up. */
  @Test
  void forwarded_namesTheClient_whereProxiesWriteIt_andNothingElseDoes() throws IOException {
    ClientAddress behind = ClientAddress.behind(ProxyHeader.FORWARDED, "127.0.0.0/8");
    start(FailureRule.fail(), behind, false);
    String bucket = "?limit=LoginsPerIPAddress&key=ip&cost=2";
    String made = "X-Forwarded-For";
    String said = "Forwarded";
    assertThat(get(bucket, said, "for=203.0.113.9, for=192.0.2.7", made, "192.0.2.1").statusCode())
        .isEqualTo(200);
    assertThat(get(bucket, said, "for=\"192.0.2.7:4711\"", made, "192.0.2.2").statusCode())
        .isEqualTo(429);
    assertThat(get(bucket, said, "for=192.0.2.8", made, "192.0.2.7").statusCode()).isEqualTo(200);
  }

  @Test
  void draft03_hasItsHeaders() throws IOException {
    start();
    HttpResponse<String> answer = get("?limit=LoginsPerIPAddress&id=192.0.2.7&headers=draft03");
    assertThat(header(answer, "RateLimit-Limit")).isEqualTo("2");
    assertThat(header(answer, "RateLimit-Remaining")).isEqualTo("1");
    assertThat(header(answer, "RateLimit-Reset")).isEqualTo("30");
    assertThat(header(answer, "RateLimit")).isEmpty();
  }

  @Test
  void dry_spendsNothing() throws IOException {
    start();
    String bucket = "?limit=ApiCallsPerKey&id=d&cost=3";
    assertThat(get(bucket + "&dry=true").statusCode()).isEqualTo(200);
    assertThat(get(bucket + "&dry=true").statusCode()).isEqualTo(200);
    assertThat(get(bucket).statusCode()).isEqualTo(200);
    assertThat(get(bucket + "&dry=true").statusCode()).isEqualTo(429);
  }

  @Test
  void severalLimits_areSpentTogetherOrNotAtAll() throws IOException {
    start();
    String both = "?limit=LoginsPerIPAddress&key=ip&limit=ApiCallsPerKey&id=both&cost=2";
    String[] client = {"X-Forwarded-For", "127.0.0.1"};
    assertThat(get(both, client).statusCode()).isEqualTo(200);
    HttpResponse<String> second = get(both, client);
    assertThat(second.statusCode()).isEqualTo(429);
    assertThat(header(second, "RateLimit")).contains("\"ApiCallsPerKey\";r=1;t=");
    assertThat(header(get("?limit=LoginsPerIPAddress&id=127.0.0.1&cost=0"), "RateLimit"))
        .isEqualTo("\"LoginsPerIPAddress\";r=1");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ip | X-Forwarded-For | 192.0.2.9, 127.0.0.5 | LoginsPerIPAddress | 192.0.2.9",
        "ip/64 | X-Forwarded-For | 2001:db8::1 | SignUpsPerIPv6Range | 2001:db8::/64",
        "header:X-Api-Key | X-Api-Key | k1 | ApiCallsPerKey | k1",
        "cookie:s | Cookie | a=b; s=k2 | ApiCallsPerKey | k2",
        "host | X-Forwarded-Host | Shop.test:443 | ApiCallsPerKey | shop.test",
        "header:X-None%7Canonymous | X-Api-Key | k1 | ApiCallsPerKey | anonymous",
      })
  void key_isTakenFromTheOriginalRequest(
      String key, String header, String value, String limit, String id) throws IOException {
    start();
    get("?limit=" + limit + "&key=" + key, header, value);
    String left = header(get("?limit=" + limit + "&cost=0&id=" + id), "RateLimit");
    assertThat(left)
        .isIn(
            "\"LoginsPerIPAddress\";r=1", "\"ApiCallsPerKey\";r=2", "\"SignUpsPerIPv6Range\";r=0");
  }

  @Test
  void keysThatNeedTheTarget_takeItFromTheProxy() throws IOException {
    start();
    String keyed = "?limit=ApiCallsPerKey&key=query:user";
    assertThat(get(keyed, "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/a?user=u").statusCode())
        .isEqualTo(200);
    assertThat(header(get("?limit=ApiCallsPerKey&id=u&cost=0"), "RateLimit"))
        .isEqualTo("\"ApiCallsPerKey\";r=2");
    HttpResponse<String> silent = get(keyed);
    assertThat(silent.statusCode()).isEqualTo(400);
    assertThat(silent.body()).contains("X-Forwarded-Method 0 times", "the proxy must set it");
    HttpResponse<String> empty = get(keyed, "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "");
    assertThat(empty.body()).contains("X-Forwarded-Uri without a value", "the proxy must set it");
  }

  /** nginx joins the lines of a header since version 1.23, and Envoy without blanks. */
  @Test
  void headerThatAProxyHasJoined_isChargedByItsFirstLineToo() throws IOException {
    startWithRules();
    String keyed = "?limit=ApiCallsPerKey&key=header:X-Api-Key";
    assertThat(asked("GET", "/keyed", "X-Api-Key", "k, r1").statusCode()).isEqualTo(200);
    assertThat(asked("GET", "/keyed", "X-Api-Key", "k,r2").statusCode()).isEqualTo(200);
    assertThat(get(keyed, "X-Api-Key", "k, r3").statusCode()).isEqualTo(200);
    assertThat(asked("GET", "/keyed", "X-Api-Key", "k, r4").statusCode()).isEqualTo(429);
    assertThat(get(keyed, "X-Api-Key", "k, r5").statusCode()).isEqualTo(429);
    assertThat(asked("GET", "/keyed", "X-Api-Key", "k").statusCode()).isEqualTo(429);
  }

  @Test
  void ipv6AddressInAHeader_isGroupedByTheQuerysKey_andNotAsAnIdOfTheCaller() throws IOException {
    startWithRules();
    String keyed = "?limit=LoginsPerIPAddress&key=header:X-Client-Ip";
    for (int i = 1; i <= 3; i++) {
      assertThat(get(keyed, "X-Client-Ip", "2001:db8:6::" + i).statusCode())
          .isEqualTo(i < 3 ? 200 : 429);
    }
    String given = "?limit=LoginsPerIPAddress";
    assertThat(get(given, "RateLimit-Id", "2001:db8:6::1").statusCode()).isEqualTo(200);
  }

  @Test
  void ipv4Client_skipsALimitOnIpv6Ranges() throws IOException {
    start();
    for (int i = 0; i < 3; i++) {
      HttpResponse<String> answer =
          get("?limit=SignUpsPerIPv6Range&key=ip/64", "X-Forwarded-For", "192.0.2.9");
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(header(answer, "RateLimit")).isEmpty();
    }
  }

  @Test
  void idAndCost_areTakenFromHeadersThatTheProxySets() throws IOException {
    start();
    String keyed = "?limit=ApiCallsPerKey&cost=header:X-Cost";
    assertThat(get(keyed, "RateLimit-Id", "h", "X-Cost", "2").statusCode()).isEqualTo(200);
    assertThat(get(keyed, "RateLimit-Id", "h", "X-Cost", "2").statusCode()).isEqualTo(429);
    assertThat(get(keyed, "RateLimit-Id", "h").statusCode()).isEqualTo(200);
    assertThat(get(keyed).statusCode()).isEqualTo(400);
    assertThat(get(keyed, "RateLimit-Id", "h", "X-Cost", "-1").statusCode()).isEqualTo(400);
  }

  /** Most proxies pass on the headers of the client, which must not go free of charge. */
  @Test
  void costOfAHeader_isAtLeast1() throws IOException {
    startWithRules();
    String keyed = "?limit=ApiCallsPerKey&id=h&cost=header:X-Cost";
    assertThat(header(get(keyed, "X-Cost", "0"), "RateLimit")).endsWith(";r=2");
    assertThat(header(get(keyed), "RateLimit")).endsWith(";r=1");
    String byHeader = "?by=header&cost=header:X-Cost";
    assertThat(
            header(get(byHeader, "RateLimit-Key", "ApiCallsPerKey:h", "X-Cost", "00"), "RateLimit"))
        .endsWith(";r=0");
    assertThat(get(keyed, "X-Cost", "1", "X-Cost", "1").statusCode()).isEqualTo(400);
    assertThat(header(asked("GET", "/costly", "X-Cost", "0"), "RateLimit")).endsWith(";r=2");
    assertThat(header(asked("GET", "/costly", "X-Cost", "2"), "RateLimit")).endsWith(";r=0");
    assertThat(asked("GET", "/costly").statusCode()).isEqualTo(429);
  }

  @Test
  void limitAndId_areTakenFromAHeader_aLineEach() throws IOException {
    start();
    HttpResponse<String> both =
        get(
            "",
            "RateLimit-Key",
            "LoginsPerIPAddress:2001:db8::1",
            "RateLimit-Key",
            "ApiCallsPerKey:k");
    assertThat(both.statusCode()).isEqualTo(200);
    assertThat(header(both, "RateLimit"))
        .isEqualTo("\"LoginsPerIPAddress\";r=1, \"ApiCallsPerKey\";r=2");
    assertThat(get("?cost=3", "RateLimit-Key", "ApiCallsPerKey:k").statusCode()).isEqualTo(429);
    assertThat(get("", "RateLimit-Key", "ApiCallsPerKey").statusCode()).isEqualTo(400);
    assertThat(get("").body()).contains("the query names no limit");
    assertThat(get("", "RateLimit-Key", "Nope:k").statusCode()).isEqualTo(404);
    HttpResponse<String> open = get("", "RateLimit-Key", "SignUpsPerIPAddress:192.0.2.7");
    assertThat(open.statusCode()).isEqualTo(404);
    assertThat(open.body()).contains("SignUpsPerIPAddress has no default");
  }

  /** The proxy may have set the value, so the client need not know it. */
  @Test
  void idThatALimitCannotHave_isNotShown() throws IOException {
    startWithRules();
    HttpResponse<String> byRule = asked("GET", "/keyed", "X-Api-Key", "secret".repeat(200));
    assertThat(byRule.statusCode()).isEqualTo(400);
    assertThat(byRule.body()).contains("unusable value").doesNotContain("secret");
    HttpResponse<String> byKey =
        get("?limit=LoginsPerIPAddress&key=header:X-User", "X-User", "secret");
    assertThat(byKey.statusCode()).isEqualTo(400);
    assertThat(byKey.body()).contains("unusable value").doesNotContain("secret");
    assertThat(get("?limit=LoginsPerIPAddress&id=written").body()).contains("written");
  }

  @Test
  void unknownLimit_isAnErrorForAllClients() throws IOException {
    start();
    for (String client : List.of("192.0.2.9", "2001:db8::9")) {
      HttpResponse<String> answer = get("?limit=Nope&key=ip/64", "X-Forwarded-For", client);
      assertThat(answer.statusCode()).isEqualTo(404);
      assertThat(answer.body()).contains("Nope");
    }
  }

  @Test
  void keysWithOneValue_chargeItsBucketOnce_atTheHigherCost() throws IOException {
    start();
    String keys = "?limit=ApiCallsPerKey&key=query:from&limit=ApiCallsPerKey&key=query:to&cost=2";
    HttpResponse<String> answer =
        get(keys, "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/?from=a&to=a");
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(header(answer, "RateLimit")).isEqualTo("\"ApiCallsPerKey\";r=1");
    HttpResponse<String> empty =
        get(keys, "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/?from=a&to=b");
    assertThat(header(empty, "RateLimit")).isEqualTo("\"ApiCallsPerKey\";r=0");
  }

  @Test
  void rules_chargeTheOriginalRequest() throws IOException {
    startWithRules();
    assertThat(asked("POST", "/login?next=/").statusCode()).isEqualTo(200);
    assertThat(asked("POST", "//login/").statusCode()).isEqualTo(200);
    HttpResponse<String> third = asked("POST", "/%6cogin");
    assertThat(third.statusCode()).isEqualTo(429);
    assertThat(header(third, "RateLimit")).startsWith("\"LoginsPerIPAddress\";r=0;t=");
    assertThat(asked("GET", "/login").statusCode()).isEqualTo(200);
    HttpResponse<String> health = asked("GET", "/health");
    assertThat(health.statusCode()).isEqualTo(200);
    assertThat(header(health, "RateLimit")).isEmpty();
    assertThat(header(asked("GET", "/orders/7/items"), "RateLimit"))
        .isEqualTo("\"ApiCallsPerKey\";r=2");
  }

  /** Some applications take an escaped slash for a part of a name, others for a slash. */
  @ParameterizedTest
  @ValueSource(
      strings = {"/login%2F", "/%2Flogin", "/%2flogin%2F%2F", "/login%5C", "/login\\", "/%5clogin"})
  void pathWithAnEscapedSlash_isChargedByBothReadings(String path) throws IOException {
    startWithRules();
    for (int status : new int[] {200, 200, 429}) {
      assertThat(asked("POST", path).statusCode()).isEqualTo(status);
    }
    assertThat(asked("POST", "/login").statusCode()).isEqualTo(429);
  }

  @Test
  void pathWithAnEscapedSlash_mayBeForTwoBuckets_andIsChargedToBoth() throws IOException {
    startWithRules();
    assertThat(header(asked("GET", "/orders/7%2Fitems"), "RateLimit"))
        .isEqualTo("\"ApiCallsPerKey\";r=2");
    assertThat(header(get("?limit=ApiCallsPerKey&id=7%252Fitems&cost=0"), "RateLimit"))
        .isEqualTo("\"ApiCallsPerKey\";r=2");
    assertThat(header(asked("GET", "/orders/7/items"), "RateLimit")).endsWith(";r=1");
    assertThat(header(asked("GET", "/orders/7%2Fother"), "RateLimit")).endsWith(";r=0");
    assertThat(asked("GET", "/orders%2F7/another").statusCode()).isEqualTo(429);
    assertThat(asked("GET", "/old%2Fpage").statusCode()).as("one reading is denied").isEqualTo(429);
    assertThat(asked("GET", "/@scope%2Fname").statusCode()).as("no rule").isEqualTo(200);
    String[] envoy = {"X-Forwarded-For", "192.0.2.7"};
    assertThat(send("GET", "/old%2Fpage", envoy).statusCode()).isEqualTo(429);
    assertThat(send("GET", "/@scope%2Fname", envoy).statusCode()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/health%2F..%2Flogin",
        "/health/..%5Clogin",
        "/a%2Fb/../login",
        "/a%2Fb%5Cc",
        "/a%00",
        "/a%0A",
        "/a%zz",
        "/health;%2F..%2Flogin",
        "/login#1",
        "/login#",
        "/login x",
        "http:/login",
        "login"
      })
  void pathWithMoreThanTwoReadings_isRefused(String path) throws IOException {
    startWithRules();
    HttpResponse<String> answer = asked("POST", path);
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(answer.body()).contains("the path");
  }

  @ParameterizedTest
  @CsvSource({
    "POST, //x/login",
    "POST, /\\x/login",
    "POST, http://shop.test/login",
    "post, /login",
    "Post, ///x/login?a#b"
  })
  void requestThatAnApplicationReadsInAnotherWay_isCharged(String method, String uri)
      throws IOException {
    startWithRules();
    for (int status : new int[] {200, 200, 429}) {
      assertThat(asked(method, uri).statusCode()).isEqualTo(status);
    }
    assertThat(asked("POST", "/login").statusCode()).isEqualTo(429);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Daphne-Root-Path",
        "SCRIPT_NAME",
        "Script_Name",
        "X-Rewrite-Url",
        "X_Rewrite_Url",
        "X-Rewrite_URL"
      })
  void headerThatChangesThePath_isRefused_unlessThePathIsNotUsed(String name) throws IOException {
    startWithRules();
    HttpResponse<String> answer = asked("POST", "/x/login", name, "/x");
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(answer.body()).contains("can change the path; send the request without this header");
    assertThat(send("POST", "/x/login", "X-Forwarded-For", "192.0.2.7", name, "/x").statusCode())
        .isEqualTo(400);
    assertThat(get("?limit=ApiCallsPerKey&id=h", name, "/x").statusCode()).isEqualTo(200);
  }

  @Test
  void pathBelowAPhpScript_isChargedAsTheScriptReadsIt() throws IOException {
    startWithRules();
    for (int status : new int[] {200, 200, 429}) {
      assertThat(asked("POST", "/index.php/login").statusCode()).isEqualTo(status);
    }
    assertThat(asked("POST", "/login").statusCode()).isEqualTo(429);
    assertThat(asked("POST", "/api//../login").statusCode()).isEqualTo(429);
    assertThat(asked("POST", "/login//../x").statusCode()).isEqualTo(200);
  }

  @Test
  void deniedRequest_isA429_evenIfItsPathIsUnusable() throws IOException {
    denials = Denials.to(null, true);
    start();
    for (int status : new int[] {200, 200, 200, 429}) {
      String[] unusable = {
        "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/a", "X-Rewrite-Url", "/x"
      };
      assertThat(get("?limit=ApiCallsPerKey&id=h", unusable).statusCode()).isEqualTo(status);
    }
    assertThat(denials.last("ApiCallsPerKey", "h")).hasSize(1);
    assertThat(denials.last("ApiCallsPerKey", "h").get(0).asked().path()).isNull();
  }

  @Test
  void pathBehindTheDoors_isReadInEachWayToo() throws IOException {
    startWithRules();
    String[] client = {"X-Forwarded-For", "192.0.2.7"};
    assertThat(send("POST", "//x/login", client).statusCode()).isEqualTo(200);
    assertThat(send("post", "/login", client).statusCode()).isEqualTo(200);
    assertThat(send("Post", "/login", client).statusCode()).isEqualTo(429);
    String[] wish = {"X-Forwarded-For", "192.0.2.7", "X-HTTP-Method-Override", "POST"};
    assertThat(send("PUT", "/login", wish).statusCode()).isEqualTo(429);
    assertThat(send("PUT", "/login", client).statusCode()).isEqualTo(200);
  }

  @Test
  void keyOfTheQuery_isChargedInEachReading() throws IOException {
    start(FailureRule.fail(), behindLoopback(), false);
    String asked = "?limit=ApiCallsPerKey&key=cookie:s";
    assertThat(header(get(asked, "Cookie", "s=%61"), "RateLimit")).endsWith(";r=2");
    assertThat(header(get(asked, "Cookie", "s=a"), "RateLimit")).endsWith(";r=1");
    String[] overridden = {
      "X-Forwarded-Method", "post", "X-Forwarded-Uri", "/a%2Fb", "X-HTTP-Method", "put"
    };
    assertThat(get("?limit=ApiCallsPerKey&key=path", overridden).body()).isEmpty();
    assertThat(header(get("?limit=ApiCallsPerKey&id=%2Fa%2Fb&cost=0"), "RateLimit"))
        .endsWith(";r=2");
    assertThat(header(get("?limit=ApiCallsPerKey&key=method", overridden), "RateLimit"))
        .endsWith(";r=2");
    assertThat(header(get("?limit=ApiCallsPerKey&id=PUT&cost=0"), "RateLimit")).endsWith(";r=2");
    assertThat(header(get("?limit=ApiCallsPerKey&id=POST&cost=0"), "RateLimit")).endsWith(";r=2");
  }

  @Test
  void requestThatNoRuleIsFor_passesAndIsCounted() throws IOException {
    startWithRules();
    Counter unmatched = meters.get("sluice.forward.auth.unmatched").counter();
    assertThat(unmatched.count()).isZero();
    assertThat(asked("GET", "/login").statusCode()).isEqualTo(200);
    assertThat(asked("GET", "/nothing%2Fhere").statusCode()).isEqualTo(200);
    assertThat(unmatched.count()).isEqualTo(2);
    assertThat(asked("GET", "/health").statusCode()).isEqualTo(200);
    assertThat(asked("GET", "/old/page").statusCode()).isEqualTo(429);
    assertThat(asked("POST", "/login%2F").statusCode()).isEqualTo(200);
    assertThat(get("?limit=ApiCallsPerKey&id=x").statusCode()).isEqualTo(200);
    assertThat(unmatched.count()).isEqualTo(2);
  }

  @Test
  void ruleThatDenies_refusesWithoutATimeToWait() throws IOException {
    startWithRules();
    HttpResponse<String> denied = asked("GET", "/old/page");
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(denied.body()).contains("a rule denies this request");
    assertThat(header(denied, "Content-Type")).isEqualTo("application/problem+json");
    assertThat(header(denied, "Retry-After")).isEmpty();
    assertThat(header(denied, "Cache-Control")).isEqualTo("no-store");
  }

  @Test
  void spellingsOfACookie_areNoWayAroundItsBucket() throws IOException {
    startWithRules();
    assertThat(get("?limit=ApiCallsPerKey&id=e1&cost=3").statusCode()).isEqualTo(200);
    // Servlet containers replace or refuse these bytes, and the application gets no more than that.
    Stream<String> blanks =
        Stream.of(
            "e1\u00a0",
            "\u00a0e1",
            "\u00a0\"e1\"",
            "\u00c2\u00a0e1\u00c2\u00a0",
            "e2; s\u00a0=e1",
            "e2; \u0085s=e1");
    for (String cookie : Stream.concat(Spellings.ofCookie().stream(), blanks).toList()) {
      String request =
          "GET /v1/forward-auth HTTP/1.1\r\nHost: sluice\r\nX-Forwarded-Method: GET\r\n"
              + "X-Forwarded-Uri: /session\r\nCookie: s=%s\r\n\r\n".formatted(cookie);
      try (RawClient client = RawClient.connect(server.address())) {
        client.send(request.getBytes(StandardCharsets.ISO_8859_1));
        assertThat(client.answer()).as(cookie).containsPattern("^HTTP/1.1 4(00|29) ");
      }
    }
  }

  @Test
  void trialInShadow_deniesNobodyAndShowsNowhere() throws IOException {
    startWithRules();
    for (int i = 0; i < 2; i++) {
      HttpResponse<String> answer = asked("POST", "/login"); // the second is over the trial's limit
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(header(answer, "RateLimit")).doesNotContain("ApiCallsPerKey");
    }
    HttpResponse<String> inForce = get("?limit=ApiCallsPerKey&id=tried&cost=3");
    assertThat(inForce.statusCode()).isEqualTo(200);
    assertThat(asked("GET", "/tried", "X-Cost", "4").statusCode()).isEqualTo(200); // above burst
    assertThat(asked("GET", "/tried", "X-Cost", "many").statusCode()).isEqualTo(200);
    HttpResponse<String> withoutKey = asked("GET", "/try");
    assertThat(withoutKey.statusCode()).isEqualTo(429); // LoginsPerIPAddress is still charged
  }

  @Test
  void clientThatSendsTheHeaderOfLimits_doesNotGetAroundTheRules() throws IOException {
    startWithRules();
    for (int status : new int[] {200, 200, 429}) {
      assertThat(asked("POST", "/login", "RateLimit-Key", "ApiCallsPerKey:mine").statusCode())
          .isEqualTo(status);
    }
    assertThat(get("?by=header", "RateLimit-Key", "ApiCallsPerKey:mine").statusCode())
        .isEqualTo(200);
    assertThat(get("?by=header").body())
        .contains("the query says by=header, and the header RateLimit-Key is missing");
  }

  @Test
  void costInTheQuery_isRefused_whereRulesDecide() throws IOException {
    startWithRules();
    HttpResponse<String> cost = get("?cost=5", "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/");
    assertThat(cost.statusCode()).as("the rule has its own cost").isEqualTo(400);
    assertThat(cost.body()).contains("write the cost into the rule");
  }

  @Test
  void pathBehindOurs_isTheOriginalOne_andItsQueryTheClients() throws IOException {
    startWithRules();
    String[] envoy = {"X-Forwarded-For", "192.0.2.7"};
    for (int status : new int[] {200, 200, 429}) {
      assertThat(send("POST", "/login?dry=true&limit=ApiCallsPerKey&id=x", envoy).statusCode())
          .isEqualTo(status);
    }
    assertThat(send("POST", "/", envoy).statusCode()).isEqualTo(200);
    assertThat(asked("POST", "/login").statusCode()).isEqualTo(429);
  }

  /** Envoy keeps the host, and passes on a header that the client made up. */
  @Test
  void hostOfARequestWithThePathBehindOurs_isItsOwn() throws IOException {
    startWithRules();
    for (String said : List.of("", "X-Forwarded-Host: other.test\r\n")) {
      try (RawClient envoy = RawClient.connect(server.address())) {
        String request =
            "GET /v1/forward-auth/orders/7/x HTTP/1.1\r\nHost: shop.test\r\n" + said + "\r\n";
        assertThat(envoy.send(request).answer()).contains("\"ApiCallsPerKey\";r=");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shop.test, other.test", "other.test,shop.test", "shop.test,"})
  void listOfHosts_isRefused(String hosts) throws IOException {
    startWithRules();
    HttpResponse<String> listed = askedOf("/orders/7/x", "X-Forwarded-Host", hosts);
    assertThat(listed.statusCode()).isEqualTo(400);
    assertThat(listed.body()).contains("several hosts", "X-Forwarded-Host", "invalid-request");
    HttpResponse<String> twice =
        askedOf("/orders/7/x", "X-Forwarded-Host", "other.test", "X-Forwarded-Host", "shop.test");
    assertThat(twice.statusCode()).isEqualTo(400);
  }

  /** With the server's own host in its place, a rule for a host would never match. */
  @Test
  void missingHost_isRefused_whereARuleOrKeyReadsIt() throws IOException {
    startWithRules();
    assertThat(askedOf("/health").statusCode()).isEqualTo(200);
    for (HttpResponse<String> silent :
        List.of(askedOf("/orders/7/x"), get("?limit=ApiCallsPerKey&key=host"))) {
      assertThat(silent.statusCode()).isEqualTo(400);
      assertThat(silent.body()).contains("X-Forwarded-Host", "the proxy must set it");
    }
    HttpResponse<String> without = askedOf("/orders/7/x", "X-Forwarded-Host", "");
    assertThat(without.statusCode()).isEqualTo(400);
    assertThat(without.body()).contains("the request has no host");
  }

  private HttpResponse<String> askedOf(String uri, String... more) {
    List<String> all =
        new ArrayList<>(List.of("X-Forwarded-Method", "GET", "X-Forwarded-Uri", uri));
    all.addAll(List.of(more));
    return get("", all.toArray(String[]::new));
  }

  @ParameterizedTest
  @ValueSource(strings = {"dry=true", "dry=tru%65", "limit=ApiCallsPerKey&id=mine"})
  void queryThatIsTheClients_isRefused_asAProxyAppendedIt(String query) throws IOException {
    startWithRules();
    HttpResponse<String> leaked =
        get("?" + query, "X-Forwarded-Method", "POST", "X-Forwarded-Uri", "/login?" + query);
    assertThat(leaked.statusCode()).isEqualTo(400);
    assertThat(leaked.body()).contains("the original request's query");
  }

  /** A client that writes the query of nginx's configuration would get a 500 from nginx. */
  @Test
  void queryThatIsTheClients_isRefusedInItsForm() throws IOException {
    startWithRules();
    String query = "?deny=403";
    HttpResponse<String> same =
        get(query, "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/any" + query);
    assertThat(same.statusCode()).isEqualTo(403);
    assertThat(header(same, "X-RateLimit-Status")).isEqualTo("400");
    assertThat(same.body()).contains("the original request's query");
  }

  @Test
  void peerThatIsNotTrusted_isNotBelieved() throws IOException {
    start(FailureRule.fail(), ClientAddress.direct(), true);
    HttpResponse<String> answer = asked("POST", "/login");
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(answer.body()).contains("--trusted-proxies 127.0.0.1");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "LoginsPerIPAddress&key=ip",
        "SignUpsPerIPv6Range&key=ip/64",
        "ApiCallsPerKey&key=ip%7Cnobody",
        "ApiCallsPerKey&key=host"
      })
  void peerThatIsNotTrusted_isNotChargedForItsClients(String limit) throws IOException {
    start(FailureRule.fail(), ClientAddress.direct(), false);
    HttpResponse<String> answer = get("?limit=" + limit, "X-Forwarded-For", "192.0.2.7");
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(answer.body()).contains("--trusted-proxies 127.0.0.1", "invalid-request");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "lol", "unknown", "lol, 127.0.0.5", "192.0.2.7,"})
  void proxyThatNamesNoClient_isNotChargedForItsClients(String said) throws IOException {
    startWithRules();
    for (String limit : List.of("LoginsPerIPAddress&key=ip", "SignUpsPerIPv6Range&key=ip/64")) {
      HttpResponse<String> answer = get("?limit=" + limit, "X-Forwarded-For", said);
      assertThat(answer.statusCode()).isEqualTo(400);
      assertThat(answer.body()).contains("127.0.0.1 names no client", "invalid-request");
      assertThat(get("?limit=" + limit).statusCode()).as("without the header").isEqualTo(400);
    }
    String[] login = {"X-Forwarded-Method", "POST", "X-Forwarded-Uri", "/login"};
    assertThat(get("", login).body()).contains("names no client");
    String[] office = {"X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/office"};
    assertThat(get("", office).body()).as("a rule for clients").contains("names no client");
  }

  /** A client on the host of a proxy, or a health check of the proxy's own. */
  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1", "lol, 192.0.2.7, 127.0.0.5"})
  void addressThatIsReallyNamed_isCharged(String said) throws IOException {
    start();
    HttpResponse<String> answer = get("?limit=LoginsPerIPAddress&key=ip", "X-Forwarded-For", said);
    assertThat(header(answer, "RateLimit")).isEqualTo("\"LoginsPerIPAddress\";r=1");
  }

  @Test
  void hostAndOriginOfTheOriginalRequest_passFromATrustedProxyAlone() throws IOException {
    start();
    String line = "GET /v1/forward-auth?limit=ApiCallsPerKey&id=o HTTP/1.1\r\n";
    String foreign = "Host: shop.example\r\nOrigin: https://shop.example\r\n\r\n";
    try (RawClient proxy = RawClient.connect(server.address())) {
      assertThat(proxy.send(line + foreign).answer()).startsWith("HTTP/1.1 200");
      assertThat(proxy.send("GET /v1/limits HTTP/1.1\r\n" + foreign).answer())
          .startsWith("HTTP/1.1 421");
    }
    stop();
    start(FailureRule.fail(), ClientAddress.direct(), false);
    try (RawClient browser = RawClient.connect(server.address())) {
      assertThat(browser.send(line + foreign).answer()).startsWith("HTTP/1.1 421");
      assertThat(
              browser.send(line + "Host: localhost\r\nOrigin: https://a.example\r\n\r\n").answer())
          .startsWith("HTTP/1.1 403");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"Content-Length: 5", "Content-Length: 5000000000", "Transfer-Encoding: chunked"})
  void bodyThatNeverComes_isNotWaitedFor(String promise) throws IOException {
    start();
    try (RawClient proxy = RawClient.connect(server.address())) {
      proxy.send(
          "POST /v1/forward-auth?limit=ApiCallsPerKey&id=b HTTP/1.1\r\nHost: localhost\r\n"
              + promise
              + "\r\n\r\n");
      String answer = proxy.answer();
      assertThat(answer).startsWith("HTTP/1.1 200").containsIgnoringCase("connection: close");
      assertThat(proxy.isHungUpOn()).isTrue();
    }
  }

  @Test
  void deny403_tellsTheStatusInAHeader() throws IOException {
    startWithRules();
    String bucket = "?deny=403&limit=ApiCallsPerKey&id=n&cost=3";
    assertThat(get(bucket).statusCode()).isEqualTo(200);
    HttpResponse<String> denied = get(bucket);
    assertThat(denied.statusCode()).isEqualTo(403);
    assertThat(header(denied, "X-RateLimit-Status")).isEqualTo("429");
    assertThat(Integer.parseInt(header(denied, "Retry-After"))).isBetween(60, 62);
    assertThat(header(denied, "RateLimit")).startsWith("\"ApiCallsPerKey\";r=0;t=6");
    HttpResponse<String> lacking =
        get("?deny=403", "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/keyed");
    assertThat(lacking.statusCode()).isEqualTo(403);
    assertThat(header(lacking, "X-RateLimit-Status")).isEqualTo("400");
    broken.set(true);
    HttpResponse<String> away = get(bucket);
    assertThat(away.statusCode()).isEqualTo(403);
    assertThat(header(away, "X-RateLimit-Status")).isEqualTo("503");
  }

  @Test
  void storeThatIsAway_isA503_anAllowance_orADenial_asTheRuleSays() throws IOException {
    String bucket = "?limit=ApiCallsPerKey&id=s";
    broken.set(true);
    start();
    HttpResponse<String> failed = get(bucket);
    assertThat(failed.statusCode()).isEqualTo(503);
    assertThat(TestServer.json(failed).get("incident")).isNotNull();
    assertThat(failed.body()).contains("whether anything was charged is unknown");
    assertThat(get(bucket + "&dry=true").body()).contains("nothing was charged");
    stop();
    start(FailureRule.allow(), behindLoopback(), false);
    HttpResponse<String> open = get(bucket);
    assertThat(open.statusCode()).isEqualTo(200);
    assertThat(open.body()).isEmpty();
    assertThat(header(open, "RateLimit-Degraded")).isEqualTo("allow");
    assertThat(header(open, "RateLimit")).isEmpty();
    stop();
    start(FailureRule.deny(), behindLoopback(), false);
    HttpResponse<String> closed = get(bucket);
    assertThat(closed.statusCode()).isEqualTo(503);
    assertThat(header(closed, "Retry-After")).isIn("1", "2"); // with jitter
    assertThat(header(closed, "RateLimit-Degraded")).isEqualTo("deny");
    stop();
    start(FailureRule.local(1), behindLoopback(), false);
    HttpResponse<String> local = get(bucket);
    assertThat(header(local, "RateLimit-Degraded")).isEqualTo("local");
    assertThat(header(local, "RateLimit")).isNotEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "?limt=A | did you mean \"limit\"",
        "?id=x | put id= after the limit= that it belongs to",
        "?limit= | found an empty text, expected the name of a limit",
        "?limit&id=x | found an empty text, expected the name of a limit",
        "?limit=ApiCallsPerKey&id= | id",
        "?limit=ApiCallsPerKey | the header RateLimit-Id 0 times, expected it once",
        "?cost=1&limit=ApiCallsPerKey&id=x | found a cost before the first limit, expected it after its limit",
        "?limit=ApiCallsPerKey&id=x&id=y | twice",
        "?limit=ApiCallsPerKey&id=x&key=ip | an id and a key",
        "?limit=ApiCallsPerKey&key=heder:X | did you mean \"header:\"",
        "?limit=ApiCallsPerKey&key=path:x | only rules have path patterns",
        "?limit=ApiCallsPerKey&id=x&cost=-1 | found \"-1\", expected a whole number",
        "?limit=ApiCallsPerKey&id=x&cost=4 | cost 4 exceeds the burst",
        "?limit=ApiCallsPerKey&id=%FF | percent-encoded UTF-8",
        "?limit=ApiCallsPerKey&id=x&deny=401 | found \"401\", expected 429 or 403",
        "?limit=ApiCallsPerKey&id=x&dry=yes | found \"yes\", expected false or true",
        "?limit=ApiCallsPerKey&id=x&headers=ieft | did you mean \"ietf\"",
        "?limit=ApiCallsPerKey&id=x&by=rules | found both by and limit, expected only one of them",
        "?by=rules&cost=1 | write the cost into the rule, or name the limit in the query",
        "?by=rules | the rule book has no rules",
        "?limit=ApiCallsPerKey&id=x&limit=ApiCallsPerKey&id=x | again",
      })
  void badQuery_saysWhatIsWrong(String query, String said) throws IOException {
    start();
    HttpResponse<String> answer = get(query);
    assertThat(answer.statusCode()).isEqualTo(400);
    JsonNode problem = TestServer.json(answer);
    assertThat(problem.get("detail").textValue()).contains(said);
    assertThat(problem.get("type").textValue()).endsWith(":invalid-request");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        ":",
        ":k",
        "ApiCallsPerKey",
        "ApiCallsPerKey:",
        "ApiCallsPerKey:k, LoginsPerIPAddress:192.0.2.7",
        "ApiCallsPerKey:k,x,LoginsPerIPAddress:192.0.2.7"
      })
  void badHeaderOfLimits_saysWhatIsWrong(String key) throws IOException {
    start();
    HttpResponse<String> answer = get("", "RateLimit-Key", key);
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(TestServer.json(answer).get("type").textValue()).endsWith(":invalid-request");
  }

  @Test
  void semicolonInAClientsValue_separatesNothing() throws IOException {
    start();
    String own = "?limit=ApiCallsPerKey&cost=3&id=x;dry=true";
    assertThat(get(own).statusCode()).isEqualTo(200);
    assertThat(get(own).statusCode()).isEqualTo(429);
  }

  @Test
  void aliasOfThePath_isRefused() throws IOException {
    start();
    assertThat(get("?limit=ApiCallsPerKey&id=x").statusCode()).isEqualTo(200);
    try (RawClient client = RawClient.connect(server.address())) {
      String alias =
          "GET /v1/forward%2Dauth?limit=ApiCallsPerKey&id=x HTTP/1.1\r\nHost: localhost\r\n\r\n";
      assertThat(client.send(alias).answer()).startsWith("HTTP/1.1 404");
    }
  }

  @Test
  void unlimitedOfAQuota_thatNothingLimits_passesWithoutHeaders() {
    Limits limits =
        Limits.builder(Catalogue.samples())
            .limit("LoginsPerIPAddress", Quota.per(1, Duration.ofMinutes(1)))
            .unlimited("ApiCallsPerKey")
            .build();
    start(limits, FailureRule.fail(), behindLoopback());
    HttpResponse<String> answer = get("?limit=ApiCallsPerKey&id=x");
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(header(answer, "RateLimit")).isEmpty();
    assertThat(List.of(get("?limit=SignUpsPerIPAddress&id=192.0.2.7").statusCode()))
        .containsExactly(404);
  }
}
