// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import static dev.sluice.postgres.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.acme.AcmeLimits;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.LimitOverride.LoweredException;
import dev.sluice.limit.Penalty;
import dev.sluice.testkit.servers.LocalPostgres;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The table, in a real PostgreSQL. */
@Tag("slow")
class OverridesTableTest {

  private static final Catalogue CATALOGUE = AcmeLimits.bundled().catalogue();

  private static final Quota AN_HOUR = Quota.per(9, Duration.ofHours(1));
  private static final Quota A_SECOND = Quota.burst(3).refill(2, Duration.ofSeconds(1));

  private String url;
  private DataSource source;
  private OverridesTable table;

  @BeforeEach
  void aDatabase() throws SQLException {
    url = LocalPostgres.newDatabase();
    source = PostgresUrl.dataSource(url);
    table = new OverridesTable(source, CATALOGUE);
  }

  @Test
  void put_thenLoad_bringsBackTheSame_forAllNineNames() throws SQLException {
    table.migrate();
    List<LimitOverride> all =
        List.of(
            override("NewRegistrationsPerIPAddress", "10.0.0.2", "Foo, \"quoted\""),
            override("NewRegistrationsPerIPv6Range", "2001:0db8::/48", ""),
            override("NewOrdersPerAccount", "18446744073709551615", ""),
            override("FailedAuthorizationsPerDomainPerAccount", "17", ""),
            override("CertificatesPerDomain", "Example.com", ""),
            override("CertificatesPerDomain", "2001:db8::", ""),
            override("CertificatesPerDomainPerAccount", "17", ""),
            override("CertificatesPerFQDNSet", "b.example.com,a.example.com", ""),
            override("FailedAuthorizationsForPausingPerDomainPerAccount", "17", "Bär"),
            override("LimitOverrideRequestsPerIPAddress", "10.0.0.2", ""));

    assertThat(table.put(all, true)).isEqualTo(new PutResult(10, 0, 0));

    TableContent content = table.load();
    assertThat(content.bad()).isEmpty();
    assertThat(content.overrides()).containsExactlyInAnyOrderElementsOf(all);
    assertThat(table.rows())
        .extracting(OverrideRow::bucketKey)
        .contains("3:18446744073709551615", "5:example.com", "5:2001:db8::/64", "6:17");
  }

  /** The rights that docs/command-line.md lists. */
  @Test
  void roleWithTheRightsOfAServer_readsAndWrites() throws SQLException {
    table.migrate();
    String role = "server_" + Long.toHexString(System.nanoTime());
    try (Connection connection = source.getConnection();
        Statement owner = connection.createStatement()) {
      owner.execute("CREATE ROLE " + role + " LOGIN");
      owner.execute("GRANT SELECT, INSERT, UPDATE ON rate_limit_overrides TO " + role);
      owner.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON rate_limit_penalties TO " + role);
      DataSource limited = PostgresUrl.dataSource(url.replace("postgres@", role + "@"));
      OverridesTable overrides = new OverridesTable(limited, CATALOGUE);
      LimitOverride one = override("NewOrdersPerAccount", "17", "");
      assertThat(overrides.put(Map.of(one, true), true)).isEqualTo(new PutResult(1, 0, 0));
      assertThat(overrides.put(List.of(one), false)).isEqualTo(new PutResult(0, 1, 0));
      assertThat(overrides.load().overrides()).containsExactly(one);
      assertThat(overrides.disable(one.name(), "17")).isTrue();
      PenaltiesTable penalties = new PenaltiesTable(limited);
      penalties.put(new Penalty(one.name(), "17", Instant.EPOCH.plusSeconds(9), 0, "", ""));
      assertThat(penalties.load(CATALOGUE, Instant.EPOCH)).hasSize(1);
      assertThat(penalties.removeEnded(Instant.EPOCH.plusSeconds(10))).isOne();
      assertThat(penalties.remove(one.name(), "17")).isFalse();
      owner.execute("DROP OWNED BY " + role);
      owner.execute("DROP ROLE " + role);
    }
  }

  @Test
  void overrideOfALimitWithoutANumber_isKeptUnderItsName() throws SQLException {
    LimitName own = LimitName.builder("Own").build();
    table = new OverridesTable(source, Catalogue.of(own));
    table.migrate();
    LimitOverride one = new LimitOverride(own, "a:b", Quota.per(9, Duration.ofHours(1)), "");
    assertThat(table.put(List.of(one), true)).isEqualTo(new PutResult(1, 0, 0));
    assertThat(table.load().overrides()).containsExactly(one);
    assertThat(table.rows()).singleElement().returns("Own:a:b", OverrideRow::bucketKey);
    assertThat(table.setEnabled(own, "a:b", false)).isTrue();
    assertThat(new OverridesTable(source, CATALOGUE).load().bad()).isEmpty();
    assertThat(table.setEnabled(own, "a:b", true)).isTrue();
    assertThat(new OverridesTable(source, CATALOGUE).load().bad())
        .singleElement()
        .returns("Own:a:b", BadRow::bucketKey);
  }

  @Test
  void put_again_changesTheQuota_andKeepsItDisabled() throws SQLException {
    table.migrate();
    assertThat(table.put(List.of(override("NewOrdersPerAccount", "17", "old")), true))
        .isEqualTo(new PutResult(1, 0, 0));
    assertThat(table.setEnabled(CATALOGUE.get("NewOrdersPerAccount"), "17", false)).isTrue();
    assertThat(table.load().overrides()).isEmpty();

    LimitOverride changed =
        new LimitOverride(
            CATALOGUE.get("NewOrdersPerAccount"), "17", Quota.per(9, Duration.ofHours(1)), "new");
    assertThat(table.put(List.of(changed), true)).isEqualTo(new PutResult(0, 1, 1));

    assertThat(table.load().overrides()).isEmpty();
    assertThat(table.rows())
        .singleElement()
        .satisfies(
            row -> {
              assertThat(row.enabled()).isFalse();
              assertThat(row.comment()).isEqualTo("new");
              assertThat(row.burst()).isEqualTo(9);
              assertThat(row.periodNanos()).isEqualTo(3_600_000_000_000L);
              assertThat(row.updatedAt()).isNotNull();
            });
    assertThat(table.setEnabled(CATALOGUE.get("NewOrdersPerAccount"), "17", true)).isTrue();
    assertThat(table.load().overrides()).containsExactly(changed);
  }

  @Test
  void put_withoutEnabled_keepsTheEndThatIsThere() throws SQLException {
    table.migrate();
    Quota quota = Quota.per(9, Duration.ofHours(1));
    LimitName name = CATALOGUE.get("NewOrdersPerAccount");
    Instant end = Instant.parse("2100-01-01T00:00:00Z");
    table.put(List.of(new LimitOverride(name, "17", quota, "", "ann", end)), true);

    table.put(Collections.singletonMap(new LimitOverride(name, "17", quota, "new"), null), false);
    assertThat(table.load().overrides())
        .containsExactly(new LimitOverride(name, "17", quota, "new", "ann", end));

    table.put(Map.of(new LimitOverride(name, "17", quota, "new"), true), false);
    assertThat(table.load().overrides())
        .containsExactly(new LimitOverride(name, "17", quota, "new", "ann", null));
  }

  @Test
  void put_withoutEnabled_ofAnOverrideThatHasEnded_isInForceAgain() throws SQLException {
    table.migrate();
    LimitName name = CATALOGUE.get("NewOrdersPerAccount");
    Instant end = Instant.parse("2026-01-01T00:00:00Z");
    table.put(
        List.of(new LimitOverride(name, "17", List.of(AN_HOUR), "Ticket 1", "ann", end)), true);
    LimitOverride again = new LimitOverride(name, "17", AN_HOUR, "Ticket 2");
    table.put(Collections.singletonMap(again, null), false);
    assertThat(table.load().overrides())
        .containsExactly(
            new LimitOverride(name, "17", List.of(AN_HOUR), "Ticket 2", "ann", /* until= */ null));
  }

  @Test
  void endThatTheTableCannotKeep_isRefused() {
    assertThatThrownBy(
            () ->
                new LimitOverride(
                    CATALOGUE.get("NewOrdersPerAccount"),
                    "17",
                    Quota.per(9, Duration.ofHours(1)),
                    "",
                    "",
                    Instant.parse("2600-01-01T00:00:00Z")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("until: found 2600-01-01T00:00:00Z");
  }

  /** An import of an old file took away what an operator had granted since. */
  @Test
  void put_ofLowerOverrides_isRefusedAsAWhole_andNamesEach() throws SQLException {
    table.migrate();
    LimitOverride a = override("NewOrdersPerAccount", "17", "ticket 1");
    LimitOverride b = override("NewOrdersPerAccount", "18", "ticket 2");
    table.put(List.of(a, b), true);
    LimitOverride lowerRate =
        new LimitOverride(a.name(), "17", Quota.burst(99).refill(1, Duration.ofDays(300)), "");
    LimitOverride smallerBurst =
        new LimitOverride(
            b.name(),
            "18",
            Quota.burst(b.quota().burst() - 1).refill(b.quota().count(), b.quota().period()),
            "");
    LimitOverride added = override("NewOrdersPerAccount", "19", "");

    assertThatThrownBy(() -> table.put(List.of(lowerRate, added, smallerBurst), false))
        .isInstanceOf(LoweredException.class)
        .hasMessageContainingAll(
            "\"17\"", "\"18\"", "from burst " + a.quota().burst() + ", ", "burst 99, 1 per 7200h")
        .message()
        .hasLineCount(2);
    assertThat(table.load().overrides()).containsExactly(a, b);

    table.put(List.of(lowerRate, added, smallerBurst), true);
    assertThat(table.rows())
        .extracting(OverrideRow::comment)
        .containsExactly("ticket 1", "ticket 2", "");
    assertThat(table.put(List.of(a, b), false)).isEqualTo(new PutResult(0, 2, 0));
  }

  /** A server of a new version may start before the schema is updated. */
  @Test
  void load_ofTheSchemaBeforeAuthorsEndsAndFurtherQuotas_works() throws SQLException {
    table.migrate();
    table.put(List.of(override("NewOrdersPerAccount", "1", "")), true);
    sql(
        "ALTER TABLE rate_limit_overrides DROP COLUMN author, DROP COLUMN until_ns, DROP COLUMN further_quotas");
    assertThat(table.load().overrides()).hasSize(1);
  }

  @Test
  void overrideThatIsDisabled_isNotDisabledAgain() throws SQLException {
    table.migrate();
    LimitName name = CATALOGUE.get("NewOrdersPerAccount");
    assertThat(table.disable(name, "1")).isFalse();
    table.put(List.of(override("NewOrdersPerAccount", "1", "")), true);
    assertThat(table.disable(name, "1")).isTrue();
    assertThat(table.disable(name, "1")).isFalse();
    assertThat(table.load().overrides()).isEmpty();
  }

  @Test
  void setEnabled_ofNoSuchOverride_saysSo() throws SQLException {
    table.migrate();
    assertThat(table.setEnabled(CATALOGUE.get("NewOrdersPerAccount"), "17", true)).isFalse();
  }

  private static LimitOverride several(Quota... quotas) {
    return new LimitOverride(
        CATALOGUE.get("NewOrdersPerAccount"), "18", List.of(quotas), "", "", null);
  }

  @Test
  void put_ofSeveralQuotas_isLoadedAgain_andReplacedAsAWhole() throws SQLException {
    table.migrate();
    LimitOverride two = several(A_SECOND, AN_HOUR);
    assertThat(table.put(List.of(two), true)).isEqualTo(new PutResult(1, 0, 0));
    assertThat(table.load().overrides()).containsExactly(two);
    assertThat(table.rows())
        .singleElement()
        .returns(3_600_000_000_000L, OverrideRow::periodNanos)
        .returns("{{3,2,1000000000}}", OverrideRow::furtherQuotas);
    LimitOverride four =
        several(
            Quota.per(99, Duration.ofDays(1)),
            AN_HOUR,
            Quota.per(8, Duration.ofMinutes(1)),
            A_SECOND);
    table.put(List.of(four), true);
    assertThat(table.load().overrides()).containsExactly(four);
    table.put(List.of(several(AN_HOUR)), true);
    assertThat(table.load().overrides()).containsExactly(several(AN_HOUR));
  }

  @Test
  void put_ofALowerQuotaAmongSeveral_orOfFewer_isRefused() throws SQLException {
    table.migrate();
    table.put(List.of(several(AN_HOUR, A_SECOND)), true);
    Quota lower = Quota.burst(2).refill(2, Duration.ofSeconds(1));
    assertThatThrownBy(() -> table.put(List.of(several(AN_HOUR, lower)), false))
        .isInstanceOf(LoweredException.class)
        .hasMessageContaining("burst 2, 2 per 1s");
    assertThatThrownBy(() -> table.put(List.of(several(AN_HOUR)), false))
        .isInstanceOf(LoweredException.class)
        .hasMessageEndingWith(
            "has several quotas (burst 9, 9 per 1h and burst 3, 2 per 1s), and the change has fewer: burst 9, 9 per 1h");
    assertThat(table.put(List.of(several(AN_HOUR, A_SECOND)), false))
        .isEqualTo(new PutResult(0, 1, 0));
  }

  /** The driver reads otherwise after its fifth read on a connection. */
  @Test
  void put_ofManyOverrides_ofWhichTheLastHasALowerFurtherQuota_isRefused() throws SQLException {
    table.migrate();
    LimitName name = CATALOGUE.get("NewOrdersPerAccount");
    List<LimitOverride> many = new ArrayList<>();
    for (int id = 10; id < 30; id++) {
      many.add(
          new LimitOverride(name, "" + id, List.of(AN_HOUR, A_SECOND), "", "", /* until= */ null));
    }
    table.put(many, true);
    Quota lower = Quota.burst(2).refill(2, Duration.ofSeconds(1));
    many.set(19, new LimitOverride(name, "29", List.of(AN_HOUR, lower), "", "", null));
    assertThatThrownBy(() -> table.put(many, false))
        .isInstanceOf(LoweredException.class)
        .hasMessageContaining("burst 2, 2 per 1s");
  }

  @Test
  void load_severalTimesOnOneConnection_findsTheFurtherQuotas() throws SQLException {
    table.migrate();
    LimitOverride two = several(AN_HOUR, A_SECOND);
    table.put(List.of(two), true);
    try (Connection only = PostgresUrl.dataSource(url + "?prepareThreshold=1").getConnection()) {
      OverridesTable pooled = new OverridesTable(Proxies.lending(source, only), CATALOGUE);
      for (int i = 0; i < 7; i++) {
        TableContent content = pooled.load();
        assertThat(content.bad()).isEmpty();
        assertThat(content.overrides()).containsExactly(two);
      }
    }
  }

  @Test
  void schema_refusesFurtherQuotasThatCannotBe() throws SQLException {
    table.migrate();
    table.put(List.of(several(AN_HOUR)), true);
    for (String further :
        List.of(
            "{3,2,1000000000}",
            "{{3,2}}",
            "{{3,2,0}}",
            "{{3,2,NULL}}",
            "{{1,1,1},{1,1,2},{1,1,3},{1,1,4}}")) {
      assertThatThrownBy(
              () -> sql("UPDATE rate_limit_overrides SET further_quotas = '%s'".formatted(further)))
          .as(further)
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("further_quotas");
    }
    sql("UPDATE rate_limit_overrides SET further_quotas = '{{3,2,1000000000}}'");
    assertThat(table.load().overrides()).containsExactly(several(AN_HOUR, A_SECOND));
  }

  /** In a table whose checks were lost, such quotas leave out their row, not all rows. */
  @Test
  void furtherQuotasThatCannotBe_areABadRow() throws SQLException {
    table.migrate();
    sql("CREATE TABLE unchecked AS TABLE rate_limit_overrides");
    sql("DROP TABLE rate_limit_overrides");
    sql("ALTER TABLE unchecked RENAME TO rate_limit_overrides");
    for (String further :
        List.of(
            "'{3,2}'",
            "'{{3,2,NULL}}'",
            "'{{-3,2,1}}'",
            "'{{0,2,1}}'",
            "'{{9,9,3600000000000}}'",
            "'[0:0][0:2]={{3,2,1}}'")) {
      sql("DELETE FROM rate_limit_overrides");
      sql(
          "INSERT INTO rate_limit_overrides (limit_number, bucket_key, burst, count, period_ns, enabled, comment, updated_at, further_quotas) VALUES (3, '3:18', 9, 9, 3600000000000, true, '', now(), %s)"
              .formatted(further));
      assertThat(table.load().bad()).as(further).singleElement().returns("3:18", BadRow::bucketKey);
    }
  }

  @Test
  void put_ofAnUnknownName_writesNothing() throws SQLException {
    table.migrate();
    LimitOverride unknown =
        new LimitOverride(
            LimitName.builder(77, "Other").build(), "x", Quota.per(1, Duration.ofHours(1)), "");
    assertThatThrownBy(
            () -> table.put(List.of(override("NewOrdersPerAccount", "17", ""), unknown), true))
        .isInstanceOf(UnknownLimitException.class);
    assertThat(table.rows()).isEmpty();
  }

  @Test
  void put_ofACommentThatPostgresCantKeep_writesNothing() throws SQLException {
    table.migrate();
    assertThatThrownBy(
            () -> table.put(List.of(override("NewOrdersPerAccount", "17", "a\0b")), true))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("comment or author of \"3:17\"")
        .hasMessageContaining("U+0000");
    assertThat(table.rows()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "77, 77:17, 1, 1, known limit",
    "3, 3:lol, 1, 1, regId",
    "3, 3:017, 1, 1, canonical",
    "3, 4:17, 1, 1, starts with",
    "5, 5:www, 1, 1, dot",
    "5, '5:2001:db8::', 1, 1, range",
    "7, '7:example.com,example.org', 1, 1, canonical",
    "3, 3:17, 0, 1, burst",
    "3, 3:17, 1, 0, count",
    "3, 3:17, 9223372036854775807, 1, overflows",
    "3, 3:17, 1, 9223372036854775807, round to 0"
  })
  void load_leavesABadRowOut_andKeepsTheOthers(
      int number, String key, long burst, long count, String reason) throws SQLException {
    table.migrate();
    table.put(List.of(override("NewOrdersPerAccount", "1", "")), true);
    // As somebody may have made the table without our checks.
    sql("CREATE TABLE unchecked AS TABLE rate_limit_overrides");
    sql("DROP TABLE rate_limit_overrides");
    sql("ALTER TABLE unchecked RENAME TO rate_limit_overrides");
    sql(
        "INSERT INTO rate_limit_overrides VALUES (%s, '%s', %s, %s, 3600000000000, true, '', now())"
            .formatted(number, key, burst, count));

    TableContent content = table.load();

    assertThat(content.overrides()).hasSize(1);
    assertThat(content.bad())
        .singleElement()
        .satisfies(
            bad -> {
              assertThat(bad.bucketKey()).isEqualTo(key);
              assertThat(bad.message()).contains(reason);
            });
  }

  @Test
  void load_ofARowWithoutValues_leavesOutThatRowAlone() throws SQLException {
    table.migrate();
    table.put(List.of(override("NewOrdersPerAccount", "1", "")), true);
    // A copy has none of the constraints.
    sql("CREATE TABLE unchecked AS TABLE rate_limit_overrides");
    sql("DROP TABLE rate_limit_overrides");
    sql("ALTER TABLE unchecked RENAME TO rate_limit_overrides");
    sql("INSERT INTO rate_limit_overrides (limit_number, enabled) VALUES (3, true)");
    sql("UPDATE rate_limit_overrides SET updated_at = NULL, comment = NULL");

    TableContent content = table.load();

    assertThat(content.overrides()).hasSize(1);
    assertThat(content.bad()).hasSize(1);
    assertThat(table.rows()).extracting(OverrideRow::updatedAt).containsOnly(Instant.EPOCH);
  }

  /** Race: each takes the first half of the rows, then waits for the other's. */
  @Test
  void put_byTwoAtOnce_inOppositeOrders_isDoneByBoth() throws Exception {
    table.migrate();
    List<LimitOverride> some =
        IntStream.rangeClosed(1, 300)
            .mapToObj(account -> override("NewOrdersPerAccount", "" + account, ""))
            .toList();
    List<LimitOverride> reversed = new ArrayList<>(some);
    Collections.reverse(reversed);
    for (int i = 0; i < 4; i++) {
      CompletableFuture<PutResult> one = inBackground(() -> table.put(some, true));
      CompletableFuture<PutResult> other = inBackground(() -> table.put(reversed, true));
      assertThat(one.get().added() + other.get().added()).isEqualTo(i == 0 ? 300 : 0);
    }
  }

  /** Race: the put finds no row that it could lower, and another program adds the row. */
  @Test
  void put_ofANewOverride_thatAnotherAddsMeanwhile_doesNotLowerTheOtherOne() throws Exception {
    table.migrate();
    CompletableFuture<PutResult> lower;
    CompletableFuture<PutResult> higher;
    try (Connection adding = source.getConnection();
        Statement add = adding.createStatement()) {
      adding.setAutoCommit(false);
      add.execute(
          "INSERT INTO rate_limit_overrides (limit_number, bucket_key, burst, count, period_ns)"
              + " VALUES (3, '3:18', 1000, 1000, 3600000000000), (3, '3:20', 1, 1, 3600000000000)");
      lower = inBackground(() -> table.put(List.of(several(AN_HOUR)), false));
      awaitWaiting(1);
      higher =
          inBackground(() -> table.put(List.of(override("NewOrdersPerAccount", "20", "")), false));
      awaitWaiting(2);
      adding.commit();
    }
    assertThatThrownBy(lower::get).hasRootCauseInstanceOf(LoweredException.class);
    assertThat(higher.get()).isEqualTo(new PutResult(0, 1, 0));
    assertThat(table.load().overrides())
        .containsExactlyInAnyOrder(
            several(Quota.per(1_000, Duration.ofHours(1))),
            override("NewOrdersPerAccount", "20", ""));
  }

  /** An import of many overrides can take minutes. */
  @Test
  void put_thatTakesLong_letsOthersMigrate_andPutOtherOverrides() throws Exception {
    table.migrate();
    LimitOverride one = override("NewOrdersPerAccount", "1", "");
    table.put(List.of(one), true);
    CompletableFuture<PutResult> slow;
    try (Connection locking = source.getConnection();
        Statement lock = locking.createStatement()) {
      locking.setAutoCommit(false);
      lock.execute("SELECT 1 FROM rate_limit_overrides FOR UPDATE");
      slow = inBackground(() -> table.put(List.of(one), false));
      awaitWaiting(1);
      assertThat(table.migrate()).isZero();
      assertThat(table.put(List.of(override("NewOrdersPerAccount", "2", "")), false))
          .isEqualTo(new PutResult(1, 0, 0));
    }
    assertThat(slow.get()).isEqualTo(new PutResult(0, 1, 0));
  }

  private void awaitWaiting(int sessions) throws SQLException {
    try (Connection watching = source.getConnection();
        Statement watch = watching.createStatement()) {
      await()
          .until(
              () -> {
                try (ResultSet found =
                    watch.executeQuery(
                        "SELECT count(*) FROM pg_stat_activity"
                            + " WHERE datname = current_database() AND wait_event_type = 'Lock'")) {
                  return found.next() && found.getInt(1) == sessions;
                }
              });
    }
  }

  /** No server could read such a table. */
  @Test
  void put_orEnable_ofMoreOverridesThanAreRead_isRefusedAsAWhole() throws SQLException {
    table.migrate();
    OverridesTable small = new OverridesTable(source, CATALOGUE, 3);
    LimitOverride one = override("NewOrdersPerAccount", "1", "");
    LimitOverride two = override("NewOrdersPerAccount", "2", "");
    small.put(List.of(one, two, override("NewOrdersPerAccount", "3", "")), true);
    assertThat(small.setEnabled(one.name(), "3", false)).isTrue();
    LimitOverride four = override("NewOrdersPerAccount", "4", "");
    LimitOverride five = override("NewOrdersPerAccount", "5", "");
    assertThatThrownBy(() -> small.put(List.of(four, five), true))
        .isInstanceOf(SQLException.class)
        .hasMessage(
            "rate_limit_overrides would have more than 3 enabled rows, the maximum; nothing was changed");
    assertThat(small.load().overrides()).containsExactly(one, two);

    assertThat(small.put(List.of(four), true)).isEqualTo(new PutResult(1, 0, 0));
    assertThat(small.put(List.of(one, two, four), true)).isEqualTo(new PutResult(0, 3, 0));
    assertThatThrownBy(() -> small.setEnabled(one.name(), "3", true))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("more than 3 enabled rows");
    assertThat(small.load().overrides()).containsExactly(one, two, four);
  }

  /** Another program can leave too many rows, and then these writes are the way out. */
  @Test
  void tableWithMoreOverridesThanAreRead_canBeLowered_andDisabled() throws SQLException {
    table.migrate();
    LimitOverride one = override("NewOrdersPerAccount", "1", "");
    LimitOverride two = override("NewOrdersPerAccount", "2", "");
    table.put(List.of(one, two, override("NewOrdersPerAccount", "3", "")), true);
    OverridesTable small = new OverridesTable(source, CATALOGUE, 1);
    assertThat(small.put(List.of(one), true)).isEqualTo(new PutResult(0, 1, 0));
    assertThat(small.put(Map.of(two, false), true)).isEqualTo(new PutResult(0, 1, 1));
    LimitOverride four = override("NewOrdersPerAccount", "4", "");
    assertThat(small.put(Map.of(four, false), true)).isEqualTo(new PutResult(1, 0, 1));
    assertThatThrownBy(() -> small.put(Map.of(two, true), true))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("more than 1 enabled rows");
  }

  @Test
  void aConnectionThatIsDropped_tellsWhyItWas() throws Exception {
    table.migrate();
    try (Connection locking = source.getConnection();
        Connection watching = source.getConnection();
        Statement lock = locking.createStatement();
        Statement watch = watching.createStatement()) {
      locking.setAutoCommit(false);
      lock.execute("LOCK TABLE rate_limit_overrides");
      CompletableFuture<TableContent> load = inBackground(() -> table.load());
      await()
          .until(
              () -> {
                try (ResultSet dropped =
                    watch.executeQuery(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                            + " WHERE datname = current_database() AND wait_event_type = 'Lock'")) {
                  return dropped.next();
                }
              });
      assertThatThrownBy(load::get)
          .hasRootCauseInstanceOf(SQLException.class)
          .rootCause()
          .hasMessageContaining("terminating connection");
    }
  }

  @Test
  void theSchema_refusesWhatCanNeverHold() throws SQLException {
    table.migrate();
    for (String values :
        List.of(
            "(3, '4:17', 1, 1, 1)",
            "(3, '3:', 1, 1, 1)",
            "(3, '3:17', 0, 1, 1)",
            "(3, '3:17', 1, -1, 1)",
            "(3, '3:17', 1, 1, 0)")) {
      assertThatThrownBy(
              () ->
                  sql(
                      "INSERT INTO rate_limit_overrides"
                          + " (limit_number, bucket_key, burst, count, period_ns) VALUES "
                          + values))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("check constraint");
    }
  }

  @Test
  void migrate_isDoneOnce_alsoByManyAtOnce() throws Exception {
    List<CompletableFuture<Integer>> all =
        Stream.generate(() -> inBackground(() -> table.migrate())).limit(4).toList();
    int applied = 0;
    for (CompletableFuture<Integer> one : all) {
      applied += one.get();
    }
    assertThat(applied).isEqualTo(5);
    assertThat(table.migrate()).isZero();
  }

  @Test
  void load_withoutTheTable_saysSo() {
    assertThatThrownBy(() -> table.load())
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("rate_limit_overrides");
  }

  private static <T> CompletableFuture<T> inBackground(Callable<T> work) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return work.call();
          } catch (Exception e) {
            throw new CompletionException(e);
          }
        },
        task -> new Thread(task, "aside").start()); // Java 25 has one thread for all on two cores
  }

  private void sql(String statement) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement work = connection.createStatement()) {
      work.execute(statement);
    }
  }

  private static LimitOverride override(String limit, String id, String comment) {
    LimitName name = CATALOGUE.get(limit);
    return new LimitOverride(
        name,
        name.overrideId().canonical(id, Strictness.LENIENT),
        Quota.burst(20).refill(40, Duration.ofHours(3)),
        comment);
  }
}
