// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.sluice.Limiter;
import dev.sluice.server.TestParts;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.HostPort.AddressException;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.store.BucketStore;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that take their time, and ports that are taken. */
@Tag("slow")
final class HttpBoundsTest {

  private static final Duration SHORT = Duration.ofMillis(300);
  private static final Duration LONGER = Duration.ofSeconds(3);
  private static final Duration UNTIL_THE_END = Duration.ofMillis(2500);
  private static final int PATIENCE_MILLIS = 60_000;
  private static final String JSON = "Content-Type: application/json";

  /** Stands for the ETag of the limits. */
  private static final String TAG = "TAG";

  private static BucketStore store;
  private static TestServer server;
  private static TestServer lateBodies;

  @BeforeAll
  static void start() {
    store = BucketStore.inMemory();
    server = new TestServer(SampleFixture.limits(), store, SHORT, SHORT);
    lateBodies = new TestServer(SampleFixture.limits(), store, LONGER, SHORT);
  }

  @AfterAll
  static void stop() {
    server.close();
    lateBodies.close();
    store.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "GET /hea", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"})
  void client_thatNeverFinishes_isHungUpOn(String beginning) throws IOException {
    try (Socket client = connected(server.address())) {
      try {
        client.getOutputStream().write(beginning.getBytes(StandardCharsets.US_ASCII));
      } catch (SocketException e) {
        // It was too slow for the server already.
      }
      assertThat(isHungUpOn(client)).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"POST /v1/spend", "PUT /v1/spend", "GET /healthz"})
  void client_thatNeverFinishesItsBody_isToldSo_andHungUpOn(String line) throws IOException {
    String beginning =
        line
            + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: 100\r\n\r\n{";
    try (Socket client = connected(lateBodies.address())) {
      client.getOutputStream().write(beginning.getBytes(StandardCharsets.US_ASCII));
      String last = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(last).startsWith("HTTP/1.1 408");
    }
  }

  /** Many old clients know the end of an answer by the end of the connection alone. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
      })
  void connection_ofOneRequest_endsSoonAfterTheAnswer(String request) throws IOException {
    try (TestServer patient = new TestServer(SampleFixture.limits(), store)) {
      Duration best = fromAnswerToEnd(patient, request);
      // A slow machine has slow moments.
      for (int i = 0; i < 2 && best.compareTo(UNTIL_THE_END) >= 0; i++) {
        best = fromAnswerToEnd(patient, request);
      }
      assertThat(best).isLessThan(UNTIL_THE_END);
    }
  }

  private static Duration fromAnswerToEnd(TestServer server, String request) throws IOException {
    try (Socket client = connected(server.address())) {
      client.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      assertThat(client.getInputStream().read()).isEqualTo('H');
      long answered = System.nanoTime();
      String rest = new String(client.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      assertThat(rest).startsWith("TTP/1.1 200 ");
      return Duration.ofNanos(System.nanoTime() - answered);
    }
  }

  /** The connection lingers: one that is closed with unread bytes is reset, with the answer. */
  @Test
  void client_thatReadsOnlyAfterItsWholeBody_seesWhyItIsRefused() throws IOException {
    int length = 4 * SluiceServer.MAX_BODY;
    String head =
        "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Connection: close\r\nContent-Length: %s\r\n\r\n".formatted(length);
    try (TestServer patient = new TestServer(SampleFixture.limits(), store);
        Socket client = connected(patient.address())) {
      client.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      client.getOutputStream().write(new byte[length]);
      String answer = new String(client.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      assertThat(answer).startsWith("HTTP/1.1 413 ");
    }
  }

  static Stream<Arguments> requestsOfEachKind() {
    String check = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}";
    String line = check.replace("{", "{\"op\":\"check\",");
    String length = "Content-Length: ";
    String chunk = Integer.toHexString(check.length()) + "\r\n" + check + "\r\n0\r\n\r\n";
    return Stream.of(
        arguments(200, request("GET /healthz", "")),
        arguments(200, request("HEAD /healthz", "")),
        arguments(304, request("GET /v1/limits", "", "If-None-Match: " + TAG)),
        arguments(404, request("GET /nowhere", "")),
        arguments(405, request("DELETE /healthz", "")),
        arguments(421, request("GET /healthz", "").replace("localhost", "evil.example")),
        arguments(400, request("POST /v1/check", "{", JSON, length + 1)),
        arguments(
            200,
            request(
                "POST /v1/check", check, JSON, length + check.length(), "Expect: 100-continue")),
        arguments(200, request("POST /v1/check", chunk, JSON, "Transfer-Encoding: chunked")),
        arguments(
            200,
            request(
                "POST /v1/decisions",
                line,
                "Content-Type: application/x-ndjson",
                length + line.length())));
  }

  private static String request(String target, String body, String... headers) {
    String more = Stream.of(headers).map(header -> header + "\r\n").collect(Collectors.joining());
    return target + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n" + body;
  }

  /** More than may be unanswered at a time: each answer must make room, whatever its kind. */
  @ParameterizedTest
  @MethodSource("requestsOfEachKind")
  void requests_ofEachKind_areAllAnswered(int status, String request) throws IOException {
    int times = 200;
    try (TestServer patient = new TestServer(SampleFixture.limits(), store);
        RawClient asking = RawClient.connect(patient.address());
        Socket client = connected(patient.address())) {
      String limits = asking.send(request("GET /v1/limits", "")).answer();
      String tag = limits.replaceAll("(?s).*etag: (\\S+).*", "$1");
      String last = request("GET /healthz", "", "Connection: close");
      String all = request.replace(TAG, tag).repeat(times) + last;
      client.getOutputStream().write(all.getBytes(StandardCharsets.US_ASCII));
      String answers = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(
              Pattern.compile("HTTP/1\\.1 (?!100)(\\d+)")
                  .matcher(answers)
                  .results()
                  .map(m -> m.group(1)))
          .hasSize(times + 1)
          .startsWith(String.valueOf(status))
          .endsWith("200");
    }
  }

  /** As a client writes that does not wait for answers, and as a slow network delivers it. */
  @ParameterizedTest
  @ValueSource(ints = {1, 7, Integer.MAX_VALUE})
  void requests_inOneWrite_orInPieces_areAnsweredInTheirOrder(int pieceBytes) throws IOException {
    StringBuilder requests = new StringBuilder();
    for (int i = 0; i < 20; i++) {
      String body = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"" + pieceBytes + "-" + i + "\"}";
      requests
          .append(
              "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
          .append("Content-Length: " + body.length() + "\r\n\r\n" + body);
    }
    byte[] bytes = requests.toString().getBytes(StandardCharsets.US_ASCII);
    try (TestServer patient = new TestServer(SampleFixture.limits(), store);
        Socket client = connected(patient.address())) {
      client.setTcpNoDelay(true);
      for (int at = 0; at < bytes.length; at += Math.min(pieceBytes, bytes.length - at)) {
        client.getOutputStream().write(bytes, at, Math.min(pieceBytes, bytes.length - at));
      }
      client.shutdownOutput();
      String answers = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      List<String> ids =
          Pattern.compile("\"id\":\"([^\"]*)\"")
              .matcher(answers)
              .results()
              .map(m -> m.group(1))
              .toList();
      assertThat(ids)
          .as(answers)
          .isEqualTo(IntStream.range(0, 20).mapToObj(i -> pieceBytes + "-" + i).toList());
    }
  }

  @Test
  void connection_overTheBound_takesThePlaceOfAnIdleOne_andOfNoOther() throws IOException {
    Limiter limiter = Limiter.of(SampleFixture.limits(), store);
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    ConnectionBudget two = new ConnectionBudget(64 << 20, 2, 2, Duration.ofSeconds(20));
    try (SluiceServer small =
            SluiceServer.builder(any, two).part(TestParts.http(limiter, store)).start();
        Socket busy = connected(small.address());
        Socket idle = connected(small.address())) {
      begin(busy);
      awaitContinue(busy);
      await().until(() -> two.connections() == 2); // without the idle one, the third would fit
      try (Socket third = connected(small.address())) {
        begin(third);
        awaitContinue(third);
        assertThat(isHungUpOn(idle)).isTrue();
        try (Socket fourth = connected(small.address())) {
          assertThat(isAnswered(fourth)).isFalse(); // both others are busy
        }
        finish(busy);
      }
      await()
          .untilAsserted(
              () -> {
                try (Socket fifth = connected(small.address())) {
                  assertThat(isAnswered(fifth)).isTrue();
                }
              });
    }
  }

  /** Sends all of a request but its last byte. */
  private static void begin(Socket client) throws IOException {
    client
        .getOutputStream()
        .write(
            String.join(
                    "\r\n",
                    "POST /v1/check HTTP/1.1",
                    "Host: localhost",
                    "Content-Type: application/json",
                    "Content-Length: 2",
                    "Expect: 100-continue", // whose answer says that the headers were read
                    "",
                    "{")
                .getBytes(StandardCharsets.US_ASCII));
  }

  private static boolean isHungUpOn(Socket client) {
    try {
      var unused = client.getInputStream().readAllBytes(); // up to the end of the stream
      return true;
    } catch (SocketTimeoutException e) {
      return false;
    } catch (IOException e) {
      return true; // reset
    }
  }

  private static void awaitContinue(Socket client) throws IOException {
    byte[] expected = "HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    assertThat(client.getInputStream().readNBytes(expected.length)).isEqualTo(expected);
  }

  private static void finish(Socket client) throws IOException {
    client.getOutputStream().write('}');
    assertThat(client.getInputStream().read()).isEqualTo('H');
  }

  private static Socket connected(InetSocketAddress address) throws IOException {
    Socket socket = new Socket(address.getAddress(), address.getPort());
    socket.setSoTimeout(PATIENCE_MILLIS);
    return socket;
  }

  private static boolean isAnswered(Socket client) throws IOException {
    try {
      client
          .getOutputStream()
          .write(
              "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
                  .getBytes(StandardCharsets.US_ASCII));
      return client.getInputStream().read() == 'H';
    } catch (SocketException e) {
      return false; // closed while it was written to
    }
  }

  @Test
  void port_thatIsTaken_isRefusedInPlainWords() {
    Limiter limiter = Limiter.of(SampleFixture.limits(), store);
    SluiceServer.Builder second =
        SluiceServer.builder(server.address(), ConnectionBudget.usual())
            .part(TestParts.http(limiter, store));
    assertThatThrownBy(second::start)
        .isInstanceOf(AddressException.class)
        .hasMessageContaining("can't listen on 127.0.0.1:" + server.address().getPort())
        .hasMessageContaining("in use")
        .hasMessageContaining("another process has the port");
  }
}
