// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Penalty;
import dev.sluice.testkit.servers.LocalPostgres;
import java.sql.SQLException;
import java.time.Instant;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The table of penalties in a real database. */
final class PenaltiesTableTest {

  private static final LimitName CALLS =
      LimitName.builder(1, "Calls").id(IdFormat.string()).build();
  private static final Catalogue NAMES = Catalogue.of(CALLS);
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
        .hasMessageContaining("is full: it has 2 rows, the most allowed");
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
}
