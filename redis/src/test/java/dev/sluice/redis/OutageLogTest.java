// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.StoreUri.Host;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What a long outage writes to the log, by a clock of the test's own: a server that answers PING
 * and no server was marked down and up again for as long as it lasted once, with two lines each
 * time.
 */
final class OutageLogTest {

  private static final long BETWEEN_CALLS = Duration.ofMillis(10).toNanos();
  private static final int CALLS_AN_HOUR = 360_000;

  private final ManualTiming timing = new ManualTiming();
  private final OddServer server = new OddServer();
  private final List<String> lines = new ArrayList<>();
  private final Logger log = Logger.getLogger("dev.sluice.redis");
  private final Handler kept =
      new Handler() {
        @Override
        public void publish(LogRecord line) {
          String text = new SimpleFormatter().formatMessage(line);
          if (text.contains("there:6379")) { // and no store of another test
            lines.add(text);
          }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @BeforeEach
  void listen() {
    log.addHandler(kept);
  }

  @AfterEach
  void stop() {
    log.removeHandler(kept);
  }

  @Test
  void hourOfRefusedCalls_isOneLine() {
    try (RedisStore store = RedisStore.builder("redis://there").open(timing, server, () -> {})) {
      int failed = 0;
      for (int i = 0; i < CALLS_AN_HOUR; i++) {
        CompletableFuture<?> call = store.chargeAsync(Charges.spend("1:a")).toCompletableFuture();
        timing.pass(BETWEEN_CALLS);
        failed += call.isCompletedExceptionally() ? 1 : 0;
      }
      assertThat(failed).isGreaterThan(CALLS_AN_HOUR - 1_000);
      assertThat(server.asked).as("probes").isGreaterThan(1_000);
      assertThat(lines)
          .containsExactly("marked there:6379 down after 5 failures in a row: timed out");
      server.answers = true;
      timing.pass(Duration.ofSeconds(5).toNanos());
      assertThat(lines).hasSize(2).contains("there:6379 answers again, and is called again");
    }
  }

  /** Answers PING, and calls only when it is told to. */
  private static final class OddServer extends UnusedConnector implements Connection {
    private int asked;
    private boolean answers;

    @Override
    public CompletionStage<? extends Connection> connect(Host host) {
      return CompletableFuture.completedFuture(this);
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public Exchange exchange(boolean whole, byte[][] keys, byte[] argument) {
      asked++;
      CompletableFuture<List<Object>> answer = new CompletableFuture<>();
      return new Exchange() {
        @Override
        public void send() {
          if (answers) {
            answer.complete(List.of());
          }
        }

        @Override
        public CompletionStage<List<Object>> answer() {
          return answer;
        }

        @Override
        public boolean wasSent() {
          return true;
        }

        @Override
        public void cancel() {
          answer.cancel(false);
        }
      };
    }

    @Override
    public CompletionStage<String> ping() {
      return CompletableFuture.completedFuture("PONG");
    }

    @Override
    public CompletionStage<Void> closeAsync() {
      return CompletableFuture.completedFuture(null);
    }
  }
}
