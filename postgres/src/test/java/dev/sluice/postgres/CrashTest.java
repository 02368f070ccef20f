// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import static dev.sluice.postgres.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.testkit.servers.FreePort;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A PostgreSQL of its own that is killed, and started again, while a store is open. */
@Tag("slow")
final class CrashTest {

  private static final long HOUR = TimeUnit.HOURS.toNanos(1);
  private static final Charge SPEND = new Charge("1:a", Op.SPEND, HOUR, 5 * HOUR, Effect.NO_END);

  @TempDir Path folder;

  private EmbeddedPostgres start(int port) throws IOException {
    return EmbeddedPostgres.builder()
        .setDataDirectory(folder.resolve("data"))
        .setCleanDataDirectory(false)
        .setPGStartupWait(Duration.ofMinutes(1)) // both cores may be busy
        .setPort(port)
        .start();
  }

  private void kill() throws IOException {
    String pid = Files.readAllLines(folder.resolve("data").resolve("postmaster.pid")).get(0);
    ProcessHandle server = ProcessHandle.of(Long.parseLong(pid.strip())).orElseThrow();
    List<ProcessHandle> sessions = server.descendants().toList();
    assertThat(server.destroyForcibly()).isTrue();
    sessions.forEach(ProcessHandle::destroyForcibly);
    await().until(() -> !server.isAlive() && sessions.stream().noneMatch(ProcessHandle::isAlive));
  }

  private static int granted(BucketStore store) {
    int granted = 0;
    for (Reading found = charge(store);
        SPEND.passes(found.nowNanos(), found.tatNanos());
        found = charge(store)) {
      granted++;
    }
    return granted;
  }

  private static Reading charge(BucketStore store) {
    return store.charge(List.of(SPEND)).get(0);
  }

  @ParameterizedTest
  @CsvSource({"UNLOGGED, 5", "SYNC, 2"})
  void database_thatIsKilled_isFoundAgain_andHasLostWhatTheDurabilitySays(
      Durability durability, int left) throws IOException, SQLException {
    int port = FreePort.next();
    EmbeddedPostgres first = start(port);
    DataSource source =
        PostgresUrl.dataSource("postgresql://postgres@127.0.0.1:" + port + "/postgres");
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("ALTER DATABASE postgres SET synchronous_commit = on");
    }
    PostgresStore.create(source, durability, null);
    try (BucketStore store =
        PostgresStore.builder(source)
            .durability(durability)
            .timeout(Duration.ofSeconds(20))
            .probe(Duration.ofMillis(100))
            .denials(Duration.ZERO)
            .open()) {
      for (int i = 0; i < 3; i++) {
        var unused = charge(store);
      }
      kill();
      first.close();
      try (EmbeddedPostgres again = start(port)) {
        assertThat(again.getPort()).isEqualTo(port);
        await().ignoreExceptions().untilAsserted(store::ping);
        assertThat(granted(store)).isEqualTo(left);
      }
    }
  }
}
