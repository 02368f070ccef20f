// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The valve at the beginning of a connection of HTTP/1.1. */
final class ConnectionTest {

  private static final String GET = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

  private final EmbeddedChannel channel = new EmbeddedChannel();
  private final ConnectionBudget traffic =
      new ConnectionBudget(1 << 20, 10, 10, Duration.ofSeconds(20));

  @BeforeEach
  void open() {
    channel.pipeline().addLast(traffic.admit(channel, Connection::new), new HttpServerCodec());
  }

  @AfterEach
  void close() {
    var unused = channel.finishAndReleaseAll();
  }

  private void ask(int times) {
    channel.writeInbound(Unpooled.copiedBuffer(GET.repeat(times), StandardCharsets.US_ASCII));
  }

  private void answer(HttpResponseStatus status) {
    channel.writeOutbound(new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status));
    channel.runPendingTasks();
  }

  private int requests() {
    int requests = 0;
    for (Object read = channel.readInbound(); read != null; read = channel.readInbound()) {
      requests += read instanceof HttpRequest ? 1 : 0;
    }
    return requests;
  }

  /** None of them has begun: the library may refuse them, and keeps the refusals in their order. */
  @Test
  void requestsBehindAnUnansweredOne_areNotReadWithoutBound() {
    ask(1000);
    assertThat(requests())
        .isBetween(Connection.MAX_PIPELINED, Connection.MAX_PIPELINED + GET.length());
    assertThat(channel.config().isAutoRead()).isFalse();
  }

  @Test
  void requestsThatAreAnswered_makeRoomForOthers() {
    int asked = 1000;
    ask(asked);
    int passed = requests();
    for (int answered = 0; answered < asked; answered++) {
      answer(HttpResponseStatus.OK);
      passed += requests();
    }
    assertThat(passed).isEqualTo(asked);
    assertThat(channel.config().isAutoRead()).isTrue();
  }

  /** The first of a slice is refused; the others of it have been read. */
  @Test
  void refusedRequest_isAnswered_beforeMoreAreRead() {
    Connection connection = Connection.of(channel);
    ask(1);
    assertThat(requests()).isEqualTo(1);
    int begun = 0;
    while (connection.begin(false) != null) {
      begun++;
    }
    assertThat(begun).isPositive(); // and the last one was refused: the budget is exhausted
    ask(1000);
    assertThat(requests()).isZero();
    answer(HttpResponseStatus.SERVICE_UNAVAILABLE);
    assertThat(requests()).isPositive();
  }

  @Test
  void informationalResponse_isNoAnswer() {
    ask(1000);
    int passed = requests();
    answer(HttpResponseStatus.CONTINUE);
    assertThat(passed + requests()).isEqualTo(passed);
  }
}
