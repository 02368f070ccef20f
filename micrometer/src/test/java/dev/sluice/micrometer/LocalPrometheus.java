// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import dev.sluice.testkit.servers.FreePort;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A real Prometheus, which reads registries once a second as if each were a process. */
final class LocalPrometheus implements AutoCloseable {

  private final HttpClient client = HttpClient.newHttpClient();
  private final List<HttpServer> targets = new ArrayList<>();
  private final int port = FreePort.next();
  private final Process process;

  LocalPrometheus(Path folder, PrometheusMeterRegistry... registries) throws IOException {
    List<String> addresses = new ArrayList<>();
    for (PrometheusMeterRegistry registry : registries) {
      HttpServer target = exposed(registry);
      targets.add(target);
      addresses.add("\"127.0.0.1:%s\"".formatted(target.getAddress().getPort()));
    }
    Path config = folder.resolve("prometheus.yml");
    Files.writeString(
        config,
        """
        global: {scrape_interval: 1s}
        scrape_configs:
          - job_name: sluice
            static_configs: [{targets: [%s]}]
        """
            .formatted(String.join(", ", addresses)));
    process =
        new ProcessBuilder(
                "/usr/bin/prometheus",
                "--config.file=" + config,
                "--storage.tsdb.path=" + folder.resolve("data"),
                "--web.listen-address=127.0.0.1:" + port)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile())
            .start();
    URI ready = URI.create("http://127.0.0.1:%s/-/ready".formatted(port));
    await("Prometheus is ready")
        .atMost(Duration.ofMinutes(2))
        .ignoreExceptionsInstanceOf(IOException.class) // nobody listens yet
        .until(
            () ->
                client
                        .send(HttpRequest.newBuilder(ready).build(), BodyHandlers.discarding())
                        .statusCode()
                    == 200);
  }

  private static HttpServer exposed(PrometheusMeterRegistry registry) throws IOException {
    HttpServer server = HttpServer.create(loopback(), 0);
    server.createContext(
        "/metrics",
        exchange -> {
          byte[] body = registry.scrape().getBytes(StandardCharsets.UTF_8);
          exchange.getResponseHeaders().set("Content-Type", "text/plain; version=0.0.4");
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    return server;
  }

  private static InetSocketAddress loopback() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  }

  /** The value of each series that a query gives. */
  List<Double> ask(String promql) throws IOException, InterruptedException {
    URI uri =
        URI.create(
            "http://127.0.0.1:%s/api/v1/query?query=%s"
                .formatted(port, URLEncoder.encode(promql, StandardCharsets.UTF_8)));
    String body = client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString()).body();
    JsonNode answer = new ObjectMapper().readTree(body);
    assertThat(answer.path("status").asText()).as(promql + ": " + body).isEqualTo("success");
    List<Double> values = new ArrayList<>();
    for (JsonNode sample : answer.path("data").path("result")) {
      values.add(Double.parseDouble(sample.path("value").path(1).asText()));
    }
    return values;
  }

  @Override
  public void close() throws InterruptedException {
    process.destroy();
    targets.forEach(target -> target.stop(0));
    process.waitFor();
  }
}
