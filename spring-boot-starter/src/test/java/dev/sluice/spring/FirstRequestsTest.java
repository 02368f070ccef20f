// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * The first requests after a start, with a real Redis. Connecting and loading classes take longer
 * than a time-out, and must not count against it: not even where the beans are made by a request.
 */
@Tag("slow")
class FirstRequestsTest {

  private static final int REQUESTS = 200;
  private static final int STARTS = 3;
  private static final long CONNECTING_MILLIS = 12_000;

  private static LocalRedis redis;

  @BeforeAll
  static void start() {
    redis = LocalRedis.start(RedisBinary.bundled());
  }

  @AfterAll
  static void stop() {
    redis.close();
  }

  @SpringBootConfiguration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @RestController
  static class Application {
    @GetMapping("/page")
    @RateLimited(limit = "ApiCallsPerKey", id = "'all'")
    public String page() {
      return "a page";
    }
  }

  /** Passes nothing on at first, so that connecting takes as long as it does on a busy network. */
  private static final class SlowToConnect implements AutoCloseable {
    private final ServerSocket door = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final Queue<Socket> open = new ConcurrentLinkedQueue<>();
    private final Executor later =
        CompletableFuture.delayedExecutor(CONNECTING_MILLIS, TimeUnit.MILLISECONDS);
    private final CompletableFuture<Void> ready = new CompletableFuture<>();

    SlowToConnect() throws IOException {
      background(this::accept);
    }

    private void accept() {
      try {
        while (true) {
          Socket client = door.accept();
          open.add(client);
          later.execute(() -> ready.complete(null)); // the first one counts
          var unused = ready.thenRun(() -> pass(client));
        }
      } catch (IOException e) {
        // closed
      }
    }

    private void pass(Socket client) {
      try {
        Socket server = new Socket(InetAddress.getLoopbackAddress(), redis.port());
        open.add(server);
        background(() -> copy(client, server));
        background(() -> copy(server, client));
      } catch (IOException e) {
        // the client sees a connection that is silent
      }
    }

    private static void copy(Socket from, Socket to) {
      try (from;
          to) {
        long unused = from.getInputStream().transferTo(to.getOutputStream());
      } catch (IOException e) {
        // one of them is closed
      }
    }

    private static void background(Runnable task) {
      Thread thread = new Thread(task, "slow-to-connect");
      thread.setDaemon(true);
      thread.start();
    }

    String address() {
      return "redis://127.0.0.1:" + door.getLocalPort();
    }

    @Override
    public void close() throws IOException {
      door.close();
      for (Socket socket : open) {
        socket.close();
      }
    }
  }

  private static List<Integer> statuses(ConfigurableApplicationContext application, int requests) {
    URI page =
        URI.create(
            "http://127.0.0.1:%s/page"
                .formatted(application.getEnvironment().getProperty("local.server.port")));
    HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    HttpRequest request = HttpRequest.newBuilder(page).build();
    return Stream.generate(() -> client.sendAsync(request, BodyHandlers.discarding()))
        .limit(requests)
        .toList()
        .stream()
        .map(CompletableFuture::join)
        .map(response -> response.statusCode())
        .toList();
  }

  /**
   * By the time-out that the store has if nobody sets one. One start of three must be without a
   * failure: on a machine that is busy enough, no process answers in time.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void firstOne_isDecided(boolean lazy) {
    List<Integer> statuses = List.of();
    for (int i = 0; i < STARTS && !statuses.equals(List.of(200)); i++) {
      String store = "%s?prefix=one-%s-%s".formatted(redis.uri(), lazy, i);
      try (ConfigurableApplicationContext application = start(lazy, store)) {
        statuses = statuses(application, 1);
      }
    }
    assertThat(statuses).containsExactly(200);
  }

  /**
   * All of them wait for the one that makes the beans, and that connects for longer than the
   * time-out. The time-out itself is not the default: two hundred decisions of a process that has
   * just started may take longer than that beside a build. {@code sluice prove faults
   * COLD_BOOTS_200} tries the default.
   */
  @Test
  void manyAtOnce_areDecided_whereTheBeansAreLazy() throws IOException {
    try (SlowToConnect slow = new SlowToConnect()) {
      String store = slow.address() + "?timeout=10s&connectTimeout=60s&prefix=many-";
      try (ConfigurableApplicationContext application = start(true, store)) {
        assertThat(statuses(application, REQUESTS)).hasSize(REQUESTS).containsOnly(200);
      }
    }
  }

  private static ConfigurableApplicationContext start(boolean lazy, String store) {
    return new SpringApplicationBuilder(Application.class)
        .web(WebApplicationType.SERVLET)
        .run(
            "--server.port=0",
            "--server.address=127.0.0.1",
            "--logging.level.root=off",
            "--spring.main.banner-mode=off",
            "--spring.main.lazy-initialization=" + lazy,
            "--sluice.store=" + store,
            "--sluice.limits.ApiCallsPerKey.burst=1000",
            "--sluice.limits.ApiCallsPerKey.count=1000",
            "--sluice.limits.ApiCallsPerKey.period=1h");
  }
}
