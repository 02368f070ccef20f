// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import static dev.sluice.postgres.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.remote.SystemTiming;
import dev.sluice.remote.Timing;
import dev.sluice.remote.sql.SqlRoll;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Presence;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalPostgres;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** A store on a real PostgreSQL: its connections, its bad days, its rights. */
@Tag("slow")
final class PostgresStoreTest {

  private static final long HOUR = TimeUnit.HOURS.toNanos(1);
  private static final Duration PATIENT = Duration.ofSeconds(20);
  private static final Duration LOCKED = Duration.ofSeconds(12); // a call waits 4 s for a lock

  private String url;
  private DataSource source;

  @BeforeEach
  void aDatabase() throws SQLException {
    url = LocalPostgres.newDatabase();
    source = PostgresUrl.dataSource(url);
    String name = url.substring(url.lastIndexOf('/') + 1);
    execute("ALTER DATABASE " + name + " SET synchronous_commit = on");
    execute("ALTER DATABASE " + name + " SET deadlock_timeout = '100ms'");
    PostgresStore.create(source, Durability.UNLOGGED, null);
  }

  private static Charge spend(String key, int burst) {
    return new Charge(key, Op.SPEND, HOUR, burst * HOUR, Effect.NO_END);
  }

  private static boolean allows(Charge charge, Reading found) {
    return charge.passes(found.nowNanos(), found.tatNanos());
  }

  private long number(String sql) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      assertThat(rows.next()).isTrue();
      return rows.getLong(1);
    }
  }

  private void execute(String sql) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @Test
  void charge_byManyThreads_grantsTheBurst_onAFewConnections() throws InterruptedException {
    ConcurrentSkipListSet<String> servers = new ConcurrentSkipListSet<>();
    AtomicInteger batches = new AtomicInteger();
    AtomicInteger calls = new AtomicInteger();
    BucketStore.Observer observer =
        new BucketStore.Observer() {
          @Override
          public void called(String server, Result result, int shared, int charges, long nanos) {
            servers.add(server + " " + result);
            calls.incrementAndGet();
            batches.addAndGet(shared);
          }
        };
    AtomicInteger granted = new AtomicInteger();
    try (BucketStore store =
        PostgresStore.builder(source)
            .timeout(PATIENT)
            .denials(Duration.ZERO)
            .observer(observer)
            .open()) {
      Charge charge = spend("1:hot", 500);
      List<Thread> threads =
          IntStream.range(0, 64)
              .mapToObj(
                  i ->
                      new Thread(
                          () -> {
                            for (int j = 0; j < 20; j++) {
                              if (allows(charge, store.charge(List.of(charge)).get(0))) {
                                granted.incrementAndGet();
                              }
                            }
                          }))
              .toList();
      threads.forEach(Thread::start);
      for (Thread thread : threads) {
        thread.join();
      }
    }
    assertThat(granted).hasValue(500);
    assertThat(servers).singleElement().asString().endsWith(" ANSWERED");
    assertThat(batches).hasValue(64 * 20);
    assertThat(calls.get()).as("calls, which callers share").isLessThan(64 * 20 / 2);
  }

  @Test
  void chargeAsync_ofManyCallers_waitsForNoThread() {
    try (BucketStore store = PostgresStore.builder(source).timeout(PATIENT).open()) {
      List<CompletableFuture<List<Reading>>> answers = new ArrayList<>();
      for (int i = 0; i < 2_000; i++) {
        answers.add(store.chargeAsync(List.of(spend("1:" + i % 100, 30))).toCompletableFuture());
      }
      long granted =
          answers.stream().filter(one -> allows(spend("", 30), one.join().get(0))).count();
      assertThat(granted).isEqualTo(2_000);
    }
  }

  @Test
  void batch_thatIsDeniedInOneBucket_leavesNoTraceInTheOther() {
    try (BucketStore store = PostgresStore.builder(source).timeout(PATIENT).open()) {
      Charge empty = spend("b", 1);
      Charge full = spend("a", 1);
      assertThat(allows(empty, store.charge(List.of(empty)).get(0))).isTrue();
      List<Reading> denied = store.charge(List.of(full, empty));
      assertThat(allows(empty, denied.get(1))).isFalse();
      assertThat(allows(full, store.charge(List.of(full)).get(0))).isTrue();
    }
  }

  @Test
  void keys_thatAreNotUtf8_areBucketsOfTheirOwn() {
    try (BucketStore store = PostgresStore.builder(source).timeout(PATIENT).open()) {
      for (String key : List.of("1:\ud800", "1:?", "1:\u0000", "1:\ud83d\ude00")) {
        Charge charge = spend(key, 1);
        assertThat(allows(charge, store.charge(List.of(charge)).get(0))).isTrue();
        assertThat(allows(charge, store.charge(List.of(charge)).get(0))).isFalse();
      }
    }
  }

  // Bad days

  @Test
  void open_withoutTheTable_saysWhatToRun() {
    DataSource empty = PostgresUrl.dataSource(LocalPostgres.newDatabase());
    assertThatThrownBy(() -> PostgresStore.builder(empty).open())
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("no table sluice_bucket; run `sluice store create`");
  }

  @Test
  void open_withAnotherDurability_isRefused_untilTheTableIsCreatedForIt() throws SQLException {
    assertThatThrownBy(() -> PostgresStore.builder(source).durability(Durability.SYNC).open())
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("a table sluice_bucket that is unlogged");
    for (Durability durability : List.of(Durability.UNLOGGED, Durability.SYNC, Durability.ASYNC)) {
      PostgresStore.create(source, durability, null);
      try (BucketStore store =
          PostgresStore.builder(source).durability(durability).timeout(PATIENT).open()) {
        Charge charge = spend("1:" + durability, 1);
        assertThat(allows(charge, store.charge(List.of(charge)).get(0))).isTrue();
        List<Charge> batch = List.of(charge, spend("1:other" + durability, 1));
        assertThat(allows(charge, store.charge(batch).get(0))).isFalse();
      }
    }
  }

  @Test
  void open_withTransactionsThatCannotDecide_isRefused() {
    for (String[] wrong :
        List.of(
            new String[] {"isolation=serializable", "are serializable, expected read committed"},
            new String[] {"read_only=on", "are read-only"})) {
      String with = url + "?timeout=20s&options=-c%20default_transaction_" + wrong[0];
      assertThatThrownBy(() -> PostgresStore.builder(with).open())
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("the transactions of the connections " + wrong[1]);
    }
  }

  /** As where max_connections leaves room for one. */
  @Test
  void linkWithoutAConnection_leavesTheCallsToTheOther() {
    AtomicInteger lent = new AtomicInteger();
    DataSource scarce =
        Proxies.of(
            DataSource.class,
            source,
            (method, result) -> {
              if (result instanceof Connection one && lent.getAndIncrement() > 0) {
                one.close();
                throw new SQLException("sorry, too many clients already", "53300");
              }
              return result;
            });
    try (BucketStore store = PostgresStore.builder(scarce).timeout(PATIENT).open()) {
      for (int i = 0; i < 300; i++) {
        assertThat(store.charge(List.of(spend("1:" + i, 1)))).hasSize(1);
      }
    }
    assertThat(lent.get()).as("connections asked for").isGreaterThan(1);
  }

  @Test
  void close_returnsTheConnectionAsItCame() throws SQLException {
    try (Connection real = source.getConnection()) {
      real.setNetworkTimeout(Runnable::run, 77_000);
      DataSource pool = Proxies.lending(source, real);
      try (BucketStore store = PostgresStore.builder(pool).connections(1).timeout(PATIENT).open()) {
        var unused = store.charge(List.of(spend("1:a", 9)));
      }
      assertThat(real.getNetworkTimeout()).isEqualTo(77_000);
    }
  }

  @Test
  void announcementThatFails_isExplainedInOneLine_andReturnsTheConnectionAsItCame()
      throws SQLException {
    try (Connection real = source.getConnection()) {
      real.setNetworkTimeout(Runnable::run, 77_000);
      Presence list =
          new SqlRoll(
              "db",
              Proxies.lending(source, real),
              "SELECT \"no\u001bwhere\"(?, ?, ?)",
              new byte[0]);
      assertThatThrownBy(() -> list.announce("a", Duration.ofSeconds(1)))
          .isInstanceOf(StoreException.class)
          .hasMessageMatching(
              "db: the list of processes cannot be read: ERROR: function no\\\\u001bwhere\\(.* does not exist .*");
      assertThat(real.getNetworkTimeout()).isEqualTo(77_000);
    }
  }

  /** Otherwise two processes whose announcements are over could wait for each other. */
  @Test
  void announcementThatWaitsForItsOwnRow_hasNoOtherRowLocked() throws SQLException {
    try (BucketStore store = PostgresStore.builder(source).timeout(PATIENT).open();
        Connection other = source.getConnection();
        Statement locks = other.createStatement()) {
      execute(
          "INSERT INTO sluice_server VALUES ('', 'a', now() - interval '1s'),"
              + " ('', 'b', now() - interval '1s')");
      other.setAutoCommit(false);
      locks.execute("SELECT 1 FROM sluice_server WHERE process = 'a' FOR UPDATE");
      Presence list = store.presence().orElseThrow();
      CompletableFuture<List<String>> waits =
          CompletableFuture.supplyAsync(() -> list.announce("a", Duration.ofSeconds(9)));
      String waiting =
          "SELECT count(*) FROM pg_stat_activity"
              + " WHERE wait_event_type = 'Lock' AND datname = current_database()";
      while (number(waiting) == 0 && !waits.isDone()) {
        Thread.onSpinWait();
      }
      locks.execute("SELECT 1 FROM sluice_server WHERE process = 'b' FOR UPDATE NOWAIT");
      other.rollback();
      assertThat(waits.exceptionally(late -> List.of("a")).join()).containsExactly("a");
    }
  }

  @Test
  void create_unloggedOfALoggedTable_isRefused_andSaysWhatToRun() throws SQLException {
    PostgresStore.create(source, Durability.SYNC, null);
    assertThatThrownBy(() -> PostgresStore.create(source, Durability.UNLOGGED, null))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("ALTER TABLE public.sluice_bucket SET UNLOGGED");
    execute("ALTER TABLE public.sluice_bucket SET UNLOGGED");
    PostgresStore.create(source, Durability.UNLOGGED, null);
  }

  /** Where everybody may create functions in the schema, a closer match is preferred. */
  @Test
  void functionsOfOthersInTheSchema_areNotCalledWithTheRightsOfTheOwner() throws SQLException {
    execute(
        "CREATE FUNCTION public.cardinality(bytea[]) RETURNS int LANGUAGE plpgsql AS"
            + " 'BEGIN RAISE EXCEPTION $$called$$; END'");
    try (BucketStore store = PostgresStore.builder(source).timeout(PATIENT).open()) {
      assertThat(store.charge(List.of(spend("1:a", 1), spend("1:b", 1)))).hasSize(2);
    }
  }

  @Test
  void create_inASchemaWithAnOddName_opens() throws SQLException {
    execute("CREATE SCHEMA \"a'B c\"");
    DataSource odd = PostgresUrl.dataSource(url + "?currentSchema=%22a'B%20c%22");
    PostgresStore.create(odd, Durability.UNLOGGED, null);
    PostgresStore.create(odd, Durability.SYNC, null);
    try (BucketStore store =
        PostgresStore.builder(odd).durability(Durability.SYNC).timeout(PATIENT).open()) {
      assertThat(store.charge(List.of(spend("1:a", 1)))).hasSize(1);
    }
    assertThat(number("SELECT count(*) FROM public.sluice_bucket")).isZero();
  }

  @Test
  void open_ofADatabaseThatIsAway_succeeds_andChargesFail() {
    String away = "postgresql://postgres@127.0.0.1:1/none";
    try (BucketStore store = PostgresStore.builder(away).open()) {
      assertThatThrownBy(() -> store.charge(List.of(spend("1:a", 1))))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("nothing was charged");
      assertThatThrownBy(store::ping).isInstanceOf(StoreException.class);
    }
  }

  @Test
  void connectionsThatTheServerEnds_areReplaced() throws SQLException {
    try (BucketStore store = PostgresStore.builder(source).timeout(PATIENT).open()) {
      var unused = store.charge(List.of(spend("1:a", 9)));
      execute(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
              + " WHERE datname = current_database() AND pid <> pg_backend_pid()");
      await()
          .ignoreExceptions()
          .untilAsserted(() -> assertThat(store.charge(List.of(spend("1:b", 9_999)))).isNotEmpty());
    }
  }

  @Test
  void rowThatIsLocked_failsOnlyTheCallersOfItsKey() throws SQLException {
    try (BucketStore store = PostgresStore.builder(source).timeout(LOCKED).connections(1).open();
        Connection other = source.getConnection();
        Statement statement = other.createStatement()) {
      var unused = store.charge(List.of(spend("1:hot", 9)));
      other.setAutoCommit(false);
      statement.execute("SELECT * FROM sluice_bucket FOR UPDATE");
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
      awaitWaiting(0);
      long start = System.nanoTime();
      for (int i = 0; i < 9; i++) { // at once, while others are served
        assertThatThrownBy(() -> store.charge(List.of(spend("1:hot", 9))))
            .hasMessageContaining("another transaction has locked a bucket of the call")
            .hasMessageContaining("nothing was charged");
        assertThat(store.charge(List.of(spend("1:cold", 99)))).hasSize(1);
      }
      assertThat(System.nanoTime() - start).isLessThan(LOCKED.toNanos());
      other.rollback();
      await()
          .ignoreExceptions()
          .untilAsserted(() -> assertThat(store.charge(List.of(spend("1:hot", 9)))).hasSize(1));
    }
  }

  /** The database does not tell which row of the batch is locked. */
  @Test
  void batchWithALockedRow_failsAtOnceWhenRepeated_andDelaysNoOtherBucket() throws SQLException {
    AtomicLong refused = new AtomicLong();
    BucketStore.Observer counting =
        new BucketStore.Observer() {
          @Override
          public void refused(String server, Refusal why) {
            if (why == Refusal.LOCKED) {
              refused.incrementAndGet();
            }
          }
        };
    try (BucketStore store =
            PostgresStore.builder(source).timeout(LOCKED).connections(1).observer(counting).open();
        Connection other = source.getConnection();
        Statement statement = other.createStatement()) {
      List<Charge> batch = List.of(spend("1:hot", 9), spend("1:warm", 9));
      var unused = store.charge(batch);
      other.setAutoCommit(false);
      lock("1:hot", statement);
      long start = System.nanoTime();
      for (int i = 0; i < 6; i++) {
        assertThatThrownBy(() -> store.charge(batch))
            .hasMessageContaining("another transaction has locked a bucket of the call")
            .hasMessageContaining("nothing was charged");
        assertThat(store.charge(List.of(spend("1:warm", 99)))).hasSize(1);
        assertThat(store.charge(List.of(spend("1:cold", 99)))).hasSize(1);
      }
      assertThat(System.nanoTime() - start).isLessThan(LOCKED.toNanos());
      assertThat(refused).hasValue(5);
      other.rollback();
      await().ignoreExceptions().untilAsserted(() -> assertThat(store.charge(batch)).hasSize(2));
    }
  }

  /**
   * The bucket's charges are no longer rejected, and the next one shares a call with another
   * bucket. The shared call fails because of the lock, and each of its requests is sent alone.
   */
  @Test
  void requestThatTriesALockedBucketAgain_isGranted_ifTheLockEndsAfterItsSharedCall()
      throws SQLException {
    AtomicLong passedNanos = new AtomicLong();
    try (BucketStore store =
            PostgresStore.builder(source)
                .timeout(LOCKED)
                .connections(1)
                .open(timingThatSkips(passedNanos));
        Connection other = source.getConnection();
        Statement statement = other.createStatement();
        Connection third = source.getConnection();
        Statement ofThird = third.createStatement()) {
      var unused = store.charge(List.of(spend("1:hot", 9), spend("1:first", 9)));
      other.setAutoCommit(false);
      lock("1:hot", statement);
      assertThatThrownBy(() -> store.charge(List.of(spend("1:hot", 9))))
          .hasMessageContaining("another transaction has locked a bucket of the call");
      passedNanos.set(LOCKED.toNanos() / 3);
      third.setAutoCommit(false);
      lock("1:first", ofThird);
      CompletableFuture<List<Reading>> first =
          store.chargeAsync(List.of(spend("1:first", 9))).toCompletableFuture();
      awaitWaiting(1);
      CompletableFuture<List<Reading>> cold =
          store.chargeAsync(List.of(spend("1:cold", 9))).toCompletableFuture();
      CompletableFuture<List<Reading>> hot =
          store.chargeAsync(List.of(spend("1:hot", 9))).toCompletableFuture();
      third.rollback();
      assertThat(first.join()).hasSize(1);
      assertThat(cold.join()).as("after the shared call has failed").hasSize(1);
      other.rollback();
      assertThat(hot.join()).hasSize(1);
    }
  }

  private static void lock(String key, Statement statement) throws SQLException {
    statement.execute("SELECT * FROM sluice_bucket WHERE key = '" + key + "'::bytea FOR UPDATE");
  }

  private static Timing timingThatSkips(AtomicLong nanos) {
    return Proxies.of(
        Timing.class,
        new SystemTiming("postgres"),
        (method, result) ->
            method.equals("nanoTime") && result instanceof Long now
                ? Long.valueOf(now + nanos.get())
                : result);
  }

  /** Whoever uses the table may lock all of it for longer than a call may take. */
  @Test
  void callThatTimesOut_isCancelledInTheDatabase() throws SQLException {
    try (BucketStore store = PostgresStore.builder(source).timeout(Duration.ofMillis(300)).open();
        Connection other = source.getConnection();
        Statement statement = other.createStatement()) {
      Charge check = new Charge("1:a", Op.CHECK, HOUR, 9 * HOUR, Effect.NO_END);
      other.setAutoCommit(false);
      statement.execute("LOCK TABLE sluice_bucket");
      assertThatThrownBy(() -> store.charge(List.of(check)))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("timed out");
      awaitWaiting(0);
      other.rollback();
      await()
          .ignoreExceptions()
          .untilAsserted(() -> assertThat(store.charge(List.of(spend("1:b", 999)))).isNotEmpty());
    }
  }

  /**
   * Others lock the rows in another order. The call has a, waits for b, and then closes a cycle.
   */
  @Test
  void deadlockWithAnotherUserOfTheTable_isTriedAgain() throws Exception {
    try (BucketStore store = PostgresStore.builder(source).timeout(PATIENT).open();
        Connection second = source.getConnection();
        Statement ofSecond = second.createStatement();
        Connection third = source.getConnection();
        Statement ofThird = third.createStatement()) {
      List<Charge> all = List.of(spend("a", 9), spend("b", 9), spend("c", 9));
      var unused = store.charge(all);
      second.setAutoCommit(false);
      ofSecond.execute("SELECT * FROM sluice_bucket WHERE key = 'b'::bytea FOR UPDATE");
      third.setAutoCommit(false);
      ofThird.execute("SET deadlock_timeout = '30s'"); // so that it is the call that ends
      ofThird.execute("SELECT * FROM sluice_bucket WHERE key = 'c'::bytea FOR UPDATE");
      CompletableFuture<List<Reading>> answer = store.chargeAsync(all).toCompletableFuture();
      awaitWaiting(1);
      CompletableFuture<Boolean> cycle =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return ofThird.execute(
                      "SELECT * FROM sluice_bucket WHERE key = 'a'::bytea FOR UPDATE");
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      awaitWaiting(2);
      second.rollback();
      assertThat(cycle.get(60, TimeUnit.SECONDS)).isTrue();
      third.rollback();
      assertThat(answer.get(60, TimeUnit.SECONDS)).hasSize(3);
      assertThat(allows(spend("", 3), store.charge(List.of(spend("a", 3))).get(0))).isTrue();
      assertThat(allows(spend("", 3), store.charge(List.of(spend("a", 3))).get(0))).isFalse();
    }
  }

  private void awaitWaiting(int sessions) {
    await()
        .until(
            () ->
                number(
                        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                            + " AND datname = current_database()")
                    == sessions);
  }

  @Test
  void roleWithTheLeastRights_decides_andMayNotCallByItsOwnTime() throws SQLException {
    String role = "least_" + Long.toHexString(System.nanoTime());
    execute("CREATE ROLE " + role + " LOGIN");
    try {
      String as = url.replace("postgres@", role + "@");
      assertThatThrownBy(() -> PostgresStore.builder(as).timeout(PATIENT).open())
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("the role " + role + " has no right to call sluice_")
          .hasMessageContaining("run `sluice store create` with --role");
      PostgresStore.create(source, Durability.UNLOGGED, role);
      try (BucketStore store = PostgresStore.builder(as).timeout(PATIENT).open()) {
        Charge charge = spend("1:a", 1);
        assertThat(allows(charge, store.charge(List.of(charge)).get(0))).isTrue();
        assertThat(store.charge(List.of(charge, spend("1:b", 1)))).hasSize(2);
        assertThat(store.someKeys(10, Duration.ofMinutes(10)).orElseThrow()).contains("1:a", "1:b");
        assertThat(store.presence().orElseThrow().announce("a", Duration.ofMillis(1))).hasSize(1);
      }
      assertThatThrownBy(() -> PostgresStore.builder(as).clock(() -> 1).timeout(PATIENT).open())
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("only the owner of the functions can use a clock other than");
    } finally {
      execute("DROP OWNED BY " + role);
      execute("DROP ROLE " + role);
    }
  }

  @Test
  void someKeys_areThoseWithThePrefix_atMostAsManyAsAsked() throws SQLException {
    try (BucketStore store = PostgresStore.builder(source).prefix("keys:").timeout(PATIENT).open();
        BucketStore other = PostgresStore.builder(source).prefix("keyz:").timeout(PATIENT).open()) {
      assertThat(store.someKeys(10, Duration.ofMinutes(10)).orElseThrow()).isEmpty();
      assertThat(other.charge(List.of(spend("1:other", 1)))).hasSize(1);
      execute(
          "INSERT INTO sluice_bucket SELECT convert_to('keys:1:' || n, 'UTF8'), 9223372036854775807"
              + " FROM generate_series(1, 2500) n");
      try {
        assertThat(store.someKeys(100_000, Duration.ofMinutes(10)).orElseThrow())
            .hasSize(2500)
            .contains("1:1", "1:2500")
            .doesNotHaveDuplicates();
        assertThat(store.someKeys(1700, Duration.ofMinutes(10)).orElseThrow()).hasSize(1700);
      } finally {
        execute("DELETE FROM sluice_bucket WHERE key >= 'keys:'::bytea");
      }
    }
  }

  @Test
  void processes_seeEachOther_untilTheirEnd_andNoneWithAnotherPrefix() throws SQLException {
    Duration longest = Duration.ofMinutes(1);
    try (BucketStore store = PostgresStore.builder(source).prefix("roll:").timeout(PATIENT).open();
        BucketStore other = PostgresStore.builder(source).prefix("x").timeout(PATIENT).open()) {
      Presence roll = store.presence().orElseThrow();
      assertThat(roll.announce("a:1 é", longest)).containsExactly("a:1 é");
      assertThat(roll.announce("b:2 x", longest)).containsExactlyInAnyOrder("a:1 é", "b:2 x");
      assertThat(roll.announce("b:2 x", longest)).containsExactlyInAnyOrder("a:1 é", "b:2 x");
      assertThat(other.presence().orElseThrow().announce("c", longest)).containsExactly("c");
      execute(
          "UPDATE sluice_server SET ends = now()"
              + " + CASE process WHEN 'c' THEN interval '1 hour' ELSE interval '-1 second' END");
      assertThat(roll.announce("b:2 x", longest)).containsExactly("b:2 x");
      assertThat(number("SELECT count(*) FROM sluice_server")).as("rows of each prefix").isOne();
      assertThat(roll.announce("b:2 x", Duration.ZERO)).isEmpty();
      assertThat(number("SELECT count(*) FROM sluice_server")).isZero();
      assertThatThrownBy(() -> roll.announce("a", longest.plusMillis(1)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("found the time PT1M0.001S, expected at most PT1M");
    }
    try (BucketStore replay = PostgresStore.builder(source).clock(() -> 1).timeout(PATIENT).open();
        BucketStore away = PostgresStore.builder("postgresql://postgres@127.0.0.1:1/none").open()) {
      assertThat(replay.presence()).as("of a clock of this process").isEmpty();
      assertThatThrownBy(() -> away.presence().orElseThrow().announce("a", longest))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("the list of processes cannot be read");
    }
  }

  @Test
  void clean_deletesFullBuckets_andWaitsForNobody() throws SQLException {
    try (BucketStore store = PostgresStore.builder(source).timeout(PATIENT).open()) {
      for (int i = 0; i < 20; i++) {
        var unused = store.charge(List.of(new Charge("1:" + i, Op.SPEND, 1, 1, Effect.NO_END)));
      }
      var unused = store.charge(List.of(spend("2:live", 1)));
    }
    try (Connection other = source.getConnection();
        Statement lock = other.createStatement()) {
      other.setAutoCommit(false);
      lock.execute("SELECT * FROM sluice_bucket WHERE key = '1:7'::bytea FOR UPDATE");
      assertThat(number("SELECT deleted FROM sluice_clean_v2('', 10)")).isEqualTo(10);
      assertThat(number("SELECT octet_length(last) FROM sluice_clean_v2('1:17', 100)"))
          .isPositive();
      assertThat(number("SELECT deleted FROM sluice_clean_v2('', 100)")).isZero();
      other.rollback();
    }
    assertThat(number("SELECT count(*) FROM sluice_bucket")).isEqualTo(2);
  }

  @Test
  void clean_leavesABucketThatIsFullInLessThanASecond() throws SQLException {
    try (BucketStore store = PostgresStore.builder(source).timeout(PATIENT).open()) {
      Charge charge = new Charge("1:a", Op.SPEND, 900_000_000, 900_000_000, Effect.NO_END);
      long deleted;
      long fullNanos;
      do { // once, unless the machine stands still
        Reading found = store.charge(List.of(charge)).get(0);
        fullNanos = Math.max(found.nowNanos(), found.tatNanos());
        fullNanos += allows(charge, found) ? charge.incrementNanos() : 0;
        deleted = number("SELECT deleted FROM sluice_clean_v2('', 10)");
      } while ((number("SELECT sluice_now_v1()") ^ Long.MIN_VALUE) >= fullNanos);
      assertThat(deleted).isZero();
    }
  }

  /** As a process does that nobody calls; the minute until its round passes at once. */
  @Test
  void openStore_deletesFullBuckets() throws SQLException {
    AtomicLong passedNanos = new AtomicLong();
    try (BucketStore store =
        PostgresStore.builder(source).timeout(PATIENT).open(timingThatSkips(passedNanos))) {
      execute(
          "INSERT INTO sluice_bucket SELECT convert_to('1:' || n, 'UTF8'), sluice_now_v1()"
              + " FROM generate_series(1, 1500) n"); // more than one step of the round
      assertThat(store.charge(List.of(spend("2:live", 1)))).hasSize(1);
      passedNanos.set(TimeUnit.MINUTES.toNanos(1));
      await().until(() -> number("SELECT count(*) FROM sluice_bucket") == 1);
    }
  }

  @Test
  void clean_whileAnotherCallCleans_staysWhereItIs() throws SQLException {
    execute("INSERT INTO sluice_bucket SELECT 'k'::bytea, 0");
    execute("CREATE SCHEMA second");
    PostgresStore.create(
        PostgresUrl.dataSource(url + "?currentSchema=second"), Durability.UNLOGGED, null);
    try (Connection other = source.getConnection();
        Statement cleaning = other.createStatement()) {
      other.setAutoCommit(false);
      cleaning.execute("SELECT sluice_clean_v2('', 10)");
      assertThat(number("SELECT (last = 'a'::bytea)::int FROM sluice_clean_v2('a', 10)"))
          .isEqualTo(1);
      assertThat(number("SELECT (last IS NULL)::int FROM second.sluice_clean_v2('a', 10)"))
          .as("another schema has tables of its own")
          .isEqualTo(1);
      other.rollback();
    }
    assertThat(number("SELECT (last = 'k'::bytea)::int FROM sluice_clean_v2('a', 10)"))
        .isEqualTo(1);
  }

  /** A disk that is full also lets one read and not write. */
  @Test
  void databaseThatOnlyReads_staysDown_untilItWrites() throws SQLException {
    List<BucketStore.Observer.State> states = new CopyOnWriteArrayList<>();
    execute("CREATE SEQUENCE tries");
    execute(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
            + " 'BEGIN PERFORM nextval($$public.tries$$);"
            + " RAISE EXCEPTION USING ERRCODE = $$53100$$, MESSAGE = $$no space$$; END'");
    BucketStore.Observer observer =
        new BucketStore.Observer() {
          @Override
          public void changed(String server, State state, String reason) {
            states.add(state);
          }
        };
    try (BucketStore store =
        PostgresStore.builder(source)
            .timeout(PATIENT)
            .failures(1)
            .probe(Duration.ofMillis(10))
            .observer(observer)
            .open()) {
      execute(
          "CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON sluice_bucket"
              + " EXECUTE FUNCTION full_disk()");
      assertThatThrownBy(() -> store.charge(List.of(spend("1:a", 9))))
          .hasMessageContaining("no space");
      await().until(() -> number("SELECT last_value FROM tries") > 5);
      assertThat(states).containsExactly(BucketStore.Observer.State.DOWN);
      execute("DROP TRIGGER full_disk ON sluice_bucket");
      await().ignoreExceptions().until(() -> store.charge(List.of(spend("1:a", 9))).size() == 1);
    }
  }

  /** As behind a pooler that gives each call another session. */
  @Test
  void statementsThatTheSessionDoesNotKnow_areNeededNoMore() throws SQLException {
    try (Connection only = source.getConnection();
        Statement session = only.createStatement()) {
      DataSource lent = Proxies.lending(source, only);
      try (BucketStore store = PostgresStore.builder(lent).connections(1).timeout(PATIENT).open()) {
        for (int i = 0; i < 30; i++) {
          var unused = store.charge(List.of(spend("1:a", 99)));
          if (i % 7 == 6) {
            session.execute("DEALLOCATE ALL");
          }
        }
        Charge last = spend("1:a", 31);
        assertThat(allows(last, store.charge(List.of(last)).get(0))).isTrue();
        assertThat(allows(last, store.charge(List.of(last)).get(0))).isFalse();
      }
    }
  }

  @Test
  void someKeys_againAndAgain_prepareNoStatement() throws SQLException {
    try (Connection only = source.getConnection();
        Statement session = only.createStatement();
        BucketStore store =
            PostgresStore.builder(Proxies.lending(source, only))
                .connections(1)
                .timeout(PATIENT)
                .open()) {
      for (int i = 0; i < 10; i++) {
        assertThat(store.someKeys(10, Duration.ofMinutes(10)).orElseThrow()).isEmpty();
      }
      try (ResultSet rows =
          session.executeQuery(
              "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%ORDER BY key%'")) {
        assertThat(rows.next()).isTrue();
        assertThat(rows.getInt(1)).isZero();
      }
    }
  }

  /** A pooler lets a statement read the parameters of another, such as a key as an array. */
  @Test
  void keyThatIsReadAsAnArray_isALostStatement_andOneThatIsTooLongIsNot() {
    assertThat(fault("54000", "Farrayfuncs.c\0").isLostStatement()).isTrue();
    assertThat(fault("42804", "Farrayfuncs.c\0").isLostStatement()).isTrue();
    assertThat(fault("54000", "Fnbtutils.c\0").isLostStatement()).isFalse();
    assertThat(fault("54000", "").isLostStatement()).isFalse();
  }

  private static PostgresFault fault(String state, String more) {
    return PostgresFault.of(
        new PSQLException(new ServerErrorMessage("SERROR\0C" + state + "\0Mno\0" + more)));
  }

  /** "Fehler" is German for error: a server tells the severity in its own language. */
  @Test
  void faultOfAServerThatSpeaksGerman_isJudgedByItsState() {
    assertThat(german("40P01").isRefusal()).isTrue();
    assertThat(german("40P01").passes()).isTrue();
    assertThat(german("54000").wasNotBegun()).isTrue();
    for (String state : List.of("57P01", "08006", "28000", "53300", "25P03", "25P04", "XX000")) {
      assertThat(german(state).isRefusal()).as(state).isFalse();
      assertThat(german(state).breaksConnection()).as(state).isTrue();
    }
  }

  private static PostgresFault german(String state) {
    return PostgresFault.of(
        new PSQLException(new ServerErrorMessage("SFEHLER\0C" + state + "\0MVerklemmung\0")));
  }

  // The URL

  @Test
  void url_withABadOption_isRefused_byName() {
    for (String[] wrong :
        List.of(
            new String[] {"durabilty=sync", "durabilty", "did you mean \"durability\"?"},
            new String[] {"durability=fsync", "expected unlogged, async or sync"},
            new String[] {"connections=0", "found 0, expected 1 to 16"},
            new String[] {"connections=17", "found 17, expected 1 to 16"},
            new String[] {"connections=two", "found \"two\", expected a whole number"},
            new String[] {"timeout=0s", "found 0s, expected 1ms to 1h"})) {
      assertThatThrownBy(() -> PostgresStore.builder(url + "?" + wrong[0]))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(wrong[1])
          .hasMessageContaining(wrong[wrong.length - 1]);
    }
  }

  @Test
  void textOfAServer_isShownInOneLine_withoutControlCharacters() {
    SQLException failure = new SQLException("ERR \u001b[2J no\n entry. ", "22000", 1);
    assertThat(PostgresFault.of(failure).words()).isEqualTo("ERR \\u001b[2J no entry");
  }

  @Test
  void url_withTheOptionsOfTheStoreAndTheDriver_opens() {
    String all =
        url
            + "?durability=unlogged&connections=1&prefix=a%26b:&timeout=20s&denials=off"
            + "&queue=10&failures=2&probe=1s&ApplicationName=shop";
    try (BucketStore store = PostgresStore.builder(all).open()) {
      assertThat(store.charge(List.of(spend("1:a", 1)))).hasSize(1);
      assertThat(store).asString().startsWith("postgresql://127.0.0.1:").doesNotContain("?");
    }
  }
}
