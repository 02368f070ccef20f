// SPDX-License-Identifier: Apache-2.0
package llm;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** The gateway before a local server that streams as a model does, and says its usage at the end. */
@SpringBootTest(
    webEnvironment = WebEnvironment.RANDOM_PORT,
    properties = {
      "sluice.limits.TokensPerKey.period=1000h", // nothing refills within a test
      // Reactor Netty 1.3.7 can stop reading a kept connection (its issue 4361).
      "server.netty.max-keep-alive-requests=1"
    })
class GatewayTest {

  private static final long BURST = 60_000;
  private static final Pattern USAGE = Pattern.compile("\"uses\":(\\d+)");
  private static HttpServer model;

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @Autowired private Limiter limiter;

  @Value("${local.server.port}")
  private int port;

  @BeforeAll
  static void startTheModel() throws IOException {
    model = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    model.createContext(
        "/v1/chat/completions",
        exchange -> {
          String question =
              new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
          Matcher usage = USAGE.matcher(question);
          boolean isAsked =
              usage.find()
                  && question.contains("\"stream\":true")
                  && question.contains("\"stream_options\":{\"include_usage\":true}");
          exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
          exchange.sendResponseHeaders(200, 0);
          try (OutputStream out = exchange.getResponseBody()) {
            for (String data :
                new String[] {
                  "{\"choices\":[{\"delta\":{\"content\":\"Hello\"}}],\"usage\":null}",
                  isAsked
                      ? "{\"choices\":[],\"usage\":{\"total_tokens\":" + usage.group(1) + "}}"
                      : "{\"choices\":[]}",
                  "[DONE]"
                }) {
              out.write(("data: " + data + "\n\n").getBytes(StandardCharsets.UTF_8));
              out.flush();
            }
          }
        });
    model.start();
  }

  @AfterAll
  static void stopTheModel() {
    model.stop(0);
  }

  @DynamicPropertySource
  static void where(DynamicPropertyRegistry properties) {
    properties.add("model.url", () -> "http://127.0.0.1:" + model.getAddress().getPort());
  }

  private HttpResponse<String> ask(String key, int usage) throws Exception {
    return ask(port, key, "{\"uses\":" + usage + "}");
  }

  private HttpResponse<String> ask(int port, String key, String question) throws Exception {
    return client.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v1/chat/completions"))
            .header("X-Api-Key", key)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(question))
            .build(),
        BodyHandlers.ofString());
  }

  private void awaitLeft(String key, long left) {
    long end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
    while (limiter.check("TokensPerKey", key, 0).remaining() != left && System.nanoTime() < end) {
      Thread.onSpinWait();
    }
    assertThat(limiter.check("TokensPerKey", key, 0).remaining()).isEqualTo(left);
  }

  @Test
  void stream_isChargedItsUsage_andAnOverdrawnKeyIsRefused() throws Exception {
    HttpResponse<String> answer = ask("ann", 42);
    assertThat(answer.body()).contains("Hello", "\"total_tokens\":42", "[DONE]");
    awaitLeft("ann", BURST - 42);

    var unused = ask("ann", 70_000);
    awaitLeft("ann", 0);

    assertThat(ask("ann", 1).statusCode()).isEqualTo(429);
    assertThat(ask("bob", 1).statusCode()).isEqualTo(200);
  }

  @Test
  void usageThatCannotBeRead_costsTheHighestEstimate() throws Exception {
    for (int i = 0; i < 20; i++) { // the mean is now far below the highest estimate
      var unused = ask("tom", 16);
    }
    awaitLeft("tom", BURST - 20 * 16);

    var unused = ask("eve", 0);

    awaitLeft("eve", BURST - 4_096);
  }

  @Test
  void modelThatIsAway_costsNothing() throws Exception {
    try (ServerSocket bound = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        ConfigurableApplicationContext gateway = gateway(bound)) {
      bound.close();
      int port = gateway.getEnvironment().getRequiredProperty("local.server.port", Integer.class);

      assertThat(ask(port, "zoe", "{}").statusCode()).isEqualTo(500);
      Decision left = gateway.getBean(Limiter.class).check("TokensPerKey", "zoe", 0);
      assertThat(left.remaining()).isEqualTo(BURST);
    }
  }

  private static ConfigurableApplicationContext gateway(ServerSocket model) {
    return SpringApplication.run(
        Gateway.class,
        "--server.port=0",
        "--model.url=http://127.0.0.1:" + model.getLocalPort(),
        "--sluice.limits.TokensPerKey.period=1000h");
  }

  @Test
  void docs_quoteTheGateway() throws Exception {
    String docs = Files.readString(Path.of("../../docs/llm.md"));
    String source = Files.readString(Path.of("src/main/java/llm/Gateway.java"));
    String body =
        source
            .substring(source.indexOf("  private final Estimate"), source.indexOf("  public static void"))
            .lines()
            .collect(Collectors.joining("\n"))
            .stripTrailing();

    assertThat(docs)
        .contains("```java\n// continued\n" + body + "\n```")
        .contains("```yaml\n" + Files.readString(Path.of("src/main/resources/application.yml")) + "```");
  }
}
