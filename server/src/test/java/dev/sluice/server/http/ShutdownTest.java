// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.server.Aside;
import dev.sluice.server.TestParts;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** A server that is told to stop loses no request. */
final class ShutdownTest {

  private static final Duration AT_ONCE = Duration.ofSeconds(2);
  private static final int CLIENTS = 8;
  private static final int HTTP2_HEADERS = 1;
  private static final int HTTP2_GOAWAY = 7;
  private static final String SPEND = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}";

  @Test
  void requestUnderWay_isAnswered() throws Exception {
    SlowStore store = new SlowStore();
    Limiter limiter = Limiter.of(new CurrentLimits(SampleFixture.limits()), store);
    SluiceServer server =
        SluiceServer.builder(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                ConnectionBudget.usual())
            .part(TestParts.http(limiter, store))
            .start();
    HttpRequest request =
        HttpRequest.newBuilder(
                URI.create("http://" + HostPort.format(server.address()) + "/v1/spend"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(SPEND))
            .build();
    CompletableFuture<HttpResponse<String>> answer =
        HttpClient.newHttpClient().sendAsync(request, BodyHandlers.ofString());
    store.asked.await();

    CompletableFuture<Void> closed = Aside.run(server::close);
    store.answer.complete(null);

    assertThat(answer.get().statusCode()).isEqualTo(200);
    closed.get();
  }

  /** The thread that accepts connections has nothing to wait for once the port is closed. */
  @Test
  void serverWithoutRequests_stopsAtOnce() throws Exception {
    Duration best = timeToStop();
    for (int i = 0; i < 2 && best.compareTo(AT_ONCE) >= 0; i++) { // a slow machine has slow moments
      best = timeToStop();
    }
    assertThat(best).isLessThan(AT_ONCE);
  }

  private static Duration timeToStop() throws Exception {
    try (BucketStore store = BucketStore.inMemory()) {
      SluiceServer server = server(store);
      try (RawClient client = RawClient.connect(server.address())) {
        assertThat(client.send(get("/healthz")).answer()).startsWith("HTTP/1.1 200 ");
      }
      long begin = System.nanoTime();
      server.close();
      return Duration.ofNanos(System.nanoTime() - begin);
    }
  }

  @Test
  void clientsThatKeepTheirConnections_loseNothing() throws Exception {
    ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
    try (BucketStore store = BucketStore.inMemory()) {
      SluiceServer server = server(store);
      CountDownLatch allAsk = new CountDownLatch(CLIENTS);
      List<Future<String>> last = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        last.add(clients.submit(() -> askUntilTheEnd(server, allAsk)));
      }
      allAsk.await();
      server.close();
      for (Future<String> answer : last) {
        assertThat(answer.get()).startsWith("HTTP/1.1 200 ").contains("connection: close");
      }
    } finally {
      clients.shutdownNow();
    }
  }

  /** The last answer: the first that is none, or that says that the connection ends. */
  private static String askUntilTheEnd(SluiceServer server, CountDownLatch allAsk)
      throws IOException {
    String request =
        String.join(
            "\r\n",
            "POST /v1/spend HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            "Content-Length: " + SPEND.length(),
            "",
            SPEND);
    try (RawClient client = RawClient.connect(server.address())) {
      String answer = client.send(request).answer();
      allAsk.countDown();
      while (answer.startsWith("HTTP/1.1 200 ") && !answer.contains("connection: close")) {
        answer = client.send(request).answer();
      }
      return answer;
    }
  }

  @Test
  void serverThatIsUnready_answersOn() throws Exception {
    try (BucketStore store = BucketStore.inMemory()) {
      try (SluiceServer server = server(store);
          RawClient client = RawClient.connect(server.address())) {
        assertThat(client.send(get("/readyz")).answer()).startsWith("HTTP/1.1 200 ");
        server.unready();
        assertThat(client.send(get("/readyz")).answer()).startsWith("HTTP/1.1 503 ");
        assertThat(client.send(get("/healthz")).answer()).startsWith("HTTP/1.1 200 ");
        try (RawClient late = RawClient.connect(server.address())) {
          assertThat(late.send(get("/healthz")).answer()).startsWith("HTTP/1.1 200 ");
        }
      }
    }
  }

  @Test
  void http2Connection_isTold() throws Exception {
    try (BucketStore store = BucketStore.inMemory()) {
      SluiceServer server = server(store);
      try (RawClient client = RawClient.connect(server.address())) {
        client.send(RawClient.http2(SluiceServer.MAX_BODY));
        client.send(RawClient.http2Get(1, "/healthz"));
        assertThat(client.frame(HTTP2_HEADERS)).isNotEmpty();
        CompletableFuture<Void> closed = Aside.run(server::close);
        assertThat(client.frame(HTTP2_GOAWAY)).startsWith(0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0);
        closed.get();
      }
    }
  }

  private static String get(String path) {
    return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }

  private static SluiceServer server(BucketStore store) {
    Limiter limiter = Limiter.of(new CurrentLimits(SampleFixture.limits()), store);
    return SluiceServer.builder(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), ConnectionBudget.usual())
        .part(TestParts.http(limiter, store))
        .start();
  }

  /** Answers when the test says so. */
  private static final class SlowStore implements BucketStore {
    private final BucketStore memory = BucketStore.inMemory();
    private final CountDownLatch asked = new CountDownLatch(1);
    private final CompletableFuture<Void> answer = new CompletableFuture<>();

    @Override
    public List<Reading> charge(List<Charge> charges) {
      return memory.charge(charges);
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      asked.countDown();
      return answer.thenApply(go -> memory.charge(charges));
    }
  }
}
