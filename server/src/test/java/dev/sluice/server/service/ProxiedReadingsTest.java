// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.Aside;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.service.LocalProxy.Kind;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.testkit.web.Spellings;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.ProxyHeader;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What reaches a handler of an application was charged, however it was written: on Express and on
 * Flask, behind each proxy. Needs what {@code .ci/run} installs.
 */
@Tag("slow")
@ParameterizedClass
@MethodSource("sites")
@EnabledIf("dev.sluice.server.Programs#haveProxiedApplications")
final class ProxiedReadingsTest {

  private static final long BURST = 100_000;
  private static final String LIMITS =
      """
      names:
        - {number: 1001, name: PerLogin, id: string}
        - {number: 1002, name: PerDelete, id: string}
        - {number: 1003, name: PerKey, id: string}
        - {number: 1004, name: PerClient, id: ipAddress}
      PerLogin: {burst: 100000, count: 1, period: 1h}
      PerDelete: {burst: 100000, count: 1, period: 1h}
      PerKey: {burst: 100000, count: 1, period: 1h}
      PerClient: {burst: 3, count: 1, period: 1h}
      """;
  private static final String RULES =
      """
      ignoreCase: true
      rules:
        - {path: /login, methods: POST, limit: PerLogin, id: all}
        - {path: /login, methods: DELETE, limit: PerDelete, id: all}
        - {path: "/users/{user}/x", limit: PerKey, id: "{path:user}"}
        - {path: "/cookie/{n}", limit: PerKey, id: "{path:n}:{cookie:s}"}
        - {path: "/query/{n}", limit: PerKey, id: "{path:n}:{query:k}"}
        - {path: "/token/{n}", limit: PerKey, id: "{path:n}:{header:Authorization}"}
        - {path: "/key/{n}", limit: PerKey, id: "{path:n}:{header:X-Api-Key}"}
        - {path: /address, limit: PerClient, id: "{ip}"}
      """;
  private static final Pattern SEEN = Pattern.compile("handler:(\\S*)");
  private static final Pattern REMAINING = Pattern.compile("\"remaining\":(\\d+)");

  /** An application of others. */
  enum Application {
    EXPRESS("node", "src/test/node/express-app.mjs"),
    FLASK("/usr/bin/python3", "src/test/python/flask_app.py");

    private final String program;
    private final String script;

    Application(String program, String script) {
      this.program = program;
      this.script = script;
    }
  }

  @TempDir static Path folder;

  private static Process application;
  private static Service service;
  private static LocalProxy proxy;

  private final AtomicInteger asked = new AtomicInteger();

  /** Takes what {@link #start} has started. */
  ProxiedReadingsTest(Kind kind, Application written) {}

  static Stream<Arguments> sites() {
    return Stream.of(Kind.values())
        .flatMap(
            kind -> Stream.of(Application.values()).map(written -> Arguments.of(kind, written)));
  }

  @BeforeParameterizedClassInvocation
  static void start(Kind kind, Application written) throws IOException {
    Path files = Files.createDirectory(folder.resolve(kind + "-" + written));
    application =
        new ProcessBuilder(written.program, written.script)
            .redirectError(Redirect.to(new File(folder.toFile(), written + ".log")))
            .start();
    BufferedReader said = application.inputReader();
    int appPort = Integer.parseInt(said.readLine());
    ServerConfig.Http http =
        new ServerConfig.Http(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "127.0.0.1"),
            Set.of(),
            Set.of(),
            false);
    Path limits = Files.writeString(files.resolve("limits-of-table.yml"), LIMITS);
    Path rules = Files.writeString(files.resolve("rules-of-table.yml"), RULES);
    service =
        Service.start(
            new ServerConfig(
                Doors.of(http),
                Sources.of(new ServerConfig.Files(limits, null, null, rules)),
                Storage.in(StoreAccess.of("memory")),
                ServerConfig.Control.NONE,
                Telemetry.NONE));
    proxy =
        LocalProxy.start(
            kind,
            files,
            service.addresses().get(0),
            appPort,
            ProxiedReadingsTest::configured,
            Map.of());
  }

  /** nginx passes on the headers that rules look at where its configuration says so. */
  private static String configured(String text) {
    return text.replace(
        "# proxy_set_header X-Api-Key $http_x_api_key;",
        "proxy_set_header Cookie $http_cookie; proxy_set_header Authorization $http_authorization;"
            + " proxy_set_header X-Api-Key $http_x_api_key;");
  }

  @AfterParameterizedClassInvocation
  static void stop() throws InterruptedException {
    proxy.close();
    Aside.run(service::close);
    application.destroy();
    application.waitFor();
  }

  private static RawAnswer send(String from, String start) throws IOException {
    return RawAnswer.to(
        proxy.address(),
        from,
        start + "\r\nHost: shop.example\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  }

  private static String seen(RawAnswer answer) {
    Matcher seen = SEEN.matcher(answer.status() == 200 ? answer.body() : "");
    return seen.find() ? URLDecoder.decode(seen.group(1), StandardCharsets.UTF_8) : "";
  }

  /** Sends requests, and returns those that reached a handler. */
  private static List<String> reached(String handler, String limit, List<String> requests)
      throws IOException {
    List<String> reached = new ArrayList<>();
    for (String request : requests) {
      RawAnswer answer = send("127.0.0.2", request);
      if (seen(answer).equals(handler)) {
        reached.add(request);
        assertThat(answer.header("ratelimit")).as(request).contains('"' + limit + '"');
      }
    }
    return reached;
  }

  @Test
  void pathThatReachesTheHandler_wasCharged() throws IOException {
    List<String> requests = new ArrayList<>();
    for (String path : Spellings.ofPath()) {
      requests.add("POST " + path + " HTTP/1.1");
      requests.add("POST " + path.replace("login", "LoGIN") + " HTTP/1.1");
      requests.add("POST http://shop.example" + path + " HTTP/1.1");
    }
    assertThat(reached("login", "PerLogin", requests))
        .contains("POST /login HTTP/1.1", "POST /login?a=b HTTP/1.1");
  }

  @Test
  void methodThatReachesTheHandler_wasCharged() throws IOException {
    assertThat(reached("delete", "PerDelete", Spellings.ofMethod()))
        .contains("POST /login HTTP/1.1\r\nX-HTTP-Method-Override: DELETE");
  }

  @Test
  void variableThatTheHandlerSees_isABucketThatWasCharged() throws IOException {
    for (String user :
        List.of(
            "a%2Fb",
            "%C3%A9",
            "%E9",
            "a;b",
            "a%3Bb",
            "y/../a2",
            "y/%2e%2e/a3",
            "a+b",
            "a%5Cb",
            "A4",
            "%41",
            "a%20c",
            "a.",
            "a%2e")) {
      RawAnswer answer = send("127.0.0.2", "GET /users/" + user + "/x HTTP/1.1");
      // A slash within a variable stays escaped, and case is ignored.
      String value = seen(answer).replace("/", "%2F").toLowerCase(Locale.ROOT);
      assertCharged(value, value, answer, user);
    }
  }

  @Test
  void valueThatTheHandlerSees_isABucketThatWasCharged() throws IOException {
    assertValues("cookie", "", "Cookie: s=", "", Spellings.ofCookie());
    assertValues("token", "", "Authorization: ", "Bearer ", Spellings.ofCredentials());
    List<String> parameters =
        List.of(
            "k=e1",
            "k=%651",
            "%6b=e1",
            "k[]=e1",
            "k[0]=e1",
            "k=e1&a=b",
            "k=e+1",
            "k=e%2b1",
            "a=b;k=e1",
            "k=e1;a=b",
            "K=e1",
            ".k=e1",
            "k%5B%5D=e1",
            "k=&k=e1",
            "k=e1#f",
            "k=%C3%A9",
            "k=%E9",
            "k[a]=e1",
            "+k=e1",
            "k%00=e1",
            "k");
    assertValues("query", "?", "", "", parameters);
  }

  /** Sends each value to a path of its own, and so to a bucket that no other one charges. */
  private void assertValues(
      String page, String target, String header, String scheme, List<String> values)
      throws IOException {
    for (String value : values) {
      int n = asked.incrementAndGet();
      String behind = target.isEmpty() ? " HTTP/1.1\r\n" + header : target;
      String end = target.isEmpty() ? "" : " HTTP/1.1";
      RawAnswer answer = send("127.0.0.2", "GET /" + page + "/" + n + behind + value + end);
      String seen = seen(answer);
      String escaped = (scheme + seen).replace("%", "%25").replace(":", "%3A");
      assertCharged(seen, n + ":" + escaped, answer, page + " " + value);
    }
  }

  private static void assertCharged(String seen, String id, RawAnswer answer, String as)
      throws IOException {
    if (!seen.isEmpty() && !seen.equals("undefined")) {
      assertThat(remaining(id)).as("%s: seen as %s, %s", as, seen, answer).isLessThan(BURST);
    }
  }

  private static long remaining(String id) throws IOException {
    String body =
        "{\"limit\":\"PerKey\",\"id\":\"%s\",\"cost\":0}"
            .formatted(id.replace("\\", "\\\\").replace("\"", "\\\""));
    InetSocketAddress to = service.addresses().get(0);
    RawAnswer answer =
        RawAnswer.to(
            to,
            "127.0.0.1",
            "POST /v1/check HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %s\r\n\r\n%s"
                .formatted(
                    HostPort.format(to),
                    body.getBytes(StandardCharsets.UTF_8).length,
                    // each byte as one character, as it is sent
                    new String(
                        body.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1)));
    Matcher remaining = REMAINING.matcher(answer.body());
    assertThat(remaining.find()).as(body + answer).isTrue();
    return Long.parseLong(remaining.group(1));
  }

  /** nginx joins the lines of a header for Sluice; many applications read the first line. */
  @Test
  void headerThatIsSentTwice_isChargedByItsFirstLine_orRefused() throws IOException {
    for (String other : List.of("r1", "r 2", "r3,r4", "\"r\"")) {
      int n = asked.incrementAndGet();
      RawAnswer answer =
          send("127.0.0.2", "GET /key/" + n + " HTTP/1.1\r\nX-Api-Key: k\r\nX-Api-Key: " + other);
      if (answer.status() != 400) {
        assertCharged("k", n + ":k", answer, other);
      }
    }
  }

  @Test
  void addressThatAClientWrites_isNotItsBucket() throws IOException {
    List<String> lies = new ArrayList<>();
    for (String address : Spellings.ofAddress()) {
      lies.add("X-Forwarded-For: " + address);
    }
    for (String header :
        List.of(
            "X-Real-IP",
            "Forwarded",
            "X_Forwarded_For",
            "Client-IP",
            "True-Client-IP",
            "Via",
            "x-forwarded-For",
            "X-Forwarded",
            "CF-Connecting-IP",
            "RateLimit-Id",
            "X-Forwarded-Host",
            "X-Forwarded-Method",
            "X-Forwarded-Uri",
            "RateLimit-Key",
            "Connection")) {
      lies.add(header + ": 203.0.113.7");
      lies.add(header + ": X-Forwarded-For\r\nX-Forwarded-For: 203.0.113.8");
    }
    for (int i = 0; i < 3; i++) {
      assertThat(send("127.0.0.9", "GET /address HTTP/1.1").status()).isEqualTo(200);
    }
    for (String lie : lies) {
      assertThat(send("127.0.0.9", "GET /address HTTP/1.1\r\n" + lie).status())
          .as(lie)
          .isIn(400, 429);
    }
  }
}
