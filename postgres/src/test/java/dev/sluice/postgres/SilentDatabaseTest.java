// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import static dev.sluice.postgres.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalPostgres;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A database that falls silent, behind a relay, or is cut off. */
@Tag("slow")
final class SilentDatabaseTest {

  private static final long HOUR = TimeUnit.HOURS.toNanos(1);
  private static final Duration TIMEOUT = Duration.ofMillis(300);

  private final List<Object> states = new CopyOnWriteArrayList<>();
  private Relay relay;
  private PostgresStoreBuilder builder;

  @BeforeEach
  void aRelay() throws Exception {
    String url = LocalPostgres.newDatabase();
    PostgresStore.create(PostgresUrl.dataSource(url), Durability.UNLOGGED, null);
    int port = URI.create(url).getPort();
    relay = new Relay(port);
    builder =
        PostgresStore.builder(
                url.replace(":" + port, ":" + relay.port())
                    + "?connectTimeout=1&loginTimeout=1&cancelSignalTimeout=1")
            .timeout(TIMEOUT)
            .probe(Duration.ofMillis(50))
            .denials(Duration.ZERO)
            .observer(
                new BucketStore.Observer() {
                  @Override
                  public void changed(String server, State state, String reason) {
                    states.add(state);
                  }
                });
  }

  @AfterEach
  void stop() throws IOException {
    relay.close();
  }

  private static List<Charge> spend() {
    return List.of(new Charge("1:a", Op.SPEND, HOUR, 1_000 * HOUR, Effect.NO_END));
  }

  @Test
  void silence_endsEachCallByItsTimeOut_marksTheDatabaseDown_untilItAnswers() {
    try (BucketStore store = builder.open()) {
      await().ignoreExceptions().until(() -> store.charge(spend()).size() == 1);
      relay.silent = true;
      // A call that found no connection was not sent, and does not count as a failure.
      await()
          .until(
              () -> {
                long start = System.nanoTime();
                assertThatThrownBy(() -> store.charge(spend())).isInstanceOf(StoreException.class);
                assertThat(Duration.ofNanos(System.nanoTime() - start))
                    .isLessThan(Duration.ofSeconds(30));
                return states.contains(BucketStore.Observer.State.DOWN);
              });
      assertThatThrownBy(() -> store.charge(spend()))
          .hasMessageContaining("is marked down")
          .hasMessageContaining("nothing was charged");
      relay.silent = false;
      await().ignoreExceptions().until(() -> store.charge(spend()).size() == 1);
      // The change may be reported behind the answer that shows it.
      await().until(() -> states.contains(BucketStore.Observer.State.UP));
    }
  }

  @Test
  void connectionsThatAreCut_areMadeAnew() throws IOException {
    try (BucketStore store = builder.open()) {
      await().ignoreExceptions().until(() -> store.charge(spend()).size() == 1);
      relay.cut();
      await().ignoreExceptions().until(() -> store.charge(spend()).size() == 1);
    }
  }

  /** Passes bytes on, unless it is silent. */
  private static final class Relay implements AutoCloseable {
    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final List<Socket> sockets = new ArrayList<>(); // guarded by itself
    private final int to;
    private volatile boolean silent;

    Relay(int to) throws IOException {
      this.to = to;
      start(this::accept);
    }

    int port() {
      return server.getLocalPort();
    }

    private static void start(Runnable task) {
      Thread thread = new Thread(task, "relay");
      thread.setDaemon(true);
      thread.start();
    }

    private void accept() {
      try {
        while (true) {
          Socket client = server.accept();
          Socket database = new Socket(InetAddress.getLoopbackAddress(), to);
          synchronized (sockets) {
            sockets.add(client);
            sockets.add(database);
          }
          start(() -> copy(client, database));
          start(() -> copy(database, client));
        }
      } catch (IOException e) {
        // The relay is closed.
      }
    }

    private void copy(Socket from, Socket into) {
      try (from;
          into) {
        InputStream in = from.getInputStream();
        OutputStream out = into.getOutputStream();
        byte[] bytes = new byte[8_192];
        for (int n = in.read(bytes); n >= 0; n = in.read(bytes)) {
          if (!silent) {
            out.write(bytes, 0, n);
            out.flush();
          }
        }
      } catch (IOException e) {
        // One of the two has closed.
      }
    }

    void cut() {
      synchronized (sockets) {
        for (Socket socket : sockets) {
          try {
            socket.close();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        }
        sockets.clear();
      }
    }

    @Override
    public void close() throws IOException {
      server.close();
      cut();
    }
  }
}
