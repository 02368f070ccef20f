// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.redis.RedisStore;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What the first requests after a start get, with a real Redis and the time-out that a store has if
 * nobody sets one. The container runs in a fresh process: the classes that a request needs are not
 * loaded yet, and the time-out must not pay for that.
 */
@Tag("slow")
class FirstRequestsTest {

  private static final int REQUESTS = 200;
  private static final int STARTS = 3;

  /** A container with a filter, which prints its port and serves until its input ends. */
  static final class Fresh {

    private Fresh() {}

    public static void main(String[] args) throws Exception {
      Limits limits =
          Limits.builder(Catalogue.of(LimitName.builder(1003, "PerKey").build()))
              .limit("PerKey", Quota.per(REQUESTS, Duration.ofDays(1)))
              .build();
      try (BucketStore store = RedisStore.open(args[1]);
          WebServer web = Container.valueOf(args[0]).server()) {
        web.servlet("/", Pages.status())
            .filter(
                RateLimitFilter.builder(Limiter.of(new CurrentLimits(limits), store)),
                Rule.on("/page").limit("PerKey", VaryBy.constant("a")).build())
            .start();
        System.out.println(web.port());
        int unused = System.in.read();
      }
    }
  }

  /**
   * One start of three must be without a failure: on a machine that is busy enough, no process
   * answers in time. Where classes are loaded at the expense of requests, all starts fail.
   */
  @ParameterizedTest
  @EnumSource
  @Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = ThreadMode.SEPARATE_THREAD)
  void manyAtOnce_inAFreshProcess_areDecided(Container container) throws IOException {
    List<Integer> statuses = List.of();
    for (int i = 0; i < STARTS && !areDecided(statuses); i++) {
      statuses = firstStatuses(container);
    }
    assertThat(statuses).hasSize(REQUESTS).containsOnly(200);
  }

  private static boolean areDecided(List<Integer> statuses) {
    return statuses.size() == REQUESTS && statuses.stream().allMatch(status -> status == 200);
  }

  private static List<Integer> firstStatuses(Container container) throws IOException {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.newest())) {
      Process fresh = start(container, redis);
      try (BufferedReader out = fresh.inputReader()) {
        URI page = URI.create("http://127.0.0.1:" + out.readLine() + WebServer.CONTEXT + "/page");
        List<Integer> statuses = statuses(page);
        if (areDecided(statuses)) {
          assertThat(redis.command("EXISTS", "1003:a")).isEqualTo(1L);
        }
        return statuses;
      } finally {
        fresh.destroyForcibly().onExit().join();
      }
    }
  }

  private static Process start(Container container, LocalRedis redis) throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            Fresh.class.getName(),
            container.name(),
            redis.uri())
        .redirectError(ProcessBuilder.Redirect.DISCARD)
        .start();
  }

  /** Sends all requests at once, each on a connection of its own. */
  private static List<Integer> statuses(URI page) {
    HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    HttpRequest request = HttpRequest.newBuilder(page).build();
    return Stream.generate(() -> client.sendAsync(request, BodyHandlers.discarding()))
        .limit(REQUESTS)
        .toList()
        .stream()
        .map(CompletableFuture::join)
        .map(response -> response.statusCode())
        .toList();
  }
}
