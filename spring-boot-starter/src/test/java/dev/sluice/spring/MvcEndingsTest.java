// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limiter;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.context.request.async.DeferredResult;
import org.springframework.web.context.request.async.WebAsyncTask;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;

/**
 * What conditional rules count of the asynchronous results that Spring MVC knows, over real HTTP.
 */
@Tag("slow")
class MvcEndingsTest {

  private static final long SOON_MILLIS = 100;
  private static final int BURST = 3;

  private static ConfigurableApplicationContext application;

  @SpringBootConfiguration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @RestController
  static class Application {

    @GetMapping("/deferred/{status}")
    DeferredResult<ResponseEntity<String>> deferred(@PathVariable int status) {
      DeferredResult<ResponseEntity<String>> result = new DeferredResult<>();
      work(() -> result.setResult(answer(status)));
      return result;
    }

    @GetMapping("/deferred-fails")
    DeferredResult<String> deferredFails() {
      DeferredResult<String> result = new DeferredResult<>();
      work(() -> result.setErrorResult(new IllegalStateException("as the test wants")));
      return result;
    }

    @GetMapping("/deferred-is-refused")
    DeferredResult<String> deferredIsRefused() {
      DeferredResult<String> result = new DeferredResult<>();
      work(() -> result.setErrorResult(new BadPassword()));
      return result;
    }

    @GetMapping("/deferred-times-out")
    DeferredResult<String> deferredTimesOut() {
      return new DeferredResult<>(SOON_MILLIS);
    }

    @GetMapping("/deferred-times-out-with/{status}")
    DeferredResult<ResponseEntity<String>> deferredTimesOutWith(@PathVariable int status) {
      return new DeferredResult<>(SOON_MILLIS, answer(status));
    }

    @GetMapping("/callable/{status}")
    Callable<ResponseEntity<String>> callable(@PathVariable int status) {
      return () -> answer(status);
    }

    @GetMapping("/callable-fails")
    Callable<String> callableFails() {
      return () -> {
        throw new IllegalStateException("as the test wants");
      };
    }

    @GetMapping("/callable-is-refused")
    Callable<String> callableIsRefused() {
      return () -> {
        throw new BadPassword();
      };
    }

    @GetMapping("/callable-times-out")
    WebAsyncTask<String> callableTimesOut() {
      return new WebAsyncTask<>(SOON_MILLIS, Application::lateWork);
    }

    @GetMapping("/stage/{status}")
    CompletionStage<ResponseEntity<String>> stage(@PathVariable int status) {
      return CompletableFuture.supplyAsync(() -> answer(status));
    }

    @GetMapping("/stage-fails")
    CompletionStage<String> stageFails() {
      return CompletableFuture.failedStage(new IllegalStateException("as the test wants"));
    }

    @GetMapping("/events")
    SseEmitter events() {
      SseEmitter events = new SseEmitter();
      work(
          () -> {
            try {
              events.send("one");
              events.send("two");
              events.complete();
            } catch (IOException e) {
              events.completeWithError(e);
            }
          });
      return events;
    }

    @GetMapping("/events-time-out")
    SseEmitter eventsTimeOut() throws IOException {
      SseEmitter events = new SseEmitter(SOON_MILLIS);
      events.send("the only one");
      return events;
    }

    @GetMapping("/events-without-one-time-out")
    SseEmitter eventsWithoutOneTimeOut() {
      return new SseEmitter(SOON_MILLIS);
    }

    @GetMapping("/stream")
    StreamingResponseBody stream() {
      return out -> out.write("page".getBytes(StandardCharsets.UTF_8));
    }

    private static ResponseEntity<String> answer(int status) {
      return ResponseEntity.status(status).build();
    }

    /** Goes on though Spring interrupts it: its exception would race with the 503. */
    private static String lateWork() {
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(100 * SOON_MILLIS);
      while (System.nanoTime() - end < 0) {
        var unused = Thread.interrupted();
        LockSupport.parkNanos(end - System.nanoTime());
      }
      return "too late";
    }

    private static void work(Runnable work) {
      new Thread(work).start();
    }

    @ResponseStatus(HttpStatus.UNAUTHORIZED)
    static final class BadPassword extends RuntimeException {
      private static final long serialVersionUID = 1;
    }
  }

  @BeforeAll
  static void start() {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "--server.port=0",
                "--server.address=127.0.0.1",
                "--logging.level.root=off",
                "--spring.main.banner-mode=off"));
    List<String> conditions =
        List.of("count-only=401", "count-only=500,503", "count-all-but-success=true");
    for (int i = 0; i < conditions.size(); i++) {
      String name = "Counted" + i;
      String rule = "--sluice.filter.rules[%s].".formatted(i);
      arguments.addAll(
          List.of(
              "--sluice.names[%s].number=%s".formatted(i, 1001 + i),
              "--sluice.names[%s].name=%s".formatted(i, name),
              "--sluice.names[%s].id=string".formatted(i),
              "--sluice.limits.%s.burst=%s".formatted(name, BURST),
              "--sluice.limits.%s.count=%s".formatted(name, BURST),
              "--sluice.limits.%s.period=24h".formatted(name),
              rule + "path=/**",
              rule + "limit=" + name,
              rule + "id=path",
              rule + conditions.get(i)));
    }
    application =
        new SpringApplicationBuilder(Application.class)
            .web(WebApplicationType.SERVLET)
            .run(arguments.toArray(String[]::new));
  }

  @AfterAll
  static void stop() {
    application.close();
  }

  @ParameterizedTest
  @CsvSource({
    // ending                    , status, of 401, of 500, all but success
    "/deferred/200               , 200, false, false, false",
    "/deferred/401               , 401, true,  false, true",
    "/deferred/503               , 503, false, true,  true",
    "/deferred-fails             , 500, false, true,  true",
    "/deferred-is-refused        , 401, true,  false, true",
    "/callable/200               , 200, false, false, false",
    "/callable/401               , 401, true,  false, true",
    "/callable-fails             , 500, false, true,  true",
    "/callable-is-refused        , 401, true,  false, true",
    "/stage/200                  , 200, false, false, false",
    "/stage/401                  , 401, true,  false, true",
    "/stage-fails                , 500, false, true,  true",
    "/events                     , 200, false, false, false",
    "/stream                     , 200, false, false, false",
    // The work may still be running, and Spring's 503 does not say how it ends.
    "/deferred-times-out         , 503, true,  true,  true",
    "/callable-times-out         , 503, true,  true,  true",
    "/events-without-one-time-out, 503, true,  true,  true",
    "/deferred-times-out-with/503, 503, true,  true,  true",
    // The application's own answer to the time-out says it, and so does what was sent before.
    "/deferred-times-out-with/204, 204, false, false, false",
    "/deferred-times-out-with/401, 401, true,  false, true",
    "/events-time-out            , 200, false, false, false",
  })
  void ending_isCountedByItsStatus(
      String path, int status, boolean of401, boolean of500, boolean allButSuccess)
      throws Exception {
    String port = application.getEnvironment().getProperty("local.server.port");
    HttpClient client = HttpClient.newHttpClient();
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build();

    assertThat(client.send(request, BodyHandlers.ofString()).statusCode()).isEqualTo(status);

    // A token that comes back does so behind the answer: what is spent must stay spent for a while.
    await()
        .atMost(Duration.ofMinutes(1))
        .during(Duration.ofMillis(100))
        .untilAsserted(
            () ->
                assertThat(List.of(spent(0, path), spent(1, path), spent(2, path)))
                    .containsExactly(of401, of500, allButSuccess));
  }

  private static boolean spent(int rule, String path) {
    long remaining =
        application.getBean(Limiter.class).check("Counted" + rule, path, 0).remaining();
    assertThat(remaining).isBetween(BURST - 1L, (long) BURST);
    return remaining < BURST;
  }
}
