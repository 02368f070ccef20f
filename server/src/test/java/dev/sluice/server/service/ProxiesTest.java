// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.sun.net.httpserver.HttpServer;
import dev.sluice.server.Aside;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.service.LocalProxy.Kind;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.ProxyHeader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Proxies with the configurations of {@code examples/}, which users copy; only the ports are
 * others. Those that Debian has run here, before an application and beside a service. Of the
 * others, the requests that they send are sent byte by byte.
 */
@Tag("slow")
final class ProxiesTest {

  private static final Path EXAMPLES = LocalProxy.EXAMPLES;
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  @TempDir Path folder;

  private final AtomicInteger appRequests = new AtomicInteger();
  private final AtomicReference<Map<String, List<String>>> appHeaders =
      new AtomicReference<>(Map.of());
  private HttpServer app;
  private int appPort;
  private Service service;
  private @Nullable String token;
  private @Nullable LocalProxy proxy;

  @BeforeEach
  void startServers() throws IOException {
    app = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    app.createContext(
        "/",
        exchange -> {
          appRequests.incrementAndGet();
          appHeaders.set(exchange.getRequestHeaders());
          String body =
              new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
          String said =
              "app: %s %s %s"
                  .formatted(exchange.getRequestMethod(), exchange.getRequestURI(), body);
          byte[] bytes = said.getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(200, bytes.length);
          exchange.getResponseBody().write(bytes);
          exchange.close();
        });
    app.start();
    appPort = app.getAddress().getPort();
  }

  private void startService(String example, String... alsoTrusted) throws IOException {
    // On a slow machine, a limit of a minute would have its token back before the next request.
    Path limits =
        Files.writeString(
            folder.resolve("limits-per-hour.yml"),
            Files.readString(EXAMPLES.resolve(example).resolve("limits.yml"))
                .replace("period: 1m\n", "period: 1h\n"));
    Path rules = EXAMPLES.resolve(example).resolve("rules.yml");
    ServerConfig.Http http =
        new ServerConfig.Http(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            ClientAddress.behind(
                ProxyHeader.X_FORWARDED_FOR,
                Stream.concat(Stream.of("127.0.0.1"), Stream.of(alsoTrusted))
                    .toArray(String[]::new)),
            Set.of(),
            Set.of(),
            false);
    service =
        Service.start(
            new ServerConfig(
                Doors.of(http),
                Sources.of(new ServerConfig.Files(limits, null, null, rules)),
                Storage.in(StoreAccess.of("memory")),
                control(),
                Telemetry.NONE));
  }

  private ServerConfig.Control control() throws IOException {
    String known = token;
    if (known == null) {
      return ServerConfig.Control.NONE;
    }
    String line = "tokens: [{name: proxy, sha256: %s, roles: [decide]}]\n";
    Path tokens =
        Files.writeString(folder.resolve("tokens.yml"), line.formatted(Tokens.sha256(known)));
    return new ServerConfig.Control(tokens, null, null, null);
  }

  /** With a token, the line for it is no comment any more. */
  private String configured(String text) {
    String known = token;
    return known == null
        ? text
        : text.replaceAll("(?mi)^(\\s*)(?:#|--) (.*sluice-token)", "$1$2")
            .replace("Sluice-Token TOKEN", "Sluice-Token " + known);
  }

  @AfterEach
  void stop() throws InterruptedException {
    if (proxy != null) {
      proxy.close();
    }
    Aside.run(service::close); // waits for load balancers
    app.stop(0);
  }

  private void start(Kind kind) throws IOException {
    startService(kind.example());
    proxy =
        LocalProxy.start(
            kind,
            folder,
            service.addresses().get(0),
            appPort,
            this::configured,
            token == null ? Map.of() : Map.of("SLUICE_TOKEN", token));
    appRequests.set(0);
  }

  private String log() throws IOException {
    return Objects.requireNonNull(proxy).log();
  }

  private static String get(String path) {
    return "GET " + path + " HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n";
  }

  private static String login(String... headers) {
    String body = "user=alice";
    return "POST /login HTTP/1.1\r\nHost: shop.example\r\nOrigin: https://shop.example\r\n"
        + "Connection: close\r\nContent-Length: "
        + body.length()
        + "\r\n"
        + String.join("", Stream.of(headers).map(header -> header + "\r\n").toList())
        + "\r\n"
        + body;
  }

  /** Sends a request to the proxy as a client at 127.0.0.2, which nobody trusts. */
  @CanIgnoreReturnValue
  private RawAnswer exchange(String request) throws IOException {
    return RawAnswer.to(Objects.requireNonNull(proxy).address(), "127.0.0.2", request);
  }

  @ParameterizedTest
  @EnumSource
  @EnabledIf("dev.sluice.server.Programs#haveProxies")
  void requestWithinItsLimits_reachesTheApplication_andTheClientSeesWhatIsLeft(Kind kind)
      throws IOException {
    start(kind);
    RawAnswer answer = exchange(get("/search?q=a%20b"));
    assertThat(answer.status()).as(log()).isEqualTo(200);
    assertThat(answer.body()).contains("app: GET /search?q=a%20b");
    assertThat(answer.header("ratelimit")).isEqualTo("\"CallsPerClient\";r=19");
    assertThat(answer.header("ratelimit-policy")).isEqualTo("\"CallsPerClient\";q=20;w=3600");
    assertThat(answer.header("retry-after")).isEmpty();
    RawAnswer login = exchange(login());
    assertThat(login.status()).isEqualTo(200);
    assertThat(login.body()).contains("app: POST /login user=alice");
    assertThat(login.header("ratelimit"))
        .isEqualTo("\"LoginsPerClient\";r=2, \"CallsPerClient\";r=18");
    assertThat(exchange(get("/health")).headers()).doesNotContainKey("ratelimit");
  }

  @ParameterizedTest
  @EnumSource
  @EnabledIf("dev.sluice.server.Programs#haveProxies")
  void serverWithTokens_knowsTheProxyByItsOwn(Kind kind) throws Exception {
    token = Tokens.fresh();
    start(kind);
    RawAnswer answer = exchange(get("/health"));
    assertThat(answer.status()).isEqualTo(200);
    assertThat(answer.body()).startsWith("app: GET /health");
    URI door =
        URI.create(
            "http://" + HostPort.format(service.addresses().get(0)) + "/v1/forward-auth?by=rules");
    assertThat(
            HttpClient.newHttpClient()
                .send(HttpRequest.newBuilder(door).build(), BodyHandlers.discarding())
                .statusCode())
        .as("without a token")
        .isEqualTo(401);
  }

  @ParameterizedTest
  @EnumSource
  @EnabledIf("dev.sluice.server.Programs#haveProxies")
  void requestOverALimit_isA429_thatTheApplicationNeverSees(Kind kind) throws IOException {
    start(kind);
    for (int i = 0; i < 3; i++) {
      assertThat(exchange(login()).status()).as(log()).isEqualTo(200);
    }
    RawAnswer denied = exchange(login());
    assertThat(denied.status()).isEqualTo(429);
    assertThat(denied.header("cache-control")).isEqualTo("no-store");
    assertThat(denied.header("content-type"))
        .isEqualTo(kind == Kind.NGINX ? "text/html" : "application/problem+json");
    assertThat(Integer.parseInt(denied.header("retry-after"))).isBetween(150, 210);
    assertThat(denied.header("ratelimit"))
        .startsWith("\"LoginsPerClient\";r=0;t=")
        .endsWith(", \"CallsPerClient\";r=17");
    assertThat(appRequests).hasValue(3);
    assertThat(exchange(get("/search")).status()).isEqualTo(200);
    assertThat(RawAnswer.to(Objects.requireNonNull(proxy).address(), "127.0.0.3", login()).status())
        .isEqualTo(200);
  }

  /** Sluice takes it for a configuration that appends the client's query; no client gets a 500. */
  @Test
  @EnabledIf("dev.sluice.server.Programs#haveProxies")
  void clientThatSendsTheQueryOfNginx_isToldItsMistake() throws IOException {
    start(Kind.NGINX);
    assertThat(exchange(get("/any?deny=403")).status()).as(log()).isEqualTo(400);
    assertThat(exchange(get("/any?deny=404")).status()).isEqualTo(200);
  }

  @ParameterizedTest
  @EnumSource
  @EnabledIf("dev.sluice.server.Programs#haveProxies")
  void clientThatSpeaksLikeAProxy_isChargedAllTheSame(Kind kind) throws IOException {
    start(kind);
    String[] lies = {
      "X-Forwarded-Method: GET",
      "X-Forwarded-Uri: /health",
      "X-Forwarded-Host: other.example",
      "X-Forwarded-For: 203.0.113.9",
      "RateLimit-Key: CallsPerClient:203.0.113.9",
      "RateLimit-Id: 203.0.113.9",
      "Content-Type: application/grpc"
    };
    for (int status : new int[] {200, 200, 200, 429}) {
      assertThat(exchange(login(lies)).status()).as(log()).isEqualTo(status);
    }
  }

  /** nginx drops names with an underscore itself. */
  @ParameterizedTest
  @EnumSource
  @EnabledIf("dev.sluice.server.Programs#haveProxies")
  void headerThatChangesThePath_doesNotReachTheApplication(Kind kind) throws IOException {
    start(kind);
    assertThat(exchange(login("Daphne-Root-Path: /x")).status()).as(log()).isEqualTo(400);
    assertThat(exchange(login("X-Rewrite-Url: /login")).status()).isEqualTo(400);
    assertThat(appRequests).hasValue(0);
    assertThat(exchange(login("SCRIPT_NAME: /x")).status())
        .isEqualTo(kind == Kind.NGINX ? 200 : 400);
    assertThat(appHeaders.get()).doesNotContainKey("Script_name");
  }

  /** Many applications take the host and the client's address from these headers. */
  @ParameterizedTest
  @EnumSource
  @EnabledIf("dev.sluice.server.Programs#haveProxies")
  void hostThatAClientWrites_doesNotReachTheApplication(Kind kind) throws IOException {
    start(kind);
    String host = "X-Forwarded-Host: other.example";
    String address = "X-Forwarded-For: 203.0.113.9";
    String both = "Forwarded: for=203.0.113.9;host=other.example";
    for (String asked : List.of("shop.example", "shop.example:8000")) {
      String request = login(host, address, both).replace("Host: shop.example", "Host: " + asked);
      assertThat(exchange(request).status()).as(log()).isEqualTo(200);
      assertThat(appHeaders.get().get("X-forwarded-host")).containsExactly(asked);
      assertThat(appHeaders.get().get("X-forwarded-for")).containsExactly("127.0.0.2");
      assertThat(appHeaders.get()).doesNotContainKey("Forwarded");
    }
  }

  /** As large as each proxy takes them; the server takes 16 KB. */
  @ParameterizedTest
  @EnumSource
  @EnabledIf("dev.sluice.server.Programs#haveProxies")
  void requestWithManyHeaders_isDecidedAllTheSame(Kind kind) throws IOException {
    start(kind);
    int kilobytes = kind == Kind.NGINX ? 21 : 15;
    String line = "x".repeat(990);
    StringBuilder request = new StringBuilder(get("/search").replace("\r\n\r\n", "\r\n"));
    for (int i = 0; i < kilobytes; i++) {
      request.append("X-Large-%s: %s\r\n".formatted(i, line));
    }
    RawAnswer answer = exchange(request.append("\r\n").toString());
    assertThat(answer.status()).as(log()).isEqualTo(200);
    assertThat(answer.header("ratelimit")).isEqualTo("\"CallsPerClient\";r=19");
  }

  @ParameterizedTest
  @EnumSource
  @EnabledIf("dev.sluice.server.Programs#haveProxies")
  void requestsWhileTheServerIsDown_areRefused(Kind kind) throws IOException {
    start(kind);
    service.close();
    RawAnswer answer = exchange(get("/search"));
    assertThat(answer.status()).as(log()).isIn(500, 502, 503);
    assertThat(appRequests).hasValue(0);
  }

  /** The path of the door as a configuration has it. */
  private static String pathIn(String example, String file, String pattern) throws IOException {
    Matcher path =
        Pattern.compile(pattern, Pattern.MULTILINE)
            .matcher(Files.readString(EXAMPLES.resolve(example).resolve(file)));
    assertThat(path.find()).isTrue();
    return path.group(1);
  }

  private RawAnswer asked(String request) throws IOException {
    return RawAnswer.to(service.addresses().get(0), "127.0.0.1", request);
  }

  @Test
  void traefik_isAnsweredWithWhatItPassesOn() throws IOException {
    startService("traefik");
    String path = pathIn("traefik", "dynamic.yml", "^ +address: http://sluice:8080(/.*)$");
    String login =
        "GET "
            + path
            + " HTTP/1.1\r\n"
            + "Host: 127.0.0.1:8080\r\n"
            + "User-Agent: curl/8.5.0\r\n"
            + "Accept: */*\r\n"
            + "Content-Type: application/x-www-form-urlencoded\r\n"
            + "Origin: https://shop.example\r\n"
            + "X-Forwarded-For: 192.0.2.7\r\n"
            + "X-Forwarded-Host: shop.example\r\n"
            + "X-Forwarded-Method: POST\r\n"
            + "X-Forwarded-Port: 443\r\n"
            + "X-Forwarded-Proto: https\r\n"
            + "X-Forwarded-Server: traefik\r\n"
            + "X-Forwarded-Uri: /login\r\n"
            + "Accept-Encoding: gzip\r\n"
            + "Connection: close\r\n\r\n";
    for (int i = 0; i < 3; i++) {
      RawAnswer allowed = asked(login);
      assertThat(allowed.status()).isEqualTo(200);
      assertThat(allowed.body()).isEmpty();
    }
    RawAnswer denied = asked(login);
    assertThat(denied.status()).isEqualTo(429);
    assertThat(denied.header("retry-after")).isNotEmpty();
    assertThat(denied.header("content-type")).isEqualTo("application/problem+json");
    assertThat(denied.body()).contains("too many logins (3) from this address");
    assertThat(asked(login.replace("192.0.2.7", "192.0.2.8")).status()).isEqualTo(200);
  }

  @Test
  void envoy_isAnsweredWithExactly200_andItsPathIsTheOriginalOne() throws IOException {
    startService("envoy-ext-authz", "10.0.0.5");
    String prefix = pathIn("envoy-ext-authz", "envoy.yaml", "^ +path_prefix: (/.*)$");
    String login =
        "POST "
            + prefix
            + "/login?dry=true HTTP/1.1\r\n"
            + "host: shop.example\r\n"
            + "content-length: 0\r\n"
            + "x-forwarded-for: 192.0.2.7,10.0.0.5\r\n" // Envoy adds its own, as it asks
            + "x-envoy-internal: true\r\n"
            + "x-envoy-expected-rq-timeout-ms: 250\r\n"
            + "connection: close\r\n\r\n";
    for (int i = 0; i < 3; i++) {
      RawAnswer allowed = asked(login);
      assertThat(allowed.status()).isEqualTo(200);
      assertThat(allowed.header("ratelimit")).startsWith("\"LoginsPerClient\";r=");
    }
    RawAnswer denied = asked(login);
    assertThat(denied.status()).isEqualTo(429);
    assertThat(denied.body()).contains("too many logins (3) from this address");
    assertThat(asked(login.replace("/login?", "/?")).status()).isEqualTo(200);
    assertThat(asked(login.replace("192.0.2.7", "192.0.2.8")).status()).isEqualTo(200);
  }

  /** As haproxy-auth-request, a script that many set-ups have, asks: with HEAD. */
  @Test
  void haproxysAuthRequestScript_spendsWithHead() throws IOException {
    startService("haproxy");
    String login =
        """
        HEAD /v1/forward-auth HTTP/1.1
        host: shop.example
        x-forwarded-method: POST
        x-forwarded-uri: /login
        x-forwarded-for: 192.0.2.7

        """
            .replace("\n", "\r\n");
    try (Socket socket = new Socket()) {
      socket.connect(service.addresses().get(0));
      socket.setSoTimeout((int) PATIENCE.toMillis());
      String last = login.replace("host:", "connection: close\r\nhost:");
      socket.getOutputStream().write((login.repeat(3) + last).getBytes(StandardCharsets.US_ASCII));
      String answers = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      // A body would stand before the next status.
      assertThat(answers).endsWith("\r\n\r\n");
      assertThat(answers.split("\r\n\r\n"))
          .satisfiesExactly(
              first -> assertThat(first).startsWith("HTTP/1.1 200 "),
              second -> assertThat(second).startsWith("HTTP/1.1 200 "),
              third -> assertThat(third).startsWith("HTTP/1.1 200 "),
              fourth -> assertThat(fourth).startsWith("HTTP/1.1 429 "));
    }
  }
}
