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
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

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
    try (Connection other = source.getConnection();
        Statement insert = other.createStatement()) {
      other.setAutoCommit(false);
      insert.execute("INSERT INTO sluice_bucket VALUES ('1:a', 0)");
      CompletableFuture<long[]> answer =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return spend("1:a", hour, hour);
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      await().until(() -> isWaiting(insert));
      long waits = epochNanos(insert);
      await().until(() -> epochNanos(insert) > waits + 50_000_000);
      long after = epochNanos(insert);
      other.rollback();
      assertThat(answer.get()[0]).isGreaterThanOrEqualTo(after);
      assertThat(stored("1:a")).isGreaterThanOrEqualTo(after + hour);
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
