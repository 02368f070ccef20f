// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.server.Aside;
import dev.sluice.server.TestParts;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.rls.OpenCalls;
import dev.sluice.server.rls.RlsPart;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Hostile clients that keep to every documented bound, against a server with small bounds. The same
 * attacks in their full size are {@code ./sluice prove attacks}.
 */
@Tag("slow")
final class AttacksTest {

  private static final int MIB = 1 << 20;
  private static final int END_STREAM = 1;
  private static final String HOSTILE = "127.0.0.2";
  private static final String HOSTILE_TOO = "127.0.0.3";
  private static final String NEWCOMER = "127.0.0.9";
  private static final String SPEND = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\",\"cost\":0}";
  private static final String RATE_LIMIT_SERVICE =
      "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
  private static final String POST =
      String.join(
          "\r\n",
          "POST /v1/spend HTTP/1.1",
          "Host: localhost",
          "Content-Type: application/json",
          "Content-Length: %s",
          "",
          "");

  private final BucketStore store = BucketStore.inMemory();
  private final List<RawClient> hostile = new ArrayList<>();

  @AfterEach
  void leave() {
    hostile.forEach(RawClient::close);
    store.close();
  }

  private RlsPart rls(Limiter limiter) {
    return new RlsPart(
        limiter,
        Settings.of(OverridePolicy.ALLOW),
        store::ping,
        AuditLog.none(),
        Denials.none(),
        new SimpleMeterRegistry(),
        new OpenCalls(new SimpleMeterRegistry()));
  }

  private static ConnectionBudget connections(int most, int mostPerPeer) {
    return new ConnectionBudget(64 * MIB, most, mostPerPeer, Duration.ofSeconds(20));
  }

  private SluiceServer.Builder server() {
    return server(ConnectionBudget.usual());
  }

  private SluiceServer.Builder server(long budgetBytes) {
    return server(
        new ConnectionBudget(
            budgetBytes,
            SluiceServer.MAX_CONNECTIONS,
            SluiceServer.MAX_CONNECTIONS_PER_PEER,
            Duration.ofSeconds(20)));
  }

  private SluiceServer.Builder server(ConnectionBudget budget) {
    return SluiceServer.builder(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), budget)
        .part(TestParts.http(Limiter.of(SampleFixture.limits(), store), store));
  }

  private RawClient hostile(SluiceServer server, String from) {
    RawClient client = RawClient.connect(server.address(), from);
    hostile.add(client);
    return client;
  }

  private static void assertAnswers(RawClient wellBehaved) throws IOException {
    String answer = wellBehaved.send(POST.formatted(SPEND.length()) + SPEND).answer();
    assertThat(answer).startsWith("HTTP/1.1 200 ");
  }

  @Test
  void bodiesThatNeverEnd_areRefusedOrClosed_whileOthersAreAnswered() throws IOException {
    int size = SluiceServer.MAX_BODY;
    try (SluiceServer server = server(2 * MIB).start();
        Aside.End end = Aside.end(server);
        RawClient wellBehaved = RawClient.connect(server.address())) {
      for (int i = 0; i < 40; i++) {
        RawClient client = hostile(server, i % 2 == 0 ? HOSTILE : HOSTILE_TOO);
        try {
          client.send(POST.formatted(size)).send(new byte[size - 1]);
        } catch (IOException e) {
          // closed already
        }
        assertAnswers(wellBehaved);
      }
      long told = hostile.stream().filter(client -> !client.answer().contains(" 408 ")).count();
      assertThat(told).isGreaterThan(20); // the others ran into the time-out for requests
      assertAnswers(wellBehaved);
    }
  }

  @Test
  void http2ResponsesThatNobodyReads_endTheirConnections_whileOthersAreAnswered()
      throws IOException {
    try (SluiceServer server = server(8 * MIB).start();
        RawClient wellBehaved = RawClient.connect(server.address())) {
      for (int i = 0; i < 8; i++) {
        RawClient client = hostile(server, i % 2 == 0 ? HOSTILE : HOSTILE_TOO);
        client.send(RawClient.http2(1));
        try {
          for (int stream = 0; stream < SluiceServer.MAX_STREAMS; stream++) {
            client.send(RawClient.http2Get(2 * stream + 1, "/openapi.json"));
          }
        } catch (IOException e) {
          // closed already
        }
        assertAnswers(wellBehaved);
      }
      assertAnswers(wellBehaved);
    } // ends after ten seconds, although responses are still unread
  }

  @Test
  void clientThatDoesNotRead_isNotReadFrom() throws IOException {
    byte[] request =
        "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    ByteBuffer many = ByteBuffer.allocate(32 * MIB);
    while (many.remaining() > request.length) {
      many.put(request);
    }
    many.flip();
    try (SluiceServer server = server().start();
        Aside.End end = Aside.end(server);
        RawClient wellBehaved = RawClient.connect(server.address());
        SocketChannel client = SocketChannel.open()) {
      client.setOption(StandardSocketOptions.SO_RCVBUF, 4096);
      client.setOption(StandardSocketOptions.SO_SNDBUF, MIB);
      client.connect(server.address());
      client.configureBlocking(false);
      await()
          .during(Duration.ofMillis(500))
          .atMost(Duration.ofSeconds(20))
          .until(() -> client.write(many) == 0);
      assertThat(many.remaining()).isGreaterThan(16 * MIB);
      assertAnswers(wellBehaved);
    }
  }

  /** Over HTTP/1.1, requests refused by their headers are over: no body is waited for. */
  @Test
  void refusedRequests_holdNothing_whileTheirBodiesArrive() throws IOException {
    String refused = POST.replace("localhost", "evil.example").formatted(SluiceServer.MAX_BODY);
    try (SluiceServer server = server(MIB).start();
        Aside.End end = Aside.end(server)) {
      for (int i = 0; i < 100; i++) {
        RawClient client = hostile(server, HOSTILE);
        assertThat(client.send(refused).answer()).startsWith("HTTP/1.1 421 ");
        client.send(new byte[1000]);
      }
    }
  }

  /**
   * A body that nobody reads would fill the window that all streams of its connection share, and
   * what is sent beyond the window ends the connection.
   */
  @Test
  void http2BodiesOfRefusedRequests_areDropped_whileOthersAreAnswered() throws IOException {
    try (SluiceServer server = server().start();
        Aside.End end = Aside.end(server);
        RawClient client = RawClient.connect(server.address())) {
      client.send(RawClient.http2(1 << 16));
      for (int stream = 1; stream < 20; stream += 2) {
        client.send(RawClient.http2Post(stream, "/v1/spend", "http://evil.example"));
        assertThat(client.frame(RawClient.HEADERS)).isNotEmpty();
        for (int i = 0; i < 4; i++) {
          client.send(RawClient.frame(RawClient.DATA, 0, stream, new byte[15_000]));
        }
      }
      client.send(RawClient.http2Get(21, "/healthz"));
      assertThat(client.frame(RawClient.HEADERS)).isNotEmpty();
    }
  }

  /** The messages of gRPC are small, and its library would collect whatever is sent. */
  @Test
  void grpcBodiesThatNeverEnd_areRefused() throws IOException {
    Limiter limiter = Limiter.of(SampleFixture.limits(), store);
    RlsPart rls = rls(limiter);
    rls.prepare(Runnable::run);
    try (SluiceServer server = server(2 * MIB).part(rls).start();
        Aside.End end = Aside.end(server);
        RawClient client = RawClient.connect(server.address())) {
      client.send(RawClient.http2(1 << 16));
      for (int stream = 1; stream < 2 * SluiceServer.MAX_STREAMS; stream += 2) {
        client.send(
            RawClient.http2Post(
                stream,
                RATE_LIMIT_SERVICE,
                "http://localhost",
                "content-type",
                "application/grpc",
                "te",
                "trailers"));
        client.send(RawClient.frame(RawClient.DATA, 0, stream, new byte[15_000]));
      }
      String headers = new String(client.frame(RawClient.HEADERS), StandardCharsets.ISO_8859_1);
      assertThat(headers).contains("grpc-status", "no memory for the body");
    }
  }

  /** The client reads no answer, so no request of its ends. */
  @Test
  void http2BodiesThatAreTooLate_holdNothing_whileTheirAnswersWait() throws IOException {
    Duration timeout = Duration.ofMillis(500);
    ConnectionBudget late =
        new ConnectionBudget(2 * MIB, 10, 10, timeout.plus(SluiceServer.READ_TIMEOUT));
    try (SluiceServer server = server(late).requestTimeout(timeout).start();
        Aside.End end = Aside.end(server);
        RawClient client = RawClient.connect(server.address())) {
      client.send(RawClient.http2(0));
      StringBuilder statuses = new StringBuilder();
      for (int stream = 1; stream < 24; stream += 8) {
        for (int one = stream; one < stream + 8; one += 2) {
          client.send(RawClient.http2Post(one, "/v1/spend", "http://localhost"));
          for (int i = 0; i < 4; i++) {
            client.send(RawClient.frame(RawClient.DATA, 0, one, new byte[15_000]));
          }
        }
        for (int answers = 0; answers < 4; answers++) {
          byte[] headers = client.frame(RawClient.HEADERS);
          statuses.append(new String(headers, StandardCharsets.ISO_8859_1));
        }
      }
      // What was sent before is a number in the table of the connection.
      assertThat(statuses.toString()).containsOnlyOnce("408").doesNotContain("503");
    }
  }

  /** Their lines are kept until the answer was read, so they stay charged. */
  @Test
  void streamsThatAreOneByteTooLong_andUnread_areRefused() throws IOException {
    int piece = 15_000; // three of them fit into the window of a stream, and open it anew
    int streams = 20;
    int tooLong = 0;
    try (SluiceServer server = server(2 * MIB).start();
        Aside.End end = Aside.end(server);
        RawClient client = RawClient.connect(server.address(), HOSTILE)) {
      client.send(RawClient.http2(0));
      for (int stream = 1; stream < 2 * streams; stream += 2) {
        client.send(decisions(stream));
        for (int sent = 0; sent <= SluiceServer.MAX_BODY; sent += 3 * piece) {
          for (int i = 0; i < 3; i++) {
            byte[] blanks = " ".repeat(piece).getBytes(StandardCharsets.US_ASCII);
            client.send(RawClient.frame(RawClient.DATA, 0, stream, blanks));
          }
          var unused = client.frameOf(stream, RawClient.WINDOW_UPDATE);
        }
        tooLong++;
      }
    } catch (IOException e) {
      // no room for it: answered without being read, or closed
    }
    assertThat(tooLong).isBetween(1, streams / 2);
  }

  private static byte[] decisions(int stream) {
    return RawClient.http2Post(
        stream, "/v1/decisions", "http://localhost", "content-type", "application/x-ndjson");
  }

  /** Nobody else's stream on its connection is broken off. */
  @Test
  void streamThatIsNotRead_endsAlone() throws Exception {
    ConnectionBudget traffic = new ConnectionBudget(8 * MIB, 10, 10, Duration.ofSeconds(10));
    String line = "{\"op\":\"check\",\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}\n";
    byte[] one = line.getBytes(StandardCharsets.US_ASCII);
    byte[] many = line.repeat(200).getBytes(StandardCharsets.US_ASCII);
    try (SluiceServer server = server(traffic).start();
        Aside.End end = Aside.end(server);
        RawClient client = RawClient.connect(server.address())) {
      client.send(RawClient.http2(0));
      client.send(decisions(1));
      client.send(RawClient.frame(RawClient.DATA, END_STREAM, 1, many));
      client.send(decisions(3)); // this one does not end
      client.send(RawClient.frame(RawClient.DATA, 0, 3, many));
      TimeUnit.SECONDS.sleep(4); // so that the good one has time left when these have none
      client.send(decisions(5));
      client.send(RawClient.frame(RawClient.WINDOW_UPDATE, 0, 5, new byte[] {0, 0, 127, 0}));
      client.send(RawClient.frame(RawClient.DATA, 0, 5, one));
      assertThat(client.frameOf(5, RawClient.DATA)).isNotEmpty();
      assertThat(client.frameOf(1, RawClient.RST_STREAM)).hasSize(4);
      assertThat(client.frameOf(3, RawClient.RST_STREAM)).hasSize(4);
      client.send(RawClient.frame(RawClient.DATA, 0, 5, one));
      assertThat(client.frameOf(5, RawClient.DATA)).isNotEmpty();
    }
  }

  /** A client whose stream is reset while its body is under way may lose the answer. */
  @Test
  void http2RefusedRequest_isNotReset_whileItsBodyArrives() throws Exception {
    try (SluiceServer server = server().start();
        Aside.End end = Aside.end(server);
        RawClient client = RawClient.connect(server.address())) {
      client.send(RawClient.http2(1 << 16));
      client.send(RawClient.http2Post(1, "/v1/spend", "http://evil.example"));
      assertThat(client.frame(RawClient.HEADERS)).isNotEmpty();
      TimeUnit.MILLISECONDS.sleep(200);
      client.send(RawClient.http2Get(3, "/healthz"));
      assertThat(client.frameUnless(RawClient.RST_STREAM, RawClient.HEADERS)).isNotEmpty();
    }
  }

  /** Its status would be CANCELLED, and the reason would be lost. */
  @ParameterizedTest
  @CsvSource({"http://evil.example, 10", "http://localhost, 200000"})
  void grpcRefusedRequest_isNotReset_whileItsBodyArrives(String origin, String length)
      throws Exception {
    Limiter limiter = Limiter.of(SampleFixture.limits(), store);
    RlsPart rls = rls(limiter);
    try (SluiceServer server = server().part(rls).start();
        Aside.End end = Aside.end(server);
        RawClient client = RawClient.connect(server.address())) {
      client.send(RawClient.http2(1 << 16));
      client.send(
          RawClient.http2Post(
              1,
              RATE_LIMIT_SERVICE,
              origin,
              "content-type",
              "application/grpc",
              "content-length",
              length));
      assertThat(client.frameUnless(RawClient.RST_STREAM, RawClient.HEADERS)).isNotEmpty();
      TimeUnit.MILLISECONDS.sleep(200);
      client.send(RawClient.http2Get(3, "/healthz"));
      assertThat(client.frameUnless(RawClient.RST_STREAM, RawClient.HEADERS)).isNotEmpty();
    }
  }

  /** It asked for more than passes at once, and ended its side: each answer is owed to it. */
  @ParameterizedTest
  @CsvSource({"/healthz, 200", "/openapi.json, 200", "/healthz, 65"})
  void clientThatEndsItsSide_getsEveryAnswer(String path, int requests) throws Exception {
    String request = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n".formatted(path);
    try (SluiceServer server = server().start();
        Aside.End end = Aside.end(server)) {
      for (int round = 0; round < 10; round++) {
        try (Socket client = new Socket()) {
          client.connect(server.address());
          client.setSoTimeout(60_000);
          CompletableFuture<Void> sent =
              Aside.run(() -> sendAndEnd(client, request.repeat(requests)));
          String answers =
              new String(client.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
          sent.join();
          assertThat(answers.split("HTTP/1.1 200 OK", -1)).hasSize(requests + 1);
        }
      }
    }
  }

  private static void sendAndEnd(Socket client, String text) {
    try {
      client.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
      client.shutdownOutput();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void idleConnectionsOfOthers_makeRoom() throws IOException {
    try (SluiceServer server = server(connections(40, 25)).start();
        Aside.End end = Aside.end(server)) {
      for (int i = 0; i < 200; i++) {
        var unused = hostile(server, i % 2 == 0 ? HOSTILE : HOSTILE_TOO);
      }
      try (RawClient wellBehaved = RawClient.connect(server.address())) {
        assertAnswers(wellBehaved);
        for (int i = 0; i < 100; i++) {
          var unused = hostile(server, i % 2 == 0 ? HOSTILE : HOSTILE_TOO);
        }
        assertAnswers(wellBehaved); // the peer with the most connections gives way
      }
    }
  }

  /** The peer with most connections has no idle one; another one has. */
  @Test
  void idleConnections_makeRoom_besideBusyOnesOfAnother() throws IOException {
    try (SluiceServer server = server(connections(24, 16)).start();
        Aside.End end = Aside.end(server)) {
      for (int i = 0; i < 16; i++) {
        hostile(server, HOSTILE)
            .send("POST /v1/spend HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{");
      }
      for (int i = 0; i < 8; i++) {
        assertAnswers(hostile(server, HOSTILE_TOO));
      }
      for (int i = 0; i < 6; i++) { // each stays, and needs room of its own
        assertAnswers(hostile(server, NEWCOMER));
      }
    }
  }

  @Test
  void peer_hasNoMoreThanItsConnections() throws IOException {
    try (SluiceServer server = server(connections(100, 2)).start();
        Aside.End end = Aside.end(server)) {
      RawClient first = hostile(server, HOSTILE);
      assertAnswers(first);
      RawClient second = hostile(server, HOSTILE);
      for (int i = 0;
          i < 300;
          i++) { // the first one has its answer before the server calls it idle
        assertAnswers(second);
      }
      RawClient third = hostile(server, HOSTILE);
      assertAnswers(third);
      assertThat(first.isHungUpOn()).isTrue();
    }
  }

  @Test
  void headersThatNeverEnd_areCounted() throws IOException {
    try (SluiceServer server = server(MIB).start();
        Aside.End end = Aside.end(server);
        RawClient wellBehaved = RawClient.connect(server.address())) {
      String head = "GET /healthz?" + "x".repeat(15_000) + " HTTP/1.1\r\nX: " + "x".repeat(15_000);
      for (int i = 0; i < 100; i++) {
        RawClient client = hostile(server, i % 2 == 0 ? HOSTILE : HOSTILE_TOO);
        try {
          var unused = client.send(head);
        } catch (IOException e) {
          // closed already
        }
        assertAnswers(wellBehaved);
      }
    }
  }
}
