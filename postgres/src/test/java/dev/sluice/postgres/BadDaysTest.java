// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import static dev.sluice.postgres.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.FreePort;
import dev.sluice.testkit.servers.LocalPostgres;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Faults of the operator and of the database server, on servers of their own. */
@Tag("slow")
final class BadDaysTest {

  private static final long HOUR = TimeUnit.HOURS.toNanos(1);
  private static final Charge SPEND = new Charge("1:a", Op.SPEND, HOUR, 5 * HOUR, Effect.NO_END);

  @TempDir Path folder;
  private EmbeddedPostgres primary;

  @AfterEach
  void stop() throws IOException {
    if (primary != null) {
      primary.close();
    }
  }

  private static EmbeddedPostgres.Builder in(Path data) {
    return EmbeddedPostgres.builder()
        .setDataDirectory(data)
        .setCleanDataDirectory(false)
        .setPort(FreePort.next())
        .setPGStartupWait(Duration.ofMinutes(1)) // both cores may be busy
        .setServerConfig("synchronous_commit", "on");
  }

  private static String url(EmbeddedPostgres server, String user) {
    return "postgresql://%s@127.0.0.1:%s/postgres".formatted(user, server.getPort());
  }

  private DataSource start() throws IOException {
    primary = in(folder.resolve("primary")).start();
    return PostgresUrl.dataSource(url(primary, "postgres"));
  }

  private static void execute(DataSource source, String... statements) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    }
  }

  private static boolean isTrue(DataSource source, String sql) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      return rows.next() && rows.getBoolean(1);
    }
  }

  private static boolean granted(BucketStore store) {
    Reading found = store.charge(List.of(SPEND)).get(0);
    return SPEND.passes(found.nowNanos(), found.tatNanos());
  }

  private static void spendTwice(BucketStore store) {
    assertThat(granted(store)).isTrue();
    assertThat(granted(store)).isTrue();
  }

  private static BucketStore open(PostgresStoreBuilder builder) {
    return builder
        .timeout(Duration.ofSeconds(20))
        .probe(Duration.ofMillis(50))
        .denials(Duration.ZERO)
        .open();
  }

  @Test
  void wrongPassword_failsWithoutShowingIt_untilItIsRight() throws Exception {
    DataSource owner = start();
    PostgresStore.create(owner, Durability.UNLOGGED, null);
    execute(owner, "CREATE ROLE app LOGIN SUPERUSER PASSWORD 'right'");
    Path rules = folder.resolve("primary").resolve("pg_hba.conf");
    Files.writeString(rules, "host all app 127.0.0.1/32 scram-sha-256\n" + Files.readString(rules));
    execute(owner, "SELECT pg_reload_conf()");
    try (BucketStore store = open(PostgresStore.builder(url(primary, "app:hunter2")))) {
      assertThatThrownBy(() -> granted(store))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("password authentication failed for user \"app\"")
          .hasMessageContaining("nothing was charged")
          .hasMessageNotContaining("hunter2");
      execute(owner, "ALTER ROLE app PASSWORD 'hunter2'");
      await().ignoreExceptions().until(() -> granted(store));
    }
  }

  @Test
  void tooManyConnections_fails_untilThereIsRoom() throws Exception {
    DataSource owner = start();
    execute(owner, "CREATE ROLE app LOGIN CONNECTION LIMIT 0");
    PostgresStore.create(owner, Durability.UNLOGGED, "app");
    try (BucketStore store = open(PostgresStore.builder(url(primary, "app")))) {
      assertThatThrownBy(() -> granted(store))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("too many connections for role \"app\"")
          .hasMessageContaining("nothing was charged");
      execute(owner, "ALTER ROLE app CONNECTION LIMIT 1"); // fewer than the store wants
      await().ignoreExceptions().until(() -> granted(store));
    }
  }

  @Test
  void tableOrFunctionThatSomebodyDrops_saysWhatToRun_andWorksAfterIt() throws Exception {
    DataSource owner = start();
    PostgresStore.create(owner, Durability.UNLOGGED, null);
    try (BucketStore store = open(PostgresStore.builder(url(primary, "postgres")))) {
      assertThat(granted(store)).isTrue();
      for (String drop :
          List.of(
              "TABLE sluice_bucket",
              "FUNCTION sluice_spend_v1(boolean, int, bytea, bigint, bigint)")) {
        execute(owner, "DROP " + drop);
        assertThatThrownBy(() -> granted(store))
            .isInstanceOf(StoreException.class)
            .hasMessageContaining("run `sluice store create`")
            .hasMessageContaining("nothing was charged");
        PostgresStore.create(owner, Durability.UNLOGGED, null);
        await().ignoreExceptions().until(() -> granted(store));
      }
    }
  }

  @Test
  void open_withFunctionsOfAnotherVersion_saysWhatToRun() throws Exception {
    DataSource owner = start();
    PostgresStore.create(owner, Durability.UNLOGGED, null);
    execute(owner, "ALTER FUNCTION sluice_charge_v1 RENAME TO sluice_charge_v0");
    assertThatThrownBy(() -> open(PostgresStore.builder(url(primary, "postgres"))))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("without the functions of this version; run `sluice store create`");
  }

  /**
   * The standby has not received the last two of four spends when it takes over, so they are
   * granted again, and no more.
   */
  @Test
  void replica_isRefused_andGrantsAgainWhatItLacked_whenItTakesOver() throws Exception {
    DataSource source = start();
    PostgresStore.create(source, Durability.SYNC, null);
    try (EmbeddedPostgres standby = standby()) {
      DataSource ofStandby = PostgresUrl.dataSource(url(standby, "postgres"));
      assertThatThrownBy(
              () ->
                  open(PostgresStore.builder(url(standby, "postgres")).durability(Durability.SYNC)))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("the database is a read replica");
      String both =
          "postgresql://postgres@127.0.0.1:%s,127.0.0.1:%s/postgres?targetServerType=primary&durability=sync"
              .formatted(primary.getPort(), standby.getPort());
      try (BucketStore store = open(PostgresStore.builder(both))) {
        spendTwice(store);
        String written = position(source);
        await()
            .until(() -> isTrue(ofStandby, "SELECT pg_last_wal_replay_lsn() >= '" + written + "'"));
        execute(ofStandby, "ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()");
        await().until(() -> isTrue(source, "SELECT count(*) = 0 FROM pg_stat_replication"));
        spendTwice(store);
        stopPrimary();
        execute(ofStandby, "SELECT pg_promote()");
        await().ignoreExceptions().until(() -> granted(store));
        spendTwice(store);
        assertThat(granted(store)).as("more than the burst").isFalse();
      }
    }
  }

  /** The server is on a small file system of its own; .ci/run leaves the test out without it. */
  @Test
  @Tag("mounts")
  void diskThatIsFull_failsWhatNeedsRoom_untilThereIsSome() throws Exception {
    Path disk = Files.createDirectory(folder.resolve("disk"));
    assumeThat(run("mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", disk.toString()))
        .as("exit code of mount")
        .isZero();
    try {
      primary = in(disk.resolve("data")).start();
      DataSource owner = PostgresUrl.dataSource(url(primary, "postgres"));
      PostgresStore.create(owner, Durability.SYNC, null);
      try (BucketStore store =
          open(PostgresStore.builder(url(primary, "postgres")).durability(Durability.SYNC))) {
        spendTwice(store);
        Path filler = disk.resolve("filler");
        assertThatThrownBy(() -> fill(filler)).hasMessageContaining("No space left on device");
        assertThatThrownBy(() -> spendNewBuckets(store))
            .isInstanceOf(StoreException.class)
            .hasMessageContaining("could not extend file")
            .hasMessageContaining("nothing was charged");
        Files.delete(filler);
        await().ignoreExceptions().until(() -> granted(store));
        spendTwice(store);
        assertThat(granted(store)).as("more than the burst").isFalse();
      }
    } finally {
      if (primary != null) {
        primary.close();
        primary = null;
      }
      assertThat(run("umount", disk.toString())).isZero();
    }
  }

  private static int run(String... command) throws Exception {
    return new ProcessBuilder(command).inheritIO().start().waitFor();
  }

  private static void fill(Path file) throws IOException {
    byte[] zeros = new byte[4_096];
    try (OutputStream out = Files.newOutputStream(file)) {
      while (true) {
        out.write(zeros);
      }
    }
  }

  private static void spendNewBuckets(BucketStore store) {
    for (int i = 0; i < 10_000; i++) {
      var unused = store.charge(List.of(new Charge("2:" + i, Op.SPEND, HOUR, HOUR, Effect.NO_END)));
    }
  }

  private static String position(DataSource source) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT pg_current_wal_lsn()")) {
      assertThat(rows.next()).isTrue();
      return rows.getString(1);
    }
  }

  /** Waits longer than the library does, which gives up after five seconds and says nothing. */
  private void stopPrimary() throws IOException {
    primary.close();
    Path running = folder.resolve("primary").resolve("postmaster.pid");
    await().until(() -> !Files.exists(running));
  }

  /** Copies the primary while it is stopped, and starts both. */
  private EmbeddedPostgres standby() throws IOException {
    int port = primary.getPort();
    stopPrimary();
    Path from = folder.resolve("primary");
    Path to = folder.resolve("standby");
    LocalPostgres.copyAsStandby(from, to, "127.0.0.1", port);
    primary = in(from).setPort(port).start();
    return in(to).start();
  }
}
