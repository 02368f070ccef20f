// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Penalty;
import dev.sluice.testkit.LoggedLines;
import dev.sluice.testkit.servers.LocalPostgres;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The table of penalties in a real database. */
@Tag("slow")
final class PenaltiesTableTest {

  private static final LimitName CALLS =
      LimitName.builder(1, "Calls").id(IdFormat.string()).build();
  private static final LimitName LOGINS =
      LimitName.builder(101, "Logins")
          .id(IdFormat.joined(IdFormat.string(), IdFormat.ipAddress()))
          .overrideId(IdFormat.string())
          .build();
  private static final Catalogue NAMES = Catalogue.of(CALLS, LOGINS);
  private static final Instant NOW = Instant.parse("2026-11-22T10:00:00Z");

  private DataSource source;
  private PenaltiesTable table;

  @BeforeEach
  void aTable() throws SQLException {
    source = PostgresUrl.dataSource(LocalPostgres.newDatabase());
    new OverridesTable(source, NAMES).migrate();
    table = new PenaltiesTable(source);
  }

  @Test
  void penalty_comesBackExactly_isReplaced_andRemoved() throws SQLException {
    Penalty ban = new Penalty(CALLS, "a:b/ü", NOW.plusNanos(123_456_789), 0, "Ticket 17");
    table.put(ban);
    assertThat(table.load(NAMES, NOW)).containsExactly(ban);
    Penalty debt = new Penalty(CALLS, "a:b/ü", NOW.plusSeconds(60), 7, "");
    table.put(debt);
    assertThat(table.load(NAMES, NOW)).containsExactly(debt);
    assertThat(table.remove(CALLS, "a:b/ü")).isTrue();
    assertThat(table.remove(CALLS, "a:b/ü")).isFalse();
    assertThat(table.load(NAMES, NOW)).isEmpty();
  }

  @Test
  void penaltyOfALimitWithoutANumber_isKeptUnderItsName() throws SQLException {
    LimitName own = LimitName.builder("Own").build();
    Penalty ban = new Penalty(own, "a:b", NOW.plusSeconds(60), 0, "");
    table.put(ban);
    assertThat(table.load(Catalogue.of(own, CALLS), NOW)).containsExactly(ban);
    assertThat(table.load(NAMES, NOW)).isEmpty();
    assertThat(table.remove(own, "a:b")).isTrue();
  }

  /** More than are read would take all of them out of force at the next start. */
  @Test
  void fullTable_takesNoOtherPenalty_andStillReplacesAndRemoves() throws SQLException {
    PenaltiesTable small = new PenaltiesTable(source, 2);
    Penalty a = new Penalty(CALLS, "a", NOW.plusSeconds(1), 0, "");
    Penalty b = new Penalty(CALLS, "b", NOW.plusSeconds(1), 0, "");
    Penalty c = new Penalty(CALLS, "c", NOW.plusSeconds(1), 0, "");
    small.put(a);
    small.put(b);
    assertThatThrownBy(() -> small.put(c))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("is full with 2 rows");
    Penalty longer = new Penalty(CALLS, "b", NOW.plusSeconds(9), 0, "again");
    small.put(longer);
    assertThat(small.load(NAMES, NOW)).containsExactly(a, longer);
    assertThat(small.remove(CALLS, "a")).isTrue();
    small.put(c);
    assertThat(small.load(NAMES, NOW)).containsExactly(longer, c);
    table.put(a); // as a server does that has counted at the same time
    assertThat(small.load(NAMES, NOW)).hasSize(3);
  }

  @Test
  void penaltyThatHasEnded_orOfAnUnknownLimit_isLeftOut() throws SQLException {
    table.put(new Penalty(CALLS, "over", NOW.minusSeconds(1), 0, ""));
    table.put(new Penalty(CALLS, "holds", NOW.plusSeconds(1), 0, ""));
    assertThat(table.load(NAMES, NOW)).extracting(Penalty::id).containsExactly("holds");
    assertThat(table.load(Catalogue.of(), NOW)).isEmpty();
    assertThat(table.removeEnded(NOW)).isEqualTo(1);
    assertThat(table.removeEnded(NOW)).isZero();
  }

  /** As pools are often set: what nobody commits, they roll back. */
  @Test
  void connectionsThatDoNotCommitByThemselves_keepWhatIsWritten() throws SQLException {
    DataSource pool =
        Proxies.of(
            DataSource.class,
            source,
            (method, result) -> {
              if (result instanceof Connection connection) {
                connection.setAutoCommit(false);
              }
              return result;
            });
    PenaltiesTable pooled = new PenaltiesTable(pool);
    Penalty ban = new Penalty(CALLS, "a", NOW.plusSeconds(1), 0, "");
    Penalty other = new Penalty(CALLS, "b", NOW.plusSeconds(1), 0, "");
    Penalty over = new Penalty(CALLS, "c", NOW.minusSeconds(1), 0, "");
    pooled.put(ban);
    pooled.put(other);
    pooled.put(over);
    assertThat(table.load(NAMES, NOW.minusSeconds(2))).containsExactly(ban, other, over);
    assertThat(pooled.remove(CALLS, "b")).isTrue();
    assertThat(pooled.removeEnded(NOW)).isEqualTo(1);
    assertThat(table.load(NAMES, NOW.minusSeconds(2))).containsExactly(ban);
  }

  /** No look-up would ever find them. */
  @Test
  void rowsThatCanBeNoPenalties_areLeftOut_andLoggedOnce() throws SQLException {
    Penalty holds = new Penalty(LOGINS, "ann:2001:db8::1", NOW.plusSeconds(1), 0, "");
    table.put(holds);
    // As somebody may have made the table without our checks.
    sql("CREATE TABLE unchecked AS TABLE rate_limit_penalties");
    sql("DROP TABLE rate_limit_penalties");
    sql("ALTER TABLE unchecked RENAME TO rate_limit_penalties");
    insert(101, "101:ann:2001:DB8::1", 0);
    insert(101, "101:ann", 0);
    insert(101, "1:ann:192.0.2.1", 0);
    insert(101, "101:bob:192.0.2.1", -1);
    insert(77, "77:x", 0);
    try (LoggedLines logged = new LoggedLines(BadRowLog.class)) {
      assertThat(table.load(NAMES, NOW)).containsExactly(holds);
      assertThat(table.load(NAMES, NOW)).containsExactly(holds);
      assertThat(logged.lines())
          .hasSize(5)
          .allMatch(
              line ->
                  line.startsWith("WARNING ignored an invalid row of the table of penalties, \""))
          .anyMatch(line -> line.contains("canonical form \"101:ann:2001:db8::1\""))
          .anyMatch(line -> line.contains("limit_number: found 77"));
    }
  }

  /** Else the rows behind the bound would end unnoticed. */
  @Test
  void farTooManyRows_areRefused_alsoWhereSomeAreBad() throws SQLException {
    sql(
        "INSERT INTO rate_limit_penalties (limit_number, bucket_key, until_ns)"
            + " SELECT 101, '101:u' || i || ':192.0.2.1', 9e18 FROM generate_series(1, 1001) AS i");
    insert(77, "77:x", 0);
    PenaltiesTable small = new PenaltiesTable(source, 1);
    assertThatThrownBy(() -> small.load(NAMES, NOW))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("has more than 1001 rows, the maximum is 1");
  }

  private void insert(int number, String key, long owed) throws SQLException {
    sql(
        "INSERT INTO rate_limit_penalties (limit_number, bucket_key, until_ns, owed)"
            + " VALUES (%s, '%s', %s, %s)"
                .formatted(number, key, NOW.plusSeconds(1).toEpochMilli() * 1_000_000, owed));
  }

  private void sql(String statement) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement work = connection.createStatement()) {
      work.execute(statement);
    }
  }
}
