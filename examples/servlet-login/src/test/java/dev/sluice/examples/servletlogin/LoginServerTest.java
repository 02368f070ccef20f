package dev.sluice.examples.servletlogin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LoginServerTest {

  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  private final ManualTime time = new ManualTime();
  private final LoginServer server = new LoginServer(BucketStore.inMemory(time), 0);
  private int port;

  @BeforeEach
  void start() throws Exception {
    port = server.start();
  }

  @AfterEach
  void stop() throws Exception {
    server.close();
  }

  private HttpResponse<String> login(String password, String client) throws Exception {
    return send(
        HttpRequest.newBuilder(uri("/login?user=ann"))
            .header("X-Forwarded-For", client)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(BodyPublishers.ofString("password=" + password.replace(' ', '+'))));
  }

  private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    return CLIENT.send(request.build(), BodyHandlers.ofString());
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + port + path);
  }

  @Test
  void goodLogins_100ASecond_areUntouched_andBadOnesAreLimitedTo30AnHour() throws Exception {
    for (int i = 0; i < 300; i++) {
      assertThat(login("the password of ann", "192.0.2.7").statusCode()).isEqualTo(200);
      time.advance(Duration.ofMillis(10));
    }
    for (int i = 0; i < 30; i++) {
      assertThat(login("guess", "192.0.2.7").statusCode()).isEqualTo(401);
    }

    HttpResponse<String> refused = login("the password of ann", "192.0.2.7");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("RateLimit-Policy"))
        .hasValue("\"FailedLoginsPerIPAddress\";q=30;w=3600");
    assertThat(refused.body()).contains("too many failed logins (30) from this IP address");
    assertThat(login("guess", "192.0.2.8").statusCode()).isEqualTo(401);

    String seconds = refused.headers().firstValue("Retry-After").orElseThrow();
    time.advance(Duration.ofSeconds(Long.parseLong(seconds)));
    assertThat(login("the password of ann", "192.0.2.7").statusCode()).isEqualTo(200);
  }

  @Test
  void spoofedAddress_doesNotHelp() throws Exception {
    for (int i = 0; i < 30; i++) {
      assertThat(login("guess", "10.0.0." + i + ", 6.6.6." + i + ", 192.0.2.7").statusCode())
          .isEqualTo(401);
    }

    assertThat(login("guess", "6.6.6.6, 192.0.2.7").statusCode()).isEqualTo(429);
  }

  @Test
  void trial_isSeenInTheMetricsAlone() throws Exception {
    for (int i = 0; i < 7; i++) {
      assertThat(login("the password of ann", "192.0.2.7").statusCode()).isEqualTo(200);
    }

    String line =
        "ratelimits_decisions_total{decision=\"shadow_denied\",limit=\"LoginsPerUserPerIPAddress\"} 2.0";
    await().until(() -> send(HttpRequest.newBuilder(uri("/metrics"))).body().contains(line));
  }

  @ParameterizedTest
  @CsvSource({"servlet-filter.md, 2", "metrics.md, 1"})
  void pages_quoteThisProgram(String file, int quotesExpected) throws Exception {
    String page = Files.readString(Path.of("../../docs", file));
    String source =
        Files.readString(
            Path.of("src/main/java/dev/sluice/examples/servletlogin/LoginServer.java"));

    List<MatchResult> quotes =
        Pattern.compile("<!-- from: LoginServer.java#(\\w+) -->\n```java\n(.*?)```", Pattern.DOTALL)
            .matcher(page)
            .results()
            .toList();

    assertThat(quotes).hasSize(quotesExpected);
    for (MatchResult quote : quotes) {
      String part = quote.group(1);
      String begin = "// begin: " + part + "\n";
      int start = source.indexOf(begin) + begin.length();
      String quoted = source.substring(start, source.indexOf("// end: " + part));
      assertThat(quoted.stripIndent().strip()).as(part).isEqualTo(quote.group(2).strip());
    }
  }
}
