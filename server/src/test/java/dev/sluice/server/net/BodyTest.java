// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import static org.assertj.core.api.Assertions.assertThat;

import com.linecorp.armeria.common.ClosedSessionException;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpRequestWriter;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.server.RequestTimeoutException;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Bodies that somebody reads as they arrive. */
final class BodyTest {

  private static final long PATIENCE_SECONDS = 60;

  private final EmbeddedChannel channel = new EmbeddedChannel();
  private final ConnectionBudget traffic =
      new ConnectionBudget(1 << 20, 10, 10, Duration.ofSeconds(20));
  private final Connection connection = traffic.admit(channel, Connection::new);
  private final HttpRequestWriter request =
      HttpRequest.streaming(RequestHeaders.of(HttpMethod.POST, "/"));
  private final ServiceRequestContext context = ServiceRequestContext.of(request);
  private final AtomicReference<byte[]> seen = new AtomicReference<>(new byte[0]);

  @BeforeEach
  void begin() {
    context.setAttr(Exchange.KEY, Objects.requireNonNull(connection.begin(true)));
  }

  @AfterEach
  void close() {
    request.abort();
    var unused = channel.close();
  }

  private CompletableFuture<?> read() throws Exception {
    AtomicReference<CompletableFuture<?>> end = new AtomicReference<>();
    boolean begun =
        inLoop(
            () -> {
              end.set(Requests.readAsItArrives(context, request, (bytes, size) -> seen.set(bytes)));
              return true;
            });
    assertThat(begun).isTrue();
    return end.get();
  }

  private <T> T inLoop(Callable<T> call) throws Exception {
    return context.eventLoop().submit(call).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
  }

  private void send(int bytes) throws Exception {
    request.write(HttpData.wrap(new byte[bytes]));
    request.whenConsumed().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    assertThat(inLoop(() -> true)).isTrue();
  }

  /** Its reader has seen all of it: a copy would be for nobody. */
  @Test
  void end_isToldWithoutACopy() throws Exception {
    CompletableFuture<?> end = read();
    send(100_001);
    request.close();
    assertThat((byte[]) end.get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEmpty();
    assertThat(seen.get()).hasSizeGreaterThan(100_000);
  }

  /** The reader still has what came until then; another array would be beside that one. */
  @Test
  void bodyThatIsTooLate_growsNoMore() throws Exception {
    CompletableFuture<?> end = read();
    send(1000);
    byte[] before = seen.get();
    long held = connection.heldBytes();
    assertThat(inLoop(() -> end.completeExceptionally(RequestTimeoutException.get()))).isTrue();
    send(50_000);
    assertThat(seen.get()).isSameAs(before);
    assertThat(connection.heldBytes()).isEqualTo(held);
  }

  /** Otherwise each client that is cut off would be a fault of the server in its log. */
  @Test
  void networkThatFails_isAClientThatWentAway() throws Exception {
    CompletableFuture<?> end = read();
    send(10);
    request.close(new IOException("Connection reset by peer"));
    assertThat(end)
        .failsWithin(Duration.ofSeconds(PATIENCE_SECONDS))
        .withThrowableThat()
        .withCauseInstanceOf(ClosedSessionException.class);
  }

  @Test
  void bodyThatIsTooLarge_staysCharged() throws Exception {
    CompletableFuture<?> end = read();
    send(SluiceServer.MAX_BODY);
    long held = connection.heldBytes();
    send(1);
    assertThat(end).isCompletedExceptionally();
    assertThat(held).isEqualTo(Exchange.FIXED_BYTES + SluiceServer.MAX_BODY);
    assertThat(connection.heldBytes()).isEqualTo(held);
  }
}
