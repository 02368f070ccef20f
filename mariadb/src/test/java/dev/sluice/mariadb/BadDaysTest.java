// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalMariaDb;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Faults of the operator, of other users and of the server, on a real MariaDB. */
@Tag("slow")
final class BadDaysTest {

  private static final long HOUR = TimeUnit.HOURS.toNanos(1);
  private static final int BURST = 40;
  private static final int MOST_CONNECTIONS = 10;
  private static final Charge SPEND =
      new Charge("1:a", Op.SPEND, HOUR, BURST * HOUR, Effect.NO_END);

  private final List<Connection> others = new ArrayList<>();
  private TestDatabase database;
  private int granted;
  private int unknown; // failed calls that can have been charged

  /** A fault: how it begins, what a call then reports, and how it ends. */
  private record BadDay(String name, Event begin, String message, Event end) {
    @Override
    public String toString() {
      return name;
    }
  }

  private interface Event {
    void run(BadDaysTest test) throws SQLException;
  }

  private static BadDay sql(String name, String begin, String message, String end) {
    return new BadDay(
        name,
        test -> test.database.execute(begin, "KILL USER app"),
        message,
        test -> test.database.execute(end));
  }

  static Stream<BadDay> days() {
    return Stream.of(
        new BadDay(
            "the server is killed",
            test -> LocalMariaDb.kill(),
            "Connection refused",
            test -> LocalMariaDb.restart()),
        new BadDay(
            "the server is frozen",
            test -> LocalMariaDb.freeze(),
            "timed out on",
            test -> LocalMariaDb.thaw()),
        new BadDay(
            "others have all connections",
            BadDaysTest::takeAllConnections,
            "Too many connections",
            test -> {
              test.closeOthers();
              test.database.execute("SET GLOBAL max_connections = DEFAULT");
            }),
        new BadDay(
            "the user has too many connections",
            test -> {
              var unused = test.connect("app");
              test.database.execute("ALTER USER app WITH MAX_USER_CONNECTIONS 1");
              test.killSessionsOfTheStore();
            },
            "max_user_connections",
            test -> test.database.execute("ALTER USER app WITH MAX_USER_CONNECTIONS 2")),
        sql(
            "the password is wrong",
            "ALTER USER app IDENTIFIED BY 'hunter3'",
            "Access denied for user 'app'",
            "ALTER USER app IDENTIFIED BY 'hunter2'"),
        sql(
            "the table is missing",
            "RENAME TABLE sluice_bucket TO elsewhere",
            "sluice_bucket' doesn't exist; run `sluice store create`",
            "RENAME TABLE elsewhere TO sluice_bucket"),
        new BadDay(
            "a procedure is missing",
            test -> test.database.execute("DROP PROCEDURE sluice_charge_v1"),
            "run `sluice store create`",
            test -> MariaDbStore.create(test.database.source(), "app")),
        sql(
            "the user has no right",
            "REVOKE EXECUTE ON PROCEDURE sluice_charge_v1 FROM app",
            "run `sluice store create`",
            "GRANT EXECUTE ON PROCEDURE sluice_charge_v1 TO app"),
        sql(
            "the server becomes a replica and ends its sessions",
            "SET GLOBAL read_only = ON",
            "read-only",
            "SET GLOBAL read_only = OFF"),
        new BadDay(
            "the server becomes a replica",
            test -> test.database.execute("SET GLOBAL read_only = ON"),
            "read-only",
            test -> test.database.execute("SET GLOBAL read_only = OFF")),
        new BadDay(
            "the server begins to replicate another server, and ends its sessions",
            test ->
                test.database.execute(
                    "CHANGE MASTER TO master_host = '127.0.0.1', master_port = 1",
                    "START SLAVE SQL_THREAD",
                    "KILL USER app"),
            "the server replicates another server",
            test -> test.database.execute("STOP SLAVE", "RESET SLAVE ALL")),
        new BadDay(
            "an idle transaction has locked the row",
            test -> test.execute(test.connect("root"), "BEGIN", "DELETE FROM sluice_bucket"),
            "another transaction has locked a bucket of the call",
            BadDaysTest::closeOthers),
        new BadDay(
            "an idle session has locked the table",
            test -> test.execute(test.connect("root"), "LOCK TABLES sluice_bucket WRITE"),
            "another transaction has locked a bucket of the call",
            BadDaysTest::closeOthers));
  }

  @BeforeEach
  void aDatabaseWhoseSpendsSurviveACrash() throws SQLException {
    database = new TestDatabase();
    database.execute(
        "SET GLOBAL innodb_flush_log_at_trx_commit = 1",
        "CREATE OR REPLACE USER app IDENTIFIED BY 'hunter2' WITH MAX_USER_CONNECTIONS 9");
    MariaDbStore.create(database.source(), "app");
  }

  @AfterEach
  void closeOthers() throws SQLException {
    for (Connection other : others) {
      other.close();
    }
    others.clear();
  }

  private String url() {
    return "mariadb://app:hunter2@127.0.0.1:" + LocalMariaDb.port() + "/" + database.name();
  }

  private static BucketStore open(String url) {
    return open(url, Duration.ofSeconds(8));
  }

  private static BucketStore open(String url, Duration timeout) {
    return MariaDbStore.builder(url, null)
        .timeout(timeout)
        .probe(Duration.ofMillis(50))
        .denials(Duration.ZERO)
        .open();
  }

  private static ConditionFactory await() {
    return Awaitility.await().atMost(Duration.ofMinutes(1)).pollInterval(Duration.ofMillis(50));
  }

  /** Returns whether a spend is granted, and keeps the accounts. */
  private boolean spend(BucketStore store) {
    try {
      Reading found = store.charge(List.of(SPEND)).get(0);
      boolean passes = SPEND.passes(found.nowNanos(), found.tatNanos());
      granted += passes ? 1 : 0;
      return passes;
    } catch (StoreException e) {
      unknown += e.chargedNothing() ? 0 : 1;
      throw e;
    }
  }

  /** Waits until the store grants again, then takes all tokens that are left. */
  private void assertNothingIsChargedTwice(BucketStore store) {
    await().ignoreExceptions().until(() -> spend(store));
    while (spend(store)) {
      assertThat(granted).isLessThanOrEqualTo(BURST);
    }
    assertThat(granted).isBetween(BURST - unknown, BURST);
  }

  private Connection connect(String user) throws SQLException {
    String password = user.equals("app") ? "hunter2" : "";
    Connection other =
        DriverManager.getConnection(
            "jdbc:mariadb://127.0.0.1:%s/%s".formatted(LocalMariaDb.port(), database.name()),
            user,
            password);
    others.add(other);
    return other;
  }

  private void execute(Connection connection, String... statements) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    }
  }

  /** Ends the sessions of the store, not those of {@link #connect}. */
  private void killSessionsOfTheStore() throws SQLException {
    try (Statement statement = others.get(0).createStatement();
        var own = statement.executeQuery("SELECT CONNECTION_ID()")) {
      assertThat(own.next()).isTrue();
      long kept = own.getLong(1);
      for (long id = session(kept); id > 0; id = session(kept)) {
        database.execute("KILL " + id);
      }
    }
  }

  private long session(long kept) throws SQLException {
    return database.number(
        "SELECT MAX(id) FROM information_schema.processlist WHERE user = 'app' AND command <> 'Killed'"
            + " AND id <> "
            + kept);
  }

  /** Root can connect even then. */
  private void takeAllConnections() throws SQLException {
    database.execute(
        "SET GLOBAL max_connections = " + MOST_CONNECTIONS,
        "CREATE OR REPLACE USER crowd",
        "GRANT SELECT ON %s.* TO crowd".formatted(database.name()));
    do {
      database.execute("KILL USER app");
      try {
        while (true) {
          var unused = connect("crowd");
        }
      } catch (SQLException e) {
        assertThat(e.getMessage()).contains("Too many connections");
      }
      // A session that was killed keeps its place until it has ended.
    } while (database.number(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'crowd'")
        < MOST_CONNECTIONS);
  }

  @ParameterizedTest
  @MethodSource("days")
  void fault_failsCalls_untilItEnds_andNothingIsChargedTwice(BadDay day) throws SQLException {
    try (BucketStore store = open(url())) {
      assertThat(spend(store)).isTrue();
      assertThat(spend(store)).isTrue();
      day.begin.run(this);
      try {
        await()
            .untilAsserted(
                () ->
                    assertThatThrownBy(() -> spend(store))
                        .isInstanceOf(StoreException.class)
                        .hasMessageContaining(day.message)
                        .hasMessageNotContaining("hunter"));
      } finally {
        day.end.run(this);
      }
      assertNothingIsChargedTwice(store);
    }
  }

  @Test
  void open_beforeTheServerStarts_decidesWhenItHasStarted() throws SQLException {
    LocalMariaDb.kill();
    try (BucketStore store = open(url())) {
      assertThatThrownBy(() -> spend(store))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("nothing was charged");
      LocalMariaDb.restart();
      await().ignoreExceptions().until(() -> spend(store));
    }
  }

  @Test
  void open_withProceduresOfAnotherVersion_saysWhatToRun() throws SQLException {
    database.execute(
        "CREATE PROCEDURE sluice_charge_v0(IN buckets LONGBLOB, IN charges LONGBLOB) SELECT 1",
        "DROP PROCEDURE sluice_charge_v1");
    assertThatThrownBy(() -> open(url()))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining(
            "procedures of this version: sluice_charge_v1; run `sluice store create`");
  }

  /** MariaDB reports the version that it is told to report. */
  @Test
  void serverThatReportsTheVersionOfMySql_isRefused() {
    LocalMariaDb.kill();
    LocalMariaDb.restart("--version=8.0.36");
    try {
      String message = "found a server of version 8.0.36, expected MariaDB";
      assertThatThrownBy(() -> MariaDbStore.create(database.source(), null))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining(message);
      assertThatThrownBy(() -> open(url()))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining(message);
    } finally {
      LocalMariaDb.kill();
      LocalMariaDb.restart();
    }
  }

  /** The table is on a small file system of its own; .ci/run leaves the test out without it. */
  @Test
  @Tag("mounts")
  void diskThatIsFull_failsNewBuckets_untilThereIsRoom(@TempDir Path folder) throws Exception {
    database.execute("DROP TABLE sluice_bucket");
    String disk = folder.toString();
    assumeThat(run("mount", "-t", "tmpfs", "-o", "size=2m,mode=777", "tmpfs", disk)).isZero();
    try {
      database.execute(
          "CREATE TABLE sluice_bucket (bucket VARBINARY(3072) NOT NULL PRIMARY KEY, tat BIGINT NOT NULL)"
              + " ENGINE = InnoDB DATA DIRECTORY = '"
              + disk
              + "'");
      // A batch of 100 kB can take seconds on a busy machine.
      try (BucketStore store = open(url(), Duration.ofMinutes(1))) {
        assertThat(spend(store)).isTrue();
        assertThatThrownBy(() -> spendNewBuckets(store))
            .isInstanceOf(StoreException.class)
            .hasMessageContaining("The table 'sluice_bucket' is full")
            .hasMessageContaining("nothing was charged");
        assertThat(run("mount", "-o", "remount,size=20m", disk)).isZero();
        assertNothingIsChargedTwice(store);
        spendNewBuckets(store);
      }
    } finally {
      database.execute("DROP TABLE IF EXISTS sluice_bucket");
      assertThat(run("umount", disk)).isZero();
    }
  }

  private static int run(String... command) throws Exception {
    return new ProcessBuilder(command).inheritIO().start().waitFor();
  }

  private static void spendNewBuckets(BucketStore store) {
    for (int first = 0; first < 1_500; first += 50) {
      List<Charge> batch = new ArrayList<>();
      for (int i = first; i < first + 50; i++) {
        batch.add(new Charge("x".repeat(2_000) + i, Op.SPEND, HOUR, BURST * HOUR, Effect.NO_END));
      }
      var unused = store.charge(batch);
    }
  }
}
