// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * Requests on virtual threads that wait for a real Redis, in the filter and in an annotated method.
 * Before Java 21 there are none, and the same requests run on threads of the platform.
 */
class VirtualThreadsTest {

  private static final int REQUESTS = 50;
  private static final int BURST = 20;

  @TempDir private Path folder;

  @SpringBootConfiguration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @RestController
  static class Application {
    @GetMapping("/page")
    @RateLimited(limit = "ApiCallsPerKey", id = "'all'")
    public String page() {
      return Thread.currentThread().toString();
    }
  }

  @Test
  void requestsAtOnce_arePinnedNowhere_andExactlyTheBurstPasses() throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
        ConfigurableApplicationContext application = start(redis);
        Recording recording = new Recording()) {
      URI page =
          URI.create(
              "http://127.0.0.1:%s/page"
                  .formatted(application.getEnvironment().getProperty("local.server.port")));
      HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
      HttpRequest request = HttpRequest.newBuilder(page).build();
      // Loading a class pins a thread for reasons of the JDK: the first request and the first crowd
      // load them, of denials too.
      HttpResponse<String> first = client.send(request, BodyHandlers.ofString());
      assertThat(first.body().contains("VirtualThread"))
          .isEqualTo(Runtime.version().feature() >= 21);

      assertThat(allowed(client, request)).isEqualTo(BURST - 1);
      application.getBean(Limiter.class).reset("ApiCallsPerKey", "all");

      recording.enable("jdk.VirtualThreadPinned").withThreshold(Duration.ZERO).withStackTrace();
      recording.start();
      long allowed = allowed(client, request);
      recording.stop();
      recording.dump(folder.resolve("pinned.jfr"));

      assertThat(allowed).isEqualTo(BURST);
      assertThat(RecordingFile.readAllEvents(folder.resolve("pinned.jfr")))
          .map(RecordedEvent::toString)
          .filteredOn(event -> event.contains("dev.sluice"))
          .isEmpty();
    }
  }

  private static long allowed(HttpClient client, HttpRequest request) {
    List<CompletableFuture<HttpResponse<String>>> answers =
        Stream.generate(() -> client.sendAsync(request, BodyHandlers.ofString()))
            .limit(REQUESTS)
            .toList();
    return answers.stream().filter(answer -> answer.join().statusCode() == 200).count();
  }

  private static ConfigurableApplicationContext start(LocalRedis redis) {
    return new SpringApplicationBuilder(Application.class)
        .web(WebApplicationType.SERVLET)
        .run(
            "--server.port=0",
            "--server.address=127.0.0.1",
            "--logging.level.root=off",
            "--spring.main.banner-mode=off",
            "--spring.threads.virtual.enabled=true",
            "--sluice.store=spring.data.redis",
            "--spring.data.redis.host=127.0.0.1",
            "--spring.data.redis.port=" + redis.port(),
            "--spring.data.redis.timeout=60s",
            "--sluice.limits.ApiCallsPerKey.burst=" + BURST,
            "--sluice.limits.ApiCallsPerKey.count=" + BURST,
            "--sluice.limits.ApiCallsPerKey.period=1h",
            "--sluice.limits.LoginsPerIPAddress.burst=1000",
            "--sluice.limits.LoginsPerIPAddress.count=1000",
            "--sluice.limits.LoginsPerIPAddress.period=1h",
            "--sluice.filter.rules[0].path=/page",
            "--sluice.filter.rules[0].limit=LoginsPerIPAddress",
            "--sluice.filter.rules[0].id=ip");
  }
}
