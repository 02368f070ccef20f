// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import dev.sluice.Limit;
import dev.sluice.gcra.Quota;
import dev.sluice.testkit.LoggedLines;
import dev.sluice.testkit.ManualTime;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests to a real server, on a clock that the test moves. */
class PacedHttpClientTest {

  private static final Duration TOKEN = Duration.ofMillis(100);

  private final ManualTime time = new ManualTime();
  private final Limit limit = Limit.of(Quota.burst(1).refill(10, Duration.ofSeconds(1)), time);
  private final AtomicInteger arrived = new AtomicInteger();
  private final ConcurrentLinkedQueue<Map<String, String>> refusals = new ConcurrentLinkedQueue<>();
  private HttpServer server;
  private HttpRequest request;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          arrived.incrementAndGet();
          Map<String, String> refusal = refusals.poll();
          if (refusal != null) {
            refusal.forEach(exchange.getResponseHeaders()::set);
          }
          exchange.sendResponseHeaders(refusal == null ? 200 : 429, -1);
          exchange.close();
        });
    server.start();
    URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
    request = HttpRequest.newBuilder(uri).build();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private HttpClient client(Duration maxWait) {
    return PacedHttpClient.of(
        HttpClient.newHttpClient(), Pacer.builder(limit, maxWait).time(time).build());
  }

  private CompletableFuture<HttpResponse<Void>> send(HttpClient client) {
    return client.sendAsync(request, BodyHandlers.discarding());
  }

  private static int status(CompletableFuture<HttpResponse<Void>> answer) throws Exception {
    return answer.get(30, TimeUnit.SECONDS).statusCode();
  }

  @Test
  void sendAsync_overTheRate_leavesOneByOneInOrder() throws Exception {
    HttpClient client = client(Duration.ofSeconds(10));
    List<CompletableFuture<HttpResponse<Void>>> answers = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      answers.add(send(client));
    }
    for (int i = 0; i < 5; i++) {
      assertThat(status(answers.get(i))).isEqualTo(200);
      assertThat(arrived).as("arrived after %d tokens", i).hasValue(i + 1);
      time.advance(TOKEN);
    }
  }

  @Test
  void send_waitTooLong_isRefusedAndDoesNotLeave() throws Exception {
    HttpClient client = client(TOKEN.minusNanos(1));
    assertThat(client.send(request, BodyHandlers.discarding()).statusCode()).isEqualTo(200);
    assertThatThrownBy(() -> client.send(request, BodyHandlers.discarding()))
        .isInstanceOfSatisfying(
            RefusedRequestException.class,
            refused -> assertThat(refused.retryIn()).isEqualTo(TOKEN));
    assertThatThrownBy(() -> send(client).get(30, TimeUnit.SECONDS))
        .isInstanceOf(ExecutionException.class)
        .hasCauseInstanceOf(RefusedRequestException.class);
    assertThat(arrived).hasValue(1);
  }

  @Test
  void send_afterA429_waitsAsTheOtherSideAsked() throws Exception {
    HttpClient client = client(Duration.ofMinutes(1));
    refusals.add(Map.of("Retry-After", "30"));
    assertThat(status(send(client))).isEqualTo(429);
    time.advance(Duration.ofSeconds(1));
    List<CompletableFuture<HttpResponse<Void>>> waiting = List.of(send(client), send(client));
    time.advance(Duration.ofSeconds(29).minusNanos(1));
    assertThat(arrived).hasValue(1);
    time.advanceNanos(1);
    assertThat(status(waiting.get(0))).isEqualTo(200);
    assertThat(waiting.get(1)).as("by the limit again").isNotDone();
    time.advance(TOKEN);
    assertThat(status(waiting.get(1))).isEqualTo(200);
  }

  @Test
  void send_pausedWhileOthersWait_theyStayUntilItsEnd() throws Exception {
    HttpClient client = client(Duration.ofMinutes(1));
    refusals.add(Map.of("RateLimit", "\"theirs\";r=0;t=10"));
    CompletableFuture<HttpResponse<Void>> first = send(client);
    CompletableFuture<HttpResponse<Void>> second = send(client);
    assertThat(status(first)).isEqualTo(429);
    time.advance(Duration.ofSeconds(9));
    assertThat(arrived).hasValue(1);
    time.advance(Duration.ofSeconds(2));
    assertThat(status(second)).isEqualTo(200);
  }

  @Test
  void send_pauseLongerThanMaxWait_isRefused() throws Exception {
    HttpClient client = client(Duration.ofSeconds(5));
    refusals.add(Map.of("Retry-After", "30"));
    assertThat(status(send(client))).isEqualTo(429);
    assertThatThrownBy(() -> client.send(request, BodyHandlers.discarding()))
        .isInstanceOf(RefusedRequestException.class)
        .hasMessageContaining("PT30S");
  }

  @Test
  void send_endlessPause_isCutToTheLongest() throws Exception {
    HttpClient client = client(Duration.ofHours(2));
    refusals.add(Map.of("Retry-After", "999999999999999"));
    assertThat(status(send(client))).isEqualTo(429);
    CompletableFuture<HttpResponse<Void>> waiting = send(client);
    time.advance(Duration.ofHours(1));
    assertThat(status(waiting)).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void sendAsync_answerWithoutAnId_isTheCallersAllTheSame(boolean isNull) throws Exception {
    AtomicBoolean isAdmitted = new AtomicBoolean();
    Function<URI, String> id =
        uri -> {
          if (!isAdmitted.getAndSet(true)) {
            return "partner";
          }
          if (isNull) {
            return null;
          }
          throw new NoClassDefFoundError("ids");
        };
    Pacer pacer = Pacer.builder(limit, Duration.ZERO).time(time).id(id).build();
    refusals.add(Map.of("Retry-After", "30"));

    try (LoggedLines logged = new LoggedLines(Pacer.class)) {
      assertThat(status(send(PacedHttpClient.of(HttpClient.newHttpClient(), pacer))))
          .isEqualTo(429);
      assertThat(logged.lines()).hasSize(1);
    }
  }

  @Test
  void cancel_whileItWaits_neitherLeavesNorDelaysTheNext() throws Exception {
    HttpClient client = client(Duration.ofSeconds(10));
    assertThat(status(send(client))).isEqualTo(200);
    CompletableFuture<HttpResponse<Void>> leaving = send(client);
    CompletableFuture<HttpResponse<Void>> next = send(client);
    assertThat(leaving.cancel(true)).isTrue();
    time.advance(TOKEN.multipliedBy(2));
    assertThat(status(next)).isEqualTo(200);
    assertThat(arrived).hasValue(2);
  }

  @Test
  void cancel_ofTheLastThatWaits_givesItsTurnBack() throws Exception {
    HttpClient client = client(Duration.ofSeconds(10));
    assertThat(status(send(client))).isEqualTo(200);
    assertThat(send(client).cancel(true)).isTrue();
    CompletableFuture<HttpResponse<Void>> next = send(client);
    time.advance(TOKEN);
    assertThat(status(next)).isEqualTo(200);
    assertThat(arrived).hasValue(2);
  }

  @Test
  void send_interruptedWhileItWaits_doesNotLeave() throws Exception {
    HttpClient client = client(Duration.ofSeconds(10));
    assertThat(status(send(client))).isEqualTo(200);
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> client.send(request, BodyHandlers.discarding()))
        .isInstanceOf(InterruptedException.class);
    assertThat(status(sendAfter(client))).isEqualTo(200);
    assertThat(arrived).hasValue(2);
  }

  private CompletableFuture<HttpResponse<Void>> sendAfter(HttpClient client) {
    CompletableFuture<HttpResponse<Void>> next = send(client);
    time.advance(TOKEN);
    return next;
  }
}
