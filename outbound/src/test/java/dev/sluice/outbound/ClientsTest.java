// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.gcra.Quota;
import dev.sluice.testkit.LoggedLines;
import dev.sluice.testkit.ManualTime;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import okhttp3.Cache;
import okhttp3.Call;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.Disposable;
import reactor.core.scheduler.Schedulers;

/** Every client against a real server, on a clock that the test moves. */
class ClientsTest {

  private static final Duration TOKEN = Duration.ofMillis(100);

  private final ManualTime time = new ManualTime();
  private final Limit limit = Limit.of(Quota.burst(1).refill(10, Duration.ofSeconds(1)), time);
  private OtherSide server;

  @BeforeEach
  void start() throws IOException {
    server = OtherSide.start();
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private Pacer pacer(Duration maxWait) {
    return Pacer.builder(limit, maxWait).time(time).build();
  }

  private CompletableFuture<Integer> later(Clients.Sender sender) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return sender.send(server.uri());
          } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
          }
        },
        task -> new Thread(task, "sender").start());
  }

  private static int status(CompletableFuture<Integer> answer)
      throws InterruptedException, ExecutionException, java.util.concurrent.TimeoutException {
    return answer.get(30, TimeUnit.SECONDS);
  }

  @ParameterizedTest
  @EnumSource
  void send_overTheRate_waitsForItsTurn(Clients client) throws Exception {
    Clients.Sender sender = client.sender(pacer(Duration.ofSeconds(10)));
    assertThat(sender.send(server.uri())).isEqualTo(200);

    CompletableFuture<Integer> second = later(sender);
    assertThat(time.awaitAlarm(Duration.ofSeconds(30))).as("somebody waits").isTrue();
    assertThat(server.arrived()).isEqualTo(1);
    time.advance(TOKEN);

    assertThat(status(second)).isEqualTo(200);
    assertThat(server.arrived()).isEqualTo(2);
  }

  @ParameterizedTest
  @EnumSource
  void send_waitTooLong_isRefusedAndDoesNotLeave(Clients client) throws Exception {
    Clients.Sender sender = client.sender(pacer(TOKEN.minusNanos(1)));
    assertThat(sender.send(server.uri())).isEqualTo(200);

    assertThatThrownBy(() -> sender.send(server.uri()))
        .satisfiesAnyOf(
            failure -> assertThat(failure).isInstanceOf(RefusedRequestException.class),
            failure -> assertThat(failure).hasCauseInstanceOf(RefusedRequestException.class));
    assertThat(server.arrived()).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource
  void send_afterA429_waitsAsTheOtherSideAsked(Clients client) throws Exception {
    Clients.Sender sender = client.sender(pacer(Duration.ofMinutes(1)));
    server.refuseNext(Map.of("Retry-After", "30"));
    assertThat(sender.send(server.uri())).isEqualTo(429);

    CompletableFuture<Integer> second = later(sender);
    assertThat(time.awaitAlarm(Duration.ofSeconds(30))).as("somebody waits").isTrue();
    time.advance(Duration.ofSeconds(30).minusNanos(1));
    assertThat(server.arrived()).isEqualTo(1);
    time.advance(Duration.ofNanos(1));

    assertThat(status(second)).isEqualTo(200);
  }

  @ParameterizedTest
  @EnumSource
  void send_answerWithoutAnId_isTheCallersAllTheSame(Clients client) throws Exception {
    AtomicBoolean isAdmitted = new AtomicBoolean();
    Pacer pacer =
        Pacer.builder(limit, Duration.ZERO)
            .time(time)
            .id(uri -> isAdmitted.getAndSet(true) ? null : "partner")
            .build();
    server.refuseNext(Map.of("Retry-After", "30"));

    try (LoggedLines logged = new LoggedLines(Pacer.class)) {
      assertThat(client.sender(pacer).send(server.uri())).isEqualTo(429);
      assertThat(logged.lines())
          .containsExactly("WARNING could not read from a response whether to pause requests");
    }
  }

  /** Kept as a whole, or but its fields, where the other side says that nothing has changed. */
  @ParameterizedTest
  @CsvSource({"max-age=3600, 1", "no-cache, 3"})
  void okHttp_keptAnswer_pausesNobody(String cacheControl, int arrived, @TempDir Path folder)
      throws Exception {
    server.answerNext(
        200,
        Map.of(
            "Cache-Control", cacheControl,
            "ETag", "\"1\"",
            "X-RateLimit-Remaining", "0",
            "X-RateLimit-Reset", "60"));
    server.answerNext(304, Map.of());
    server.answerNext(304, Map.of());
    try (Cache cache = new Cache(folder.toFile(), 1_000_000)) {
      OkHttpClient client =
          new OkHttpClient.Builder()
              .addInterceptor(PacedOkHttp.interceptor(pacer(Duration.ZERO)))
              .cache(cache)
              .build();
      for (int i = 0; i < 3; i++) {
        Request request = new Request.Builder().url(server.uri().toURL()).build();
        try (Response response = client.newCall(request).execute()) {
          assertThat(response.code()).isEqualTo(200);
          assertThat(response.body().bytes()).isEmpty();
          assertThat(response.header("X-RateLimit-Remaining")).isEqualTo("0");
        }
        time.advance(i == 0 ? Duration.ofSeconds(60) : TOKEN);
      }
    }
    assertThat(server.arrived()).isEqualTo(arrived);
  }

  @Test
  void okHttp_cancelledWhileItWaits_givesUpItsTurn() throws Exception {
    Pacer pacer = pacer(Duration.ofSeconds(10));
    Clients.Sender sender = Clients.OK_HTTP.sender(pacer);
    assertThat(sender.send(server.uri())).isEqualTo(200);
    OkHttpClient client =
        new OkHttpClient.Builder().addInterceptor(PacedOkHttp.interceptor(pacer)).build();
    Call call = client.newCall(new Request.Builder().url(server.uri().toURL()).build());
    CompletableFuture<Integer> leaving = later(uri -> call.execute().code());
    assertThat(time.awaitAlarm(Duration.ofSeconds(30))).as("somebody waits").isTrue();

    call.cancel();

    assertThatThrownBy(() -> status(leaving)).rootCause().hasMessage("Canceled");
    assertNextTurnIsFree(sender);
  }

  @Test
  void webClient_cancelledWhileItWaits_givesUpItsTurn() throws Exception {
    Pacer pacer = pacer(Duration.ofSeconds(10));
    Clients.Sender sender = Clients.WEB_CLIENT.sender(pacer);
    assertThat(sender.send(server.uri())).isEqualTo(200);
    Disposable leaving =
        WebClient.builder()
            .filter(PacedWebClient.filter(pacer))
            .build()
            .get()
            .uri(server.uri())
            .retrieve()
            .toBodilessEntity()
            .subscribe();
    assertThat(time.awaitAlarm(Duration.ofSeconds(30))).as("somebody waits").isTrue();

    leaving.dispose();

    assertNextTurnIsFree(sender);
  }

  private void assertNextTurnIsFree(Clients.Sender sender) throws Exception {
    time.advance(TOKEN);
    assertThat(sender.send(server.uri())).isEqualTo(200);
    assertThat(server.arrived()).isEqualTo(2);
  }

  @Test
  void webClient_onAThreadThatMustNotBlock_waitsWithoutIt() throws Exception {
    WebClient client =
        WebClient.builder().filter(PacedWebClient.filter(pacer(Duration.ofSeconds(10)))).build();
    assertThat(Clients.WEB_CLIENT.sender(pacer(Duration.ZERO)).send(server.uri())).isEqualTo(200);

    CompletableFuture<Integer> second =
        client
            .get()
            .uri(server.uri())
            .exchangeToMono(response -> response.releaseBody().thenReturn(response.statusCode()))
            .map(status -> status.value())
            .subscribeOn(Schedulers.parallel()) // which refuses to block
            .toFuture();
    assertThat(time.awaitAlarm(Duration.ofSeconds(30))).as("somebody waits").isTrue();
    time.advance(TOKEN);

    assertThat(status(second)).isEqualTo(200);
  }

  @ParameterizedTest
  @EnumSource(names = {"OK_HTTP", "REST_CLIENT"})
  void send_interruptedWhileItWaits_doesNotLeaveAndStaysInterrupted(Clients client)
      throws Exception {
    Clients.Sender sender = client.sender(pacer(Duration.ofSeconds(10)));
    assertThat(sender.send(server.uri())).isEqualTo(200);

    Thread.currentThread().interrupt();

    assertThatThrownBy(() -> sender.send(server.uri()))
        .satisfiesAnyOf(
            failure -> assertThat(failure).isInstanceOf(InterruptedIOException.class),
            failure -> assertThat(failure).hasCauseInstanceOf(InterruptedIOException.class));
    assertThat(Thread.interrupted()).isTrue();
    assertNextTurnIsFree(sender);
  }

  @Test
  void pause_ofTheOtherSide_holdsRequestsBack() throws Exception {
    Pacer pacer = pacer(Duration.ofMinutes(1));
    pacer.pause(server.uri(), Duration.ofSeconds(5));
    pacer.pause(server.uri(), Duration.ofSeconds(1));
    pacer.pause(server.uri(), Duration.ofSeconds(-1));

    CompletableFuture<Void> admission = pacer.admit(server.uri());
    time.advance(Duration.ofSeconds(5).minusNanos(1));
    assertThat(admission).isNotDone();
    time.advance(Duration.ofNanos(1));

    assertThat(admission.get(30, TimeUnit.SECONDS)).isNull();
  }

  @Test
  void admit_withADeadlineOfItsOwn_isRefusedWhereThatIsTooShort() {
    Pacer pacer = pacer(Duration.ofMinutes(1));
    assertThat(pacer.admit(server.uri())).isCompleted();

    assertThat(pacer.admit(server.uri(), TOKEN.minusNanos(1)))
        .failsWithin(Duration.ofSeconds(30))
        .withThrowableThat()
        .havingRootCause()
        .isInstanceOf(RefusedRequestException.class);
    assertThat(pacer.admit(server.uri(), Duration.ofSeconds(-1))).isCompletedExceptionally();
    assertThat(pacer.admit(server.uri(), TOKEN)).isNotDone();
  }

  @Test
  void docs_quoteOkHttp() throws IOException {
    String source = Files.readString(Path.of("src/test/java/dev/sluice/outbound/Clients.java"));
    String begin = "// begin: ok-http\n";
    int start = source.indexOf(begin) + begin.length();
    String code =
        source.substring(start, source.indexOf("// end: ", start)).stripTrailing().stripIndent();

    assertThat(Files.readString(Path.of("../docs/outbound.md")))
        .contains("<!-- from: Clients.java#ok-http -->\n```java\n" + code + "\n```");
  }
}
