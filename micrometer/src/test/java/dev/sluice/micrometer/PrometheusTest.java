package dev.sluice.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The metrics as a real Prometheus sees them. Runs where one is installed; see the pom. */
@Tag("prometheus")
class PrometheusTest {

  private static final String BIN = "/usr/bin/";
  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  private final Watched watched = new Watched();
  @TempDir private Path folder;

  @Test
  void exposition_isWhatPromtoolExpects() throws Exception {
    watched.metrics.loaded(Instant.now());
    watched.everything();
    Process promtool =
        new ProcessBuilder(BIN + "promtool", "check", "metrics").redirectErrorStream(true).start();
    try (OutputStream in = promtool.getOutputStream()) {
      in.write(watched.registry.scrape().getBytes(StandardCharsets.UTF_8));
    }
    String said = new String(promtool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertThat(promtool.waitFor()).as(said).isZero();
  }

  @Test
  void everyQueryOfTheDashboard_hasAnAnswer() throws Exception {
    watched.metrics.loaded(Instant.now());
    HttpServer exposed = HttpServer.create(loopback(0), 0);
    exposed.createContext(
        "/metrics",
        exchange -> {
          byte[] body = watched.registry.scrape().getBytes(StandardCharsets.UTF_8);
          exchange.getResponseHeaders().set("Content-Type", "text/plain; version=0.0.4");
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    exposed.start();
    int port = freePort();
    Process prometheus = prometheus(port, exposed.getAddress().getPort());
    try {
      for (Dashboard.Query query : Dashboard.queries("10s")) {
        await(query.panel())
            .atMost(Duration.ofSeconds(60))
            .ignoreException(IOException.class)
            .until(
                () -> {
                  watched.everything();
                  return hasAnswer(port, query.promql());
                });
      }
    } finally {
      prometheus.destroy();
      exposed.stop(0);
      assertThat(prometheus.waitFor()).isNotNegative();
    }
  }

  /** A sample at least that is a finite number. */
  private static boolean hasAnswer(int port, String promql)
      throws IOException, InterruptedException {
    URI uri =
        URI.create(
            "http://127.0.0.1:%d/api/v1/query?query=%s"
                .formatted(port, URLEncoder.encode(promql, StandardCharsets.UTF_8)));
    String body = CLIENT.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString()).body();
    JsonNode answer = new ObjectMapper().readTree(body);
    assertThat(answer.path("status").asText()).as(body).isEqualTo("success");
    JsonNode samples = answer.path("data").path("result");
    boolean answered = false;
    for (JsonNode sample : samples) {
      answered |= Double.isFinite(Double.parseDouble(sample.path("value").path(1).asText()));
    }
    return answered;
  }

  private Process prometheus(int port, int target) throws IOException {
    Path config = folder.resolve("prometheus.yml");
    Files.writeString(
        config,
        """
        global: {scrape_interval: 1s}
        scrape_configs:
          - job_name: sluice
            static_configs: [{targets: ["127.0.0.1:%d"]}]
        """
            .formatted(target));
    return new ProcessBuilder(
            BIN + "prometheus",
            "--config.file=" + config,
            "--storage.tsdb.path=" + folder.resolve("data"),
            "--web.listen-address=127.0.0.1:" + port)
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("log").toFile())
        .start();
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket()) {
      socket.bind(loopback(0));
      return socket.getLocalPort();
    }
  }

  private static InetSocketAddress loopback(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }
}
