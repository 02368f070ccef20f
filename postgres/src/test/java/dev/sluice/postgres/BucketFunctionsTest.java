// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import static dev.sluice.postgres.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.remote.sql.SqlCall;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.testkit.SqlLawContract;
import dev.sluice.testkit.servers.LocalPostgres;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The functions of a real PostgreSQL beside the law in Java. */
@Tag("slow")
class BucketFunctionsTest extends SqlLawContract {

  private DataSource source;
  private Connection connection;

  @BeforeEach
  void aDatabase() throws SQLException {
    source = PostgresUrl.dataSource(LocalPostgres.newDatabase());
    PostgresStore.create(source, Durability.UNLOGGED, null);
    connection = source.getConnection();
  }

  @AfterEach
  void close() throws SQLException {
    connection.close();
  }

  /** The short way of a single spend: granted while it fits, and its answer says what it found. */
  @Test
  void spend_severalAndOneTooMany_isAsTheLawSays() throws SQLException {
    long hour = TimeUnit.HOURS.toNanos(1);
    long tat = Gcra.NO_TAT;
    for (int i = 0; i < 5; i++) {
      long[] answer = spend("1:a", hour, 3 * hour);
      Effect effect = Effect.of(Op.SPEND, hour, 3 * hour);
      assertThat(answer[1]).isEqualTo(tat);
      tat = effect.tatAfterNanos(answer[0], answer[1], effect.passes(answer[0], answer[1]));
      assertThat(stored("1:a")).isEqualTo(tat);
      assertThat(effect.passes(answer[0], answer[1])).isEqualTo(i < 3);
    }
  }

  @Test
  void spend_ofABucketThatIsFullAgain_answersThePresentThatItWasChargedAt() throws SQLException {
    long before = epochNanos();
    for (int i = 0; i < 100; i++) { // a microsecond later each is full again
      long[] answer = spend("1:a", 1_000, 1_000);
      if (Effect.of(Op.SPEND, 1_000, 1_000).passes(answer[0], answer[1])) {
        long ahead = Gcra.aheadNanos(answer[0], answer[1]);
        assertThat(stored("1:a")).isEqualTo(answer[0] + ahead + 1_000);
      }
      assertThat(answer[0]).isBetween(before, epochNanos());
    }
  }

  @Test
  void spend_ofMoreThanTheBurst_isDenied() throws SQLException {
    for (long increment : List.of(2_001L, Long.MAX_VALUE)) {
      long[] answer = spend("1:a", increment, 2_000);
      assertThat(answer[1]).isEqualTo(Gcra.NO_TAT);
      assertThat(stored("1:a")).isEqualTo(Gcra.NO_TAT);
    }
  }

  /** The other insert keeps the spend waiting, and is then undone. */
  @Test
  void spend_thatWaitsForAnInsert_isDecidedByTheTimeAfterTheWait() throws Exception {
    long hour = TimeUnit.HOURS.toNanos(1);
    long end =
        decidesAfterTheWait(
            "INSERT INTO sluice_bucket VALUES ('1:a', 0)", () -> spend("1:a", hour, hour));
    assertThat(stored("1:a")).isGreaterThanOrEqualTo(end + hour);
  }

  /** A spend that is granted, one that is denied, and two for several callers. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "spend_v1(false, 30000, '1:a', 1, 7200000000000)",
        "spend_v1(false, 30000, '1:a', 1, 1)",
        "charge_v1(false, 30000, '{1:a,1:b}', '{1,1,9,9}', '{}')",
        "charge_v1(false, 30000, '{1:a,1:b}', '{1,1,1,9,0,2,1,1,9,0}', '{2}')"
      })
  void call_thatWaitsForALockedRow_isDecidedByTheTimeAfterTheWait(String call) throws Exception {
    long hour = TimeUnit.HOURS.toNanos(1);
    var unused = spend("1:a", hour, hour);
    try (PreparedStatement query = connection.prepareStatement("SELECT sluice_" + call)) {
      var unusedEnd =
          decidesAfterTheWait("SELECT * FROM sluice_bucket FOR UPDATE", () -> only(query));
    }
  }

  /**
   * Lets a call wait for another transaction, which is then undone. Returns a time between the
   * start of the wait and its end.
   */
  private long decidesAfterTheWait(String lock, Callable<long[]> call) throws Exception {
    try (Connection other = source.getConnection();
        Statement locking = other.createStatement()) {
      other.setAutoCommit(false);
      locking.execute(lock);
      FutureTask<long[]> answer = new FutureTask<>(call);
      new Thread(answer).start();
      await().until(() -> isWaiting(locking));
      long waits = epochNanos(locking);
      await().until(() -> epochNanos(locking) > waits + 50_000_000);
      long end = epochNanos(locking);
      other.rollback();
      assertThat(answer.get()[0]).isGreaterThanOrEqualTo(end);
      return end;
    }
  }

  private static boolean isWaiting(Statement statement) throws SQLException {
    try (ResultSet rows =
        statement.executeQuery(
            "SELECT count(*) FROM pg_stat_activity"
                + " WHERE wait_event_type = 'Lock' AND datname = current_database()")) {
      return rows.next() && rows.getInt(1) == 1;
    }
  }

  @Test
  void decide_keysThatAreNotInOrder_isRefused() {
    List<Charge> batch =
        List.of(new Charge("b", Op.SPEND, 1, 9, 0), new Charge("a", Op.SPEND, 1, 9, 0));
    assertThatThrownBy(() -> decide(1_000, List.of(batch), List.of("b", "a")))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("not in the order");
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 1_000, 86_400_000_000_000L, Long.MAX_VALUE})
  void decide_oneSpendOfEachKey_decidesAsWithTheSizesOfTheBatches(long base) throws SQLException {
    SplittableRandom random = new SplittableRandom(base);
    long now = TimeUnit.DAYS.toNanos(365L * 56);
    for (int call = 0; call < 300; call++) {
      now += random.nextLong(Math.min(base, 1L << 50) + 1);
      List<String> keys = Stream.of("a", "b", "c", "d").skip(random.nextInt(4)).toList();
      List<List<Charge>> spends = new ArrayList<>();
      List<Long> numbers = new ArrayList<>();
      for (String key : keys) {
        long offset = 1 + random.nextLong(base);
        long increment = 1 + random.nextLong(random.nextBoolean() ? offset : base);
        spends.add(List.of(new Charge(key, Op.SPEND, increment, offset, Effect.NO_END)));
        numbers.add(numbers.size() / 2, increment);
        numbers.add(offset);
      }
      connection.setAutoCommit(false);
      List<Long> answer = decide(now, keys, numbers, List.of());
      List<Long> stored = stored(keys);
      connection.rollback();
      connection.setAutoCommit(true);
      assertThat(answer).as("now %s: %s", now, spends).isEqualTo(decide(now, spends, keys));
      assertThat(stored).as("now %s: %s", now, spends).isEqualTo(stored(keys));
    }
  }

  private List<Long> stored(List<String> keys) throws SQLException {
    List<Long> tats = new ArrayList<>();
    for (String key : keys) {
      tats.add(stored(key));
    }
    return tats;
  }

  /** The functions run with the rights of their owner, so a caller's objects could abuse these. */
  @Test
  void functions_whoseCallerHasObjectsOfTheSameNames_useNoneOfThem() throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("CREATE SCHEMA theirs");
      for (String type : List.of("text", "bytea", "tid")) {
        statement.execute(
            "CREATE DOMAIN theirs.%s AS pg_catalog.%s CHECK (false)".formatted(type, type));
      }
      statement.execute("SET search_path = theirs, pg_catalog");
      for (String operator :
          List.of(
              "bigint + bigint bigint",
              "bigint - bigint bigint",
              "bigint * bigint bigint",
              "bigint * int bigint",
              "float8 * float8 float8",
              "bigint < bigint boolean",
              "bigint <= bigint boolean",
              "pg_catalog.bytea = pg_catalog.bytea boolean",
              "bigint || bigint[] bigint[]")) {
        String[] words = operator.split(" ", -1);
        String function = "theirs.gives_" + words[3].replace("[]", "s");
        statement.execute(theirs(function, words[0] + ", " + words[2], words[3]));
        statement.execute(
            "CREATE OPERATOR theirs.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %s)"
                .formatted(words[1], words[0], words[2], function));
      }
      for (String[] function :
          List.of(
              new String[] {"clock_timestamp", "", "timestamptz"},
              new String[] {"date_part", "pg_catalog.text, timestamptz", "float8"},
              new String[] {
                "set_config", "pg_catalog.text, pg_catalog.text, boolean", "pg_catalog.text"
              },
              new String[] {"unnest", "pg_catalog.bytea[]", "SETOF pg_catalog.bytea"},
              new String[] {"cardinality", "pg_catalog.bytea[]", "int"})) {
        statement.execute(theirs("theirs." + function[0], function[1], function[2]));
      }
      statement.execute(
          theirs(
              "public.sluice_decide_v1",
              "pg_catalog.text, pg_catalog.bytea[], bigint[], int[]",
              "bigint[]"));
      for (String call :
          List.of(
              "spend_v1(true, 1000, 'a', 9, 9)",
              "spend_v1(true, 1000, 'a', 9, 9)",
              "spend_v1(true, 1000, 'a', 3600000000000, 3600000000000)",
              "spend_v1(true, 1000, 'a', 3600000000000, 3600000000000)",
              "charge_v1(true, 1000, '{a,b}', '{1,1,9,9}', '{}')",
              "charge_v1(true, 1000, '{a,b}', '{1,1,9,9,0,2,3,9,9,0}', '{2}')",
              "read_v1('{a,b}')",
              "clean_v2('', 10)",
              "announce_v1('a', 'b', 1000)")) {
        statement.execute("SELECT public.sluice_" + call);
      }
    }
  }

  /** Returns a function that fails if it is called. */
  private static String theirs(String name, String parameters, String type) {
    return "CREATE OR REPLACE FUNCTION %s(%s) RETURNS %s LANGUAGE plpgsql AS"
            .formatted(name, parameters, type)
        + " $$ BEGIN RAISE EXCEPTION 'called theirs'; END $$";
  }

  /** PostgreSQL takes a lock_timeout of 0 as a wait without end. */
  @ParameterizedTest
  @ValueSource(
      strings = {"spend_v1(true, 0, 'a', 1, 1)", "charge_v1(true, 0, '{a}', '{1,1}', '{}')"})
  void call_thatMayWait0Milliseconds_endsAtALockedRow(String call) throws SQLException {
    try (Connection other = source.getConnection();
        Statement locking = other.createStatement();
        Statement statement = connection.createStatement()) {
      statement.execute("SELECT sluice_spend_v1(true, 1000, 'a', 1, 1)");
      other.setAutoCommit(false);
      locking.execute("SELECT * FROM sluice_bucket FOR UPDATE");
      statement.setQueryTimeout(30);
      assertThatThrownBy(() -> statement.execute("SELECT sluice_" + call))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("lock timeout");
      other.rollback();
    }
  }

  @Test
  void read_ofBucketsThatAreMissing_locksAndWritesNothing() throws SQLException {
    try (PreparedStatement query = connection.prepareStatement("SELECT sluice_read_v1(?)")) {
      query.setArray(1, keys(List.of("b", "a")));
      long[] answer = only(query);
      assertThat(Arrays.copyOfRange(answer, 1, 3)).containsExactly(Gcra.NO_TAT, Gcra.NO_TAT);
      assertThat(answer[0]).isPositive();
    }
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT count(*) FROM sluice_bucket")) {
      assertThat(rows.next()).isTrue();
      assertThat(rows.getInt(1)).isZero();
    }
  }

  @Override
  protected List<Long> decide(long now, List<List<Charge>> batches) throws SQLException {
    TreeSet<String> keys = new TreeSet<>(BucketFunctionsTest::byBytes);
    batches.forEach(batch -> batch.forEach(charge -> keys.add(charge.key())));
    return decide(now, batches, List.copyOf(keys));
  }

  private List<Long> decide(long now, List<List<Charge>> batches, List<String> keys)
      throws SQLException {
    List<Long> charges = new ArrayList<>();
    List<Integer> sizes = new ArrayList<>();
    for (List<Charge> batch : batches) {
      sizes.add(batch.size());
      for (Charge charge : batch) {
        charges.add(keys.indexOf(charge.key()) + 1L);
        charges.add(SqlCall.number(charge.op()));
        charges.add(charge.incrementNanos());
        charges.add(charge.offsetNanos());
        charges.add(
            charge.op() == Op.SPEND_UP_TO ? charge.untilNanos() : flipped(charge.untilNanos()));
      }
    }
    return decide(now, keys, charges, sizes);
  }

  private List<Long> decide(long now, List<String> keys, List<Long> charges, List<Integer> sizes)
      throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement("SELECT sluice_decide_v1(?, ?, ?, ?)")) {
      query.setLong(1, flipped(now));
      query.setArray(2, keys(keys));
      query.setArray(3, connection.createArrayOf("bigint", charges.toArray()));
      query.setArray(4, connection.createArrayOf("int", sizes.toArray()));
      return Arrays.stream(only(query)).boxed().toList();
    }
  }

  private long[] spend(String key, long increment, long offset) throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement("SELECT sluice_spend_v1(false, 30000, ?, ?, ?)")) {
      query.setBytes(1, utf8(key));
      query.setLong(2, increment);
      query.setLong(3, offset);
      return only(query);
    }
  }

  /** The times of the only row. */
  private static long[] only(PreparedStatement query) throws SQLException {
    try (ResultSet rows = query.executeQuery()) {
      assertThat(rows.next()).isTrue();
      Array answer = rows.getArray(1);
      return Arrays.stream((Long[]) answer.getArray())
          .mapToLong(BucketFunctionsTest::flipped)
          .toArray();
    }
  }

  @Override
  protected long stored(String key) throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement("SELECT tat FROM sluice_bucket WHERE key = ?")) {
      query.setBytes(1, utf8(key));
      try (ResultSet rows = query.executeQuery()) {
        return rows.next() ? flipped(rows.getLong(1)) : Gcra.NO_TAT;
      }
    }
  }

  private long epochNanos() throws SQLException {
    try (Statement statement = connection.createStatement()) {
      return epochNanos(statement);
    }
  }

  private static long epochNanos(Statement statement) throws SQLException {
    try (ResultSet rows = statement.executeQuery("SELECT sluice_now_v1()")) {
      assertThat(rows.next()).isTrue();
      return flipped(rows.getLong(1));
    }
  }

  private Array keys(List<String> keys) throws SQLException {
    return connection.createArrayOf(
        "bytea", keys.stream().map(BucketFunctionsTest::utf8).toArray(byte[][]::new));
  }

  private static byte[] utf8(String key) {
    return key.getBytes(StandardCharsets.UTF_8);
  }

  private static int byBytes(String left, String right) {
    return Arrays.compareUnsigned(utf8(left), utf8(right));
  }

  private static long flipped(long time) {
    return time ^ Long.MIN_VALUE;
  }
}
