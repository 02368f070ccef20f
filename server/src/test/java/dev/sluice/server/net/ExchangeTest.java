// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a request is charged for. */
final class ExchangeTest {

  private static final long BUDGET = 1 << 20;
  private static final int FIXED = Exchange.FIXED_BYTES;
  private static final int BODY = 100_000;
  private static final int STEP = 16 << 10;

  private final EmbeddedChannel channel = new EmbeddedChannel();
  private final ConnectionBudget traffic =
      new ConnectionBudget(BUDGET, 10, 10, Duration.ofSeconds(20));
  private final Connection connection = traffic.admit(channel, Connection::new);
  private final Exchange exchange = Objects.requireNonNull(connection.begin(true));

  @AfterEach
  void close() {
    var unused = channel.close();
  }

  @Test
  void bodyThatIsDropped_isGivenBack() {
    assertThat(exchange.grows(BODY, true)).isTrue();
    exchange.shrinks(BODY);
    assertThat(connection.heldBytes()).isEqualTo(FIXED);
  }

  /** Its lines are kept until they are answered, although nothing more of it is read. */
  @Test
  void bodyThatIsReadAsItArrives_isChargedUntilTheEnd() {
    exchange.readsAsItArrives();
    assertThat(exchange.grows(BODY, true)).isTrue();
    exchange.shrinks(BODY);
    assertThat(connection.heldBytes()).isEqualTo(FIXED + BODY);
    exchange.ended();
    assertThat(connection.heldBytes()).isZero();
  }

  @Test
  void answersOfAStream_areCharged_untilTheyAreRead() {
    exchange.readsAsItArrives();
    assertThat(exchange.hold(ConnectionBudget.LARGE)).isTrue();
    assertThat(connection.heldBytes()).isEqualTo(FIXED);
    assertThat(exchange.hold(2 * STEP)).isTrue();
    assertThat(connection.heldBytes()).isEqualTo(FIXED + 3 * STEP);
    exchange.drop(2 * STEP);
    assertThat(connection.heldBytes()).isEqualTo(FIXED);
  }

  @Test
  void answersWithoutRoom_areNotCharged() {
    assertThat(exchange.hold(BUDGET)).isFalse();
    assertThat(connection.heldBytes()).isEqualTo(FIXED);
    assertThat(exchange.hold(STEP)).isTrue();
  }

  /** The next answer is charged for both. */
  @Test
  void answerThatIsLongerThanExpected_isChargedWithTheNextOne() {
    exchange.drop(-2 * STEP);
    assertThat(exchange.hold(1)).isTrue();
    assertThat(connection.heldBytes()).isEqualTo(FIXED + 3 * STEP);
  }

  @Test
  void exchangeThatEnded_givesNothingBackTwice() {
    assertThat(exchange.hold(STEP)).isTrue();
    exchange.ended();
    exchange.drop(STEP);
    exchange.shrinks(STEP);
    assertThat(connection.heldBytes()).isZero();
    assertThat(exchange.hold(STEP)).isFalse();
  }
}
