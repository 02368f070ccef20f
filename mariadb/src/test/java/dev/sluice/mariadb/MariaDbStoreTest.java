// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.remote.SystemTiming;
import dev.sluice.remote.Timing;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Presence;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mariadb.jdbc.MariaDbDataSource;

/** A store on a real MariaDB: its connections, its bad days, its rights. */
@Tag("slow")
final class MariaDbStoreTest {

  private static final long HOUR = TimeUnit.HOURS.toNanos(1);
  private static final Duration PATIENT = Duration.ofSeconds(20);

  private static final String NOW =
      "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) * 1000";

  private TestDatabase database;

  @BeforeEach
  void aDatabase() throws SQLException {
    database = new TestDatabase();
  }

  private static Charge spend(String key, int burst) {
    return new Charge(key, Op.SPEND, HOUR, burst * HOUR, Effect.NO_END);
  }

  private static Charge check(String key, int burst) {
    return new Charge(key, Op.CHECK, HOUR, burst * HOUR, Effect.NO_END);
  }

  private static boolean granted(BucketStore store, Charge charge) {
    Reading found = store.charge(List.of(charge)).get(0);
    return charge.passes(found.nowNanos(), found.tatNanos());
  }

  private MariaDbStoreBuilder builder() throws SQLException {
    return MariaDbStore.builder(database.source()).timeout(PATIENT);
  }

  private static void await(org.awaitility.core.ThrowingRunnable event) {
    Awaitility.await().atMost(Duration.ofMinutes(1)).ignoreExceptions().untilAsserted(event);
  }

  private void awaitLockWait() {
    String waiting =
        "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
    await(() -> assertThat(database.number(waiting)).isEqualTo(1));
  }

  @Test
  void open_withoutTheProcedures_saysWhatToRun() throws SQLException {
    database.execute("DROP PROCEDURE sluice_charge_v1");
    assertThatThrownBy(() -> builder().open())
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("the user root@")
        .hasMessageContaining(
            " cannot call the procedures of this version: sluice_charge_v1; run `sluice store create`"
                + " with --role root@")
        .hasMessageContaining("MariaDbStore.create");
  }

  @Test
  void open_withTransactionsThatAreReadOnly_isRefused() throws SQLException {
    DataSource source = database.source("root&sessionVariables=tx_read_only=1");
    assertThatThrownBy(() -> MariaDbStore.builder(source).timeout(PATIENT).open())
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("the transactions of the connections are read-only");
  }

  /** MariaDB 12 has a text where older versions have a number. */
  @ParameterizedTest
  @ValueSource(strings = {"1", "'ON'", "'NO_LOCK'", "'NO_LOCK_NO_ADMIN'"})
  void replicaOfAnyVersion_isRefused_andNotWrittenTo(String readOnly) throws SQLException {
    createWith(readOnly);
    try (Connection connection = database.source().getConnection();
        Statement statement = connection.createStatement()) {
      for (String call :
          List.of("CALL sluice_charge_v1('', '')", "CALL sluice_announce_v1('a', 'b', 1000)")) {
        assertThatThrownBy(() -> statement.execute(call))
            .isInstanceOf(SQLException.class)
            .hasMessageContaining("read-only, like a replica");
      }
      statement.execute("INSERT INTO sluice_bucket VALUES ('full', -9223372036854775808)");
      statement.execute("CALL sluice_clean_v2('', 10)");
      assertThat(isReadOnly(readOnly, statement)).isTrue();
    }
    assertThat(database.number("SELECT COUNT(*) FROM sluice_bucket")).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "'OFF'"})
  void primaryOfAnyVersion_isWrittenTo(String readOnly) throws SQLException {
    createWith(readOnly);
    try (BucketStore store = builder().open();
        Connection connection = database.source().getConnection();
        Statement statement = connection.createStatement()) {
      assertThat(granted(store, spend("1:a", 1))).isTrue();
      statement.execute("CALL sluice_announce_v1('a', 'b', 1000)");
      statement.execute("INSERT INTO sluice_bucket VALUES ('full', -9223372036854775808)");
      statement.execute("CALL sluice_clean_v2('', 10)");
      assertThat(isReadOnly(readOnly, statement)).isFalse();
    }
    assertThat(database.number("SELECT COUNT(*) FROM sluice_bucket")).isEqualTo(1);
  }

  private static final String READ_ONLY = "@@global.read_only";

  /** Creates the procedures of a server whose read_only has the given value. */
  private void createWith(String readOnly) throws SQLException {
    for (String sql : MariaDbDialect.statements(null)) {
      database.execute(sql.replace(READ_ONLY, readOnly));
    }
  }

  private static boolean isReadOnly(String readOnly, Statement statement) throws SQLException {
    try (ResultSet rows =
        statement.executeQuery(MariaDbDialect.LOOK.formatted("").replace(READ_ONLY, readOnly))) {
      assertThat(rows.next()).isTrue();
      return rows.getBoolean(2);
    }
  }

  @Test
  void open_ofADatabaseThatIsAway_succeeds_andChargesFail() throws SQLException {
    MariaDbDataSource away = new MariaDbDataSource("jdbc:mariadb://127.0.0.1:1/none");
    try (BucketStore store = MariaDbStore.builder(away).open()) {
      assertThatThrownBy(() -> granted(store, spend("1:a", 1)))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("nothing was charged");
    }
  }

  @Test
  void procedureThatSomebodyDrops_saysWhatToRun_andWorksAfterIt() throws SQLException {
    try (BucketStore store = builder().open()) {
      assertThat(granted(store, spend("1:a", 9))).isTrue();
      database.execute("DROP PROCEDURE sluice_charge_v1");
      assertThatThrownBy(() -> granted(store, spend("1:a", 9)))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("MariaDbStore.create")
          .hasMessageContaining("nothing was charged");
      MariaDbStore.create(database.source(), null);
      await(() -> assertThat(granted(store, spend("1:a", 9))).isTrue());
    }
  }

  @Test
  void rowThatIsLocked_failsOnlyTheCallersOfItsKey() throws SQLException {
    try (BucketStore store = builder().timeout(Duration.ofSeconds(12)).connections(1).open();
        Connection other = database.source().getConnection();
        Statement statement = other.createStatement()) {
      var unused = store.charge(List.of(spend("1:hot", 9)));
      other.setAutoCommit(false);
      statement.execute("SELECT * FROM sluice_bucket WHERE bucket = '1:hot' FOR UPDATE");
      CompletableFuture<List<Reading>> first =
          store.chargeAsync(List.of(spend("1:other", 9))).toCompletableFuture();
      CompletableFuture<List<Reading>> hot =
          store.chargeAsync(List.of(spend("1:hot", 9))).toCompletableFuture();
      CompletableFuture<List<Reading>> cold =
          store.chargeAsync(List.of(spend("1:cold", 9))).toCompletableFuture();
      assertThat(first.join()).hasSize(1);
      assertThat(cold.join()).hasSize(1);
      assertThatThrownBy(hot::join)
          .hasCauseInstanceOf(StoreException.class)
          .hasMessageContaining("another transaction has locked a bucket of the call")
          .hasMessageContaining("nothing was charged");
      other.rollback();
      await(() -> assertThat(granted(store, spend("1:hot", 9))).isTrue());
      assertThat(IntStream.range(0, 9).filter(i -> granted(store, spend("1:hot", 9))).count())
          .as("what was left")
          .isEqualTo(7);
    }
  }

  /** The other user locks b, then a, while the call has locked a and waits for b. */
  @Test
  void deadlockWithAnotherUserOfTheTable_isTriedAgain() throws Exception {
    try (BucketStore store = builder().open();
        Connection other = database.source().getConnection();
        Statement statement = other.createStatement()) {
      List<Charge> both = List.of(spend("a", 9), spend("b", 9));
      var unused = store.charge(both);
      other.setAutoCommit(false);
      // The transaction that has changed most is not the one that ends.
      statement.execute("INSERT INTO sluice_bucket SELECT seq, 0 FROM seq_1_to_100");
      statement.execute("UPDATE sluice_bucket SET tat = tat WHERE bucket = 'b'");
      CompletableFuture<List<Reading>> answer = store.chargeAsync(both).toCompletableFuture();
      awaitLockWait();
      statement.execute("SELECT * FROM sluice_bucket WHERE bucket = 'a' FOR UPDATE");
      other.rollback();
      assertThat(answer.get(60, TimeUnit.SECONDS)).hasSize(2);
      assertThat(granted(store, spend("a", 3))).isTrue();
      assertThat(granted(store, spend("a", 3))).isFalse();
    }
  }

  @Test
  void connectionsThatTheServerEnds_areReplaced() throws SQLException {
    try (BucketStore store = builder().open()) {
      assertThat(granted(store, spend("1:a", 9))).isTrue();
      try (Connection connection = database.source().getConnection();
          Statement statement = connection.createStatement()) {
        List<Long> sessions = new ArrayList<>();
        await( // a session that its client has closed ends a moment later
            () -> {
              sessions.clear();
              try (var rows =
                  statement.executeQuery(
                      "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <>"
                          + " CONNECTION_ID()")) {
                while (rows.next()) {
                  sessions.add(rows.getLong(1));
                }
              }
              assertThat(sessions).hasSize(2);
            });
        for (long session : sessions) {
          statement.execute("KILL " + session);
        }
      }
      await(() -> assertThat(granted(store, spend("1:b", 9_999))).isTrue());
    }
  }

  @Test
  void userWithTheLeastRights_decides_andMayNotReadTheTable() throws SQLException {
    String user = "least" + Long.toHexString(System.nanoTime());
    database.execute("CREATE USER " + user + "@localhost", "CREATE USER " + user + "@'127.0.0.1'");
    MariaDbStore.create(database.source(), user + "@127.0.0.1");
    try (BucketStore store = MariaDbStore.builder(database.source(user)).timeout(PATIENT).open()) {
      assertThat(granted(store, spend("1:a", 1))).isTrue();
      assertThat(granted(store, spend("1:a", 1))).isFalse();
      assertThat(granted(store, check("1:b", 1))).isTrue();
      assertThat(store.someKeys(9, Duration.ofMinutes(10))).hasValue(List.of("1:a"));
      assertThat(store.presence().orElseThrow().announce("a", Duration.ofMillis(1))).hasSize(1);
    }
    try (Connection connection = database.source(user).getConnection();
        Statement statement = connection.createStatement()) {
      assertThatThrownBy(() -> statement.executeQuery("SELECT * FROM sluice_bucket"))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("denied");
    }
    assertThatThrownBy(
            () ->
                MariaDbStore.builder(database.source(user)).clock(() -> 1).timeout(PATIENT).open())
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("the user " + user + "@")
        .hasMessageContaining(" cannot call the procedures of this version: sluice_decide_v1; run");
  }

  /** In the order of the charges, and also while another transaction has the row. */
  @Test
  void checks_readWithoutALock_andLeaveNoRow() throws SQLException {
    try (BucketStore store = builder().open();
        Connection other = database.source().getConnection();
        Statement statement = other.createStatement()) {
      assertThat(granted(store, spend("1:b", 1))).isTrue();
      other.setAutoCommit(false);
      statement.execute("SELECT * FROM sluice_bucket WHERE bucket = '1:b' FOR UPDATE");
      List<Charge> checks = List.of(check("1:c", 1), check("1:b", 1), check("1:a", 1));
      assertThat(store.charge(checks))
          .extracting(found -> checks.get(0).passes(found.nowNanos(), found.tatNanos()))
          .containsExactly(true, false, true);
      other.rollback();
    }
    assertThat(database.number("SELECT COUNT(*) FROM sluice_bucket")).isEqualTo(1);
  }

  @Test
  void someKeys_areThoseWithThePrefix_atMostAsManyAsAsked() throws SQLException {
    try (BucketStore store = builder().prefix("keys:").open();
        BucketStore other = builder().prefix("keyz:").open()) {
      assertThat(store.someKeys(10, Duration.ofMinutes(10)).orElseThrow()).isEmpty();
      assertThat(granted(other, spend("1:other", 1))).isTrue();
      database.execute(
          "INSERT INTO sluice_bucket SELECT CONCAT('keys:1:', seq), 9223372036854775807 FROM seq_1_to_2500");
      assertThat(store.someKeys(100_000, Duration.ofMinutes(10)).orElseThrow())
          .hasSize(2500)
          .contains("1:1", "1:2500")
          .doesNotHaveDuplicates();
      assertThat(store.someKeys(1700, Duration.ofMinutes(10)).orElseThrow()).hasSize(1700);
    }
  }

  @Test
  void processes_seeEachOther_untilTheirEnd_andNoneWithAnotherPrefix() throws SQLException {
    Duration longest = Duration.ofMinutes(1);
    try (BucketStore store = builder().prefix("roll:").open();
        BucketStore other = builder().prefix("x").open();
        BucketStore replay = builder().clock(() -> 1).open()) {
      Presence roll = store.presence().orElseThrow();
      assertThat(roll.announce("a:1 é", longest)).containsExactly("a:1 é");
      assertThat(roll.announce("b:2 x", longest)).containsExactlyInAnyOrder("a:1 é", "b:2 x");
      assertThat(roll.announce("b:2 x", longest)).containsExactlyInAnyOrder("a:1 é", "b:2 x");
      assertThat(other.presence().orElseThrow().announce("c", longest)).containsExactly("c");
      database.execute(
          "UPDATE sluice_server SET ends = 1 WHERE process LIKE 'a:1%'",
          "UPDATE sluice_server SET ends = 9223372036854775807 WHERE process = 'c'");
      assertThat(roll.announce("b:2 x", longest)).containsExactly("b:2 x");
      assertThat(database.number("SELECT COUNT(*) FROM sluice_server"))
          .as("rows of each prefix")
          .isOne();
      assertThat(roll.announce("b:2 x", Duration.ZERO)).isEmpty();
      assertThat(database.number("SELECT COUNT(*) FROM sluice_server")).isZero();
      assertThat(replay.presence()).as("of a clock of this process").isEmpty();
    }
  }

  @Test
  void clean_deletesFullBuckets_andWaitsForNobody() throws SQLException {
    try (BucketStore store = builder().open()) {
      for (int i = 0; i < 20; i++) {
        var unused = store.charge(List.of(new Charge("1:" + i, Op.SPEND, 1, 1, Effect.NO_END)));
      }
      assertThat(granted(store, spend("2:live", 1))).isTrue();
    }
    try (Connection other = database.source().getConnection();
        Statement lock = other.createStatement()) {
      other.setAutoCommit(false);
      lock.execute("SELECT * FROM sluice_bucket WHERE bucket = '1:7' FOR UPDATE");
      database.execute("CALL sluice_clean_v2('', 10)", "CALL sluice_clean_v2('1:17', 100)");
      database.execute("CALL sluice_clean_v2('', 100)");
      other.rollback();
    }
    assertThat(database.number("SELECT COUNT(*) FROM sluice_bucket")).isEqualTo(2);
  }

  @Test
  void clean_leavesABucketThatIsFullInLessThanASecond() throws SQLException {
    try (BucketStore store = builder().open()) {
      Charge charge = new Charge("1:a", Op.SPEND, 900_000_000, 900_000_000, Effect.NO_END);
      long rows;
      long fullNanos;
      do { // once, unless the machine stands still
        Reading found = store.charge(List.of(charge)).get(0);
        fullNanos = Math.max(found.nowNanos(), found.tatNanos());
        fullNanos += charge.passes(found.nowNanos(), found.tatNanos()) ? 900_000_000 : 0;
        database.execute("CALL sluice_clean_v2('', 10)");
        rows = database.number("SELECT COUNT(*) FROM sluice_bucket");
      } while (database.number(NOW) >= fullNanos);
      assertThat(rows).isOne();
    }
  }

  /** As a process does that nobody calls; the minute until its round passes at once. */
  @Test
  void openStore_deletesFullBuckets() throws SQLException {
    AtomicLong passedNanos = new AtomicLong();
    Timing real = new SystemTiming("mariadb");
    Timing timing =
        (Timing)
            Proxy.newProxyInstance(
                Timing.class.getClassLoader(),
                new Class<?>[] {Timing.class},
                (self, method, arguments) -> {
                  if (method.getName().equals("nanoTime")) {
                    return real.nanoTime() + passedNanos.get();
                  }
                  try {
                    return method.invoke(real, arguments);
                  } catch (InvocationTargetException e) {
                    throw e.getCause();
                  }
                });
    try (BucketStore store = builder().open(timing)) {
      database.execute( // more than one step of the round
          "INSERT INTO sluice_bucket SELECT CONCAT('1:', seq), -9223372036854775807 FROM seq_1_to_1500");
      assertThat(granted(store, spend("2:live", 1))).isTrue();
      passedNanos.set(TimeUnit.MINUTES.toNanos(1));
      await(() -> assertThat(database.number("SELECT COUNT(*) FROM sluice_bucket")).isEqualTo(1));
    }
  }

  @Test
  void textOfAServer_isShownInOneLine_withoutControlCharacters() {
    SQLException failure = new SQLException("ERR \u001b[2J no\n entry. ", "22000", 1);
    assertThat(MariaDbFault.of(failure).words()).isEqualTo("ERR \\u001b[2J no entry");
  }

  @Test
  void callThatWaitsForALockedRow_isDecidedByTheTimeAfterTheWait() throws Exception {
    try (BucketStore store = builder().open();
        Connection other = database.source().getConnection();
        Statement statement = other.createStatement()) {
      List<Charge> both = List.of(spend("a", 9), spend("b", 9));
      var unused = store.charge(both);
      other.setAutoCommit(false);
      statement.execute("SELECT * FROM sluice_bucket WHERE bucket = 'b' FOR UPDATE");
      CompletableFuture<List<Reading>> answer = store.chargeAsync(both).toCompletableFuture();
      awaitLockWait();
      long waits = database.number(NOW);
      await(() -> assertThat(database.number(NOW)).isGreaterThan(waits + 50_000_000));
      long end = database.number(NOW);
      other.rollback();
      assertThat(answer.get(60, TimeUnit.SECONDS))
          .allSatisfy(found -> assertThat(found.nowNanos()).isGreaterThanOrEqualTo(end));
    }
  }

  /** Otherwise two processes could decide by clocks that are hours apart. */
  @ParameterizedTest
  @ValueSource(strings = {"+05:00", "-05:00"})
  void sessionInAnotherTimeZone_decidesByTheSameClock(String zone) throws SQLException {
    try (BucketStore here = builder().open();
        BucketStore there = MariaDbStore.builder(database.sourceIn(zone)).timeout(PATIENT).open()) {
      assertThat(granted(here, spend("1:a", 1))).isTrue();
      for (Charge charge : List.of(check("1:a", 1), spend("1:a", 1))) {
        Reading found = there.charge(List.of(charge)).get(0);
        assertThat(charge.passes(found.nowNanos(), found.tatNanos())).isFalse();
        assertThat(Instant.ofEpochSecond(0, found.nowNanos()))
            .isCloseTo(Instant.now(), within(10, ChronoUnit.MINUTES));
      }
      Presence other = there.presence().orElseThrow();
      assertThat(here.presence().orElseThrow().announce("a", Duration.ofMinutes(1))).hasSize(1);
      assertThat(other.announce("b", Duration.ofMinutes(1))).hasSize(2);
    }
    try (Connection cleaning = database.sourceIn(zone).getConnection();
        Statement statement = cleaning.createStatement()) {
      statement.execute("CALL sluice_clean_v2('', 10)");
    }
    assertThat(database.number("SELECT COUNT(*) FROM sluice_bucket")).isOne();
  }
}
