// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.server.TestParts;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.store.BucketStore;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that are not meant for this server, or that spell a path in another way. */
final class RequestChecksTest {

  private static final String BODY = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}";

  private static BucketStore store;
  private static SluiceServer server;

  @BeforeAll
  static void start() {
    store = BucketStore.inMemory();
    server =
        SluiceServer.builder(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                ConnectionBudget.usual())
            .part(TestParts.http(Limiter.of(SampleFixture.limits(), store), store))
            .host("Sluice.internal")
            .origin("https://admin.example")
            .start();
  }

  @AfterAll
  static void stop() {
    server.close();
    store.close();
  }

  private static String reset(String path, String headers) throws IOException {
    try (RawClient client = RawClient.connect(server.address())) {
      return client
          .send(
              "POST %s HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s"
                  .formatted(path, headers, BODY.length(), BODY))
          .answer();
    }
  }

  /** The JDK's client asks for it by default; an upgrade would pass a proxy's rules for paths. */
  @Test
  void upgradeToHttp2_isAnsweredOverHttp1() throws Exception {
    URI probe = URI.create("http://localhost:" + server.address().getPort() + "/healthz");
    HttpResponse<Void> answer =
        HttpClient.newHttpClient()
            .send(HttpRequest.newBuilder(probe).build(), BodyHandlers.discarding());
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.version()).isEqualTo(HttpClient.Version.HTTP_1_1);
    try (RawClient client = RawClient.connect(server.address())) {
      String upgrade =
          """
          GET /healthz HTTP/1.1
          Host: localhost
          Connection: Upgrade, HTTP2-Settings
          Upgrade: h2c
          HTTP2-Settings: AAEAAEAAAAIAAAAA

          """;
      client.send(upgrade.replace("\n", "\r\n"));
      assertThat(client.answer()).startsWith("HTTP/1.1 200 ");
    }
  }

  /** A page in a browser must not make the server hold its bodies either. */
  @Test
  void refusedHostOrOrigin_isToldBeforeTheBodyArrives_andTheConnectionGoesOn() throws IOException {
    for (String wrong :
        new String[] {"Host: evil.example", "Host: localhost\r\nOrigin: http://evil.example"}) {
      try (RawClient client = RawClient.connect(server.address())) {
        client.send(
            "POST /v1/reset HTTP/1.1\r\n%s\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n"
                .formatted(wrong, BODY.length()));
        assertThat(client.answer()).containsPattern(" 4(03|21) ");
        client.send(BODY).send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assertThat(client.answer()).contains(" 200 ");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "localhost",
        "LOCALHOST:8080",
        "a.localhost",
        "localhost.",
        "127.0.0.1:1",
        "192.0.2.1",
        "[::1]:8080",
        "sluice.INTERNAL:80"
      })
  void host_ofThisServer_isAnswered(String host) throws IOException {
    assertThat(reset("/v1/reset", "Host: " + host + "\r\n")).contains(" 200 ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "evil.example",
        "localhost.evil.example",
        "evil.example#.localhost",
        "notlocalhost",
        "127.0.0.1.evil.example",
        "1.2.3",
        "sluice.internal.evil.example",
        "[::1].evil.example"
      })
  void host_ofAnother_isRefused(String host) throws IOException {
    assertThat(reset("/v1/reset", "Host: " + host + "\r\n")).containsPattern(" 4(21|00) ");
    assertThat(reset("/nothing", "Host: " + host + "\r\n")).containsPattern(" 4(21|00) ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"http://evil.example/v1/reset", "http://evil.example:80/v1/reset"})
  void host_inThePath_isRefused(String path) throws IOException {
    assertThat(reset(path, "Host: localhost\r\n")).containsPattern(" 4(21|00|04) ");
  }

  @ParameterizedTest
  @CsvSource({
    "https://admin.example, 200",
    "http://localhost:8080, 200",
    "http://localhost, 403",
    "https://localhost:8080, 403",
    "https://evil.example, 403",
    "https://admin.example.evil.example, 403",
    "null, 403"
  })
  void origin_ofAnother_isRefused(String origin, int status) throws IOException {
    String headers = "Host: localhost:8080\r\nOrigin: " + origin + "\r\n";
    assertThat(reset("/v1/reset", headers)).contains(" " + status + " ");
  }

  @ParameterizedTest
  @CsvSource({
    "https://admin.example, https://evil.example",
    "https://evil.example, https://admin.example"
  })
  void origin_twice_isRefused(String first, String second) throws IOException {
    String headers = "Host: localhost\r\nOrigin: %s\r\nOrigin: %s\r\n".formatted(first, second);
    assertThat(reset("/v1/reset", headers)).contains(" 403 ");
  }

  @Test
  void host_twice_isRefused() throws IOException {
    String headers = "Host: localhost\r\nHost: evil.example\r\n";
    assertThat(reset("/v1/reset", headers)).contains(" 400 ");
  }

  private static String get(String version, String headers) throws IOException {
    try (RawClient client = RawClient.connect(server.address())) {
      return client.send("GET /healthz HTTP/%s\r\n%s\r\n".formatted(version, headers)).answer();
    }
  }

  /** RFC 9112, section 3.2: such a request gets 400, on the same connection after others too. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "Connection: close\r\n",
        "Host:\r\n",
        "Host: localhost\r\nHost: localhost\r\n",
        "Host: localhost, localhost\r\n"
      })
  void host_thatIsMissingOrNotOne_isRefused(String headers) throws IOException {
    assertThat(get("1.1", headers)).contains(" 400 ");
    try (RawClient client = RawClient.connect(server.address())) {
      client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
      assertThat(client.answer()).contains(" 200 ");
      client.send("GET /healthz HTTP/1.1\r\n%s\r\n".formatted(headers));
      assertThat(client.answer()).contains(" 400 ");
    }
  }

  /** As HAProxy and other old probes ask. */
  @Test
  void http10_needsNoHost() throws IOException {
    assertThat(get("1.0", "")).contains(" 200 ");
    assertThat(get("1.0", "Host: localhost\r\n")).contains(" 200 ");
    assertThat(get("1.0", "Host: evil.example\r\n")).contains(" 421 ");
    assertThat(get("1.0", "Host: localhost\r\nHost: localhost\r\n")).contains(" 400 ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "localhost:99999999",
        "localhost:65536",
        "localhost:-1",
        "localhost:+1",
        "localhost:8o",
        "localhost:80:80",
        "[::1]:x",
        "127.0.0.1:00000000000000000000000000000000080x",
        "sluice.internal:65536"
      })
  void host_withAPortThatIsNone_isRefused(String host) throws IOException {
    assertThat(get("1.1", "Host: " + host + "\r\n")).contains(" 400 ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"localhost:", "localhost:0", "localhost:65535", "[::1]:00080"})
  void host_withAPort_isAnswered(String host) throws IOException {
    assertThat(get("1.1", "Host: " + host + "\r\n")).contains(" 200 ");
  }

  private static int http2(String... headers) throws IOException {
    try (RawClient client = RawClient.connect(server.address())) {
      client.send(RawClient.http2(1 << 16)).send(RawClient.http2Probe(1, headers));
      return RawClient.statusOf(client.frame(RawClient.HEADERS));
    }
  }

  @Test
  void authority_ofHttp2_isHeldToTheSame() throws IOException {
    assertThat(http2(":authority", "localhost:1")).isEqualTo(200);
    assertThat(http2("host", "localhost:1")).isEqualTo(200);
    assertThat(http2(":authority", "localhost:1", "host", "LOCALHOST:1")).isEqualTo(200);
    assertThat(http2()).isEqualTo(400);
    assertThat(http2(":authority", "")).isEqualTo(400);
    assertThat(http2(":authority", "localhost:65536")).isEqualTo(400);
    assertThat(http2(":authority", "localhost", "host", "other.localhost")).isEqualTo(400);
    assertThat(http2("host", "localhost", "host", "localhost")).isEqualTo(400);
    assertThat(http2(":authority", "evil.example")).isEqualTo(421);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "//v1/reset",
        "/v1//reset",
        "/v1/%72eset",
        "/v1/reset;x=1",
        "/v1;x=1/reset",
        "/v1/reset;",
        "/%76%31/reset",
        "/./v1/reset",
        "/v1/reset/",
        "/v1%2Freset"
      })
  void path_thatIsSpelledOtherwise_leadsNowhere(String path) throws IOException {
    assertThat(reset(path, "Host: localhost\r\n")).containsPattern(" 40[04] ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/v1/limits/ApiCallsPerKey/buckets/a%2Fb%3Bc%41",
        "/v1/limits/ApiCallsPerKey/buckets/a;b//c",
        "/healthz",
        "/healthz?x=1"
      })
  void path_asItIsListed_isAnswered(String path) throws IOException {
    try (RawClient client = RawClient.connect(server.address())) {
      assertThat(client.send("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n".formatted(path)).answer())
          .doesNotContain(" 404 ");
    }
  }
}
