// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.LimitOverride.LoweredException;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.postgres.BadRow;
import dev.sluice.postgres.OverridesRefresher;
import dev.sluice.postgres.OverridesTable;
import dev.sluice.postgres.PenaltiesTable;
import dev.sluice.postgres.PostgresUrl;
import dev.sluice.postgres.RefreshListener;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.admin.RuntimeLimits.KeepException;
import dev.sluice.server.admin.RuntimeLimits.Note;
import dev.sluice.server.admin.RuntimeLimits.Saved;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.servers.LocalPostgres;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Changes at run time that a real PostgreSQL keeps. */
@Tag("slow")
class RuntimeLimitsTableTest {

  private static final Duration OFTEN = Duration.ofMillis(1);
  private static final Duration RARELY = Duration.ofHours(1);
  private static final Note NO_NOTE = new Note("", "");
  private static final Catalogue NAMES = Catalogue.samples();
  private static final LimitName CALLS = NAMES.get("ApiCallsPerKey");
  private static final List<Quota> ONE = List.of(Quota.per(5, Duration.ofMinutes(1)));
  private static final List<Quota> TWO =
      List.of(Quota.per(5, Duration.ofMinutes(1)), Quota.per(2, Duration.ofSeconds(1)));

  private final DataSource database = PostgresUrl.dataSource(LocalPostgres.newDatabase());
  private final OverridesTable table = new OverridesTable(database, NAMES);
  private Limits files =
      Limits.builder(NAMES).limit(CALLS.name(), Quota.per(5, Duration.ofMinutes(1))).build();

  @BeforeEach
  void makeTables() throws SQLException {
    table.migrate();
  }

  /**
   * The race: a change asks for a read of the table while the refresher, which has just read it,
   * tells of the new limits.
   */
  @Test
  void parallelChanges_whileTheTableIsRead_allEnd_andHold() throws Exception {
    Server server = new Server(database, OFTEN);
    RuntimeLimits runtime = server.runtime;
    ExecutorService callers = Executors.newFixedThreadPool(5, RuntimeLimitsTableTest::daemon);
    try {
      List<CompletableFuture<Void>> changes = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        LimitOverride one = new LimitOverride(CALLS, "c" + i, i % 2 == 0 ? ONE : TWO, "", "", null);
        changes.add(CompletableFuture.runAsync(() -> put(one, runtime), callers));
      }
      CompletableFuture.allOf(changes.toArray(CompletableFuture[]::new)).get(240, TimeUnit.SECONDS);
      await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> runtime.limits().get().overridesOf(CALLS).size() == 100);
    } finally {
      callers.shutdownNow();
      var unused = CompletableFuture.runAsync(server::close); // hangs where the rest does
    }
    assertThat(runtime.limits().get().overridesOf(CALLS))
        .hasSize(100)
        .filteredOn(one -> one.quotas().equals(TWO))
        .hasSize(50);
  }

  /** The row stays, so that the table does not look like the wrong one. */
  @Test
  void overrideThatWasRemoved_isNotRemovedAgain_evenIfTheFilesHaveOne() {
    LimitOverride deployed = override("k", 7);
    files = files.withOverrides(List.of(deployed));
    try (Server server = new Server(database, RARELY)) {
      put(override("k", 9), server.runtime);
      assertThat(server.runtime.remove(CALLS, "k")).isTrue();
      assertThat(server.runtime.override(CALLS, "k")).isEqualTo(deployed);
      assertThat(server.runtime.remove(CALLS, "k")).as("the row is disabled").isFalse();
    }
  }

  @Test
  void overrideOfTheFiles_isInForceAgain_whenTheOneOfTheTableHasEnded() throws Exception {
    LimitOverride deployed = override("k", 7);
    files = files.withOverrides(List.of(deployed));
    try (Server server = new Server(database, RARELY)) {
      Instant end = Instant.now().plusSeconds(3);
      table.put(
          List.of(new LimitOverride(CALLS, "k", override("k", 9).quotas(), "", "", end)), true);
      server.refresher.get().refreshNow();
      await().atMost(Duration.ofMinutes(1)).until(() -> !Instant.now().isBefore(end));
      await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> deployed.equals(server.runtime.override(CALLS, "k")));
    }
  }

  @Test
  void overrideThatIsSetAnew_hasNoCommentOrAuthorOfTheRemovedOne_orOfTheEndedOne()
      throws Exception {
    List<Quota> quotas = override("k", 9).quotas();
    try (Server server = new Server(database, RARELY)) {
      put(new LimitOverride(CALLS, "k", quotas, "Ticket 17", "ann", null), server.runtime);
      assertThat(server.runtime.remove(CALLS, "k")).isTrue();
      Instant past = Instant.now().minusSeconds(60);
      table.put(List.of(new LimitOverride(CALLS, "e", quotas, "Ticket 18", "bob", past)), true);
      for (String id : List.of("k", "e")) {
        LimitOverride anew = override(id, 5);
        assertThat(server.runtime.put(anew, false, true).override()).isEqualTo(anew);
        assertThat(server.runtime.override(CALLS, id)).isEqualTo(anew);
      }
    }
  }

  /** A connection can fail after the change was saved. */
  @Test
  void change_isConfirmedExactlyIfItIsSaved_whicheverConnectionFails() throws Exception {
    LimitOverride before = override("k", 7);
    LimitOverride after = override("k", 9);
    Penalty ban = new Penalty(CALLS, "k", Instant.now().plusSeconds(600), 0, "");
    AtomicInteger left = new AtomicInteger();
    PenaltiesTable penalties = new PenaltiesTable(database);
    try (Server server = new Server(failingOnce(left), RARELY)) {
      for (int nth = 1; nth <= 8; nth++) {
        table.put(Map.of(before, true), true);
        left.set(nth);
        boolean confirmed = isConfirmed(() -> server.runtime.put(after, false, true));
        assertThat(table.load().overrides().contains(after)).as("put %s", nth).isEqualTo(confirmed);

        left.set(nth);
        confirmed = isConfirmed(() -> server.runtime.remove(CALLS, "k"));
        assertThat(table.load().overrides().isEmpty()).as("remove %s", nth).isEqualTo(confirmed);

        left.set(nth);
        confirmed = isConfirmed(() -> server.runtime.ban(CALLS, "k", ban.until(), NO_NOTE));
        assertThat(penalties.load(NAMES, Instant.EPOCH).contains(ban))
            .as("ban %s", nth)
            .isEqualTo(confirmed);
        if (confirmed) {
          assertThat(server.runtime.limits().get().penaltyFor(CALLS, "k")).isEqualTo(ban);
        }

        left.set(nth);
        confirmed = isConfirmed(() -> server.runtime.acquit(CALLS, "k"));
        if (confirmed) {
          assertThat(penalties.load(NAMES, Instant.EPOCH)).as("acquit %s", nth).isEmpty();
          assertThat(server.runtime.limits().get().penaltyFor(CALLS, "k")).isNull();
        }
        left.set(0);
        assertThat(isConfirmed(() -> server.runtime.remove(CALLS, "k"))).isTrue();
        assertThat(isConfirmed(() -> server.runtime.acquit(CALLS, "k"))).isTrue();
      }
    }
  }

  @Test
  void overrideThatIsSaved_butCannotBeReadBack_isAnsweredAsSaved_withAWarning() {
    AtomicInteger left = new AtomicInteger();
    try (Server server = new Server(failingOnce(left), RARELY)) {
      put(override("k", 7), server.runtime);
      List<List<String>> warnings = new ArrayList<>();
      for (int nth = 1; nth <= 5; nth++) {
        LimitOverride next = override("k", 7 + nth);
        left.set(nth);
        try {
          Saved saved = server.runtime.put(next, false, true);
          assertThat(saved.override()).isEqualTo(next);
          warnings.add(saved.warnings());
        } catch (KeepException e) {
          assertThat(server.runtime.override(CALLS, "k")).isNotEqualTo(next);
        }
      }
      assertThat(warnings).contains(List.of("the override is saved, but is not in force yet"));
    }
  }

  @Test
  void overrideOfAnotherServer_isNotLowered_norLosesItsEnd_beforeItWasPolled() {
    Instant end = Instant.parse("2199-01-01T00:00:00Z");
    try (Server a = new Server(database, RARELY);
        Server b = new Server(database, RARELY)) {
      Quota high = Quota.per(1000, Duration.ofMinutes(1));
      a.runtime.put(new LimitOverride(CALLS, "k", high, "note", "ann", end), false, true);
      assertThatThrownBy(() -> b.runtime.put(override("k", 500), true, false))
          .isInstanceOf(LoweredException.class);
      assertThat(b.runtime.put(override("k", 500), true, true).override())
          .isEqualTo(
              new LimitOverride(
                  CALLS, "k", Quota.per(500, Duration.ofMinutes(1)), "note", "ann", end));
    }
  }

  @Test
  void override_isNotSet_ifTheTableCannotBeReadBefore() throws Exception {
    AtomicInteger left = new AtomicInteger();
    LimitOverride high = override("k", 1000);
    try (Server server = new Server(failingOnce(left), RARELY)) {
      table.put(List.of(high), true); // by another server
      left.set(1);
      assertThatThrownBy(() -> server.runtime.put(override("k", 500), true, false))
          .isInstanceOf(KeepException.class);
      assertThat(table.load().overrides()).containsExactly(high);
      assertThatThrownBy(() -> server.runtime.put(override("k", 500), true, false))
          .isInstanceOf(LoweredException.class);
    }
  }

  @Test
  void reload_fails_ifTheTableOfOverridesCannotBeRead() {
    AtomicInteger left = new AtomicInteger();
    try (Server server = new Server(failingOnce(left), RARELY)) {
      left.set(1);
      assertThat(server.runtime.read()).isFalse();
      assertThat(server.runtime.mistakes()).singleElement().asString().contains("overrides");
      assertThat(server.runtime.read()).isTrue();
      assertThat(server.runtime.mistakes()).isEmpty();
    }
  }

  @Test
  void tableOfOverridesThatCannotBeRead_isAMistake_untilItCanBeReadAgain() throws Exception {
    table.put(List.of(override("k", 7)), true);
    try (Server server = new Server(database, OFTEN);
        Connection connection = database.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("ALTER TABLE rate_limit_overrides RENAME TO elsewhere");
      assertThat(server.runtime.read()).isFalse();
      assertThat(server.runtime.acquit(CALLS, "k")).as("reads the penalties").isNull();
      assertThat(server.runtime.mistakes()).singleElement().asString().contains("overrides");

      statement.execute("ALTER TABLE elsewhere RENAME TO rate_limit_overrides");
      await().atMost(Duration.ofMinutes(1)).until(() -> server.runtime.mistakes().isEmpty());
    }
  }

  @Test
  void overrideThatIsRemoved_butCannotBeReadBack_isStillInForce() {
    AtomicInteger left = new AtomicInteger();
    try (Server server = new Server(failingOnce(left), RARELY)) {
      put(override("k", 7), server.runtime);
      left.set(2); // the read after the removal
      assertThat(server.runtime.remove(CALLS, "k")).isTrue();
      assertThat(server.runtime.keptFor(CALLS, "k")).isEqualTo(override("k", 7));
      assertThat(server.runtime.read()).isTrue();
      assertThat(server.runtime.keptFor(CALLS, "k")).isNull();
    }
  }

  @Test
  void reload_readsTheTableOfOverrides() throws Exception {
    try (Server server = new Server(database, RARELY)) {
      table.put(List.of(override("k", 9)), true);
      assertThat(server.runtime.read()).isTrue();
      assertThat(server.runtime.override(CALLS, "k")).isEqualTo(override("k", 9));
    }
  }

  private static boolean isConfirmed(Supplier<?> change) {
    try {
      var unused = change.get();
      return true;
    } catch (KeepException e) {
      return false;
    }
  }

  private static void put(LimitOverride one, RuntimeLimits in) {
    in.put(one, false, true);
  }

  private static LimitOverride override(String id, long count) {
    return new LimitOverride(CALLS, id, Quota.per(count, Duration.ofMinutes(1)), "");
  }

  /** Returns the database, which refuses one connection: the one that counts {@code left} to 0. */
  private DataSource failingOnce(AtomicInteger left) {
    return (DataSource)
        Proxy.newProxyInstance(
            DataSource.class.getClassLoader(),
            new Class<?>[] {DataSource.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("getConnection") && left.getAndDecrement() == 1) {
                throw new SQLException("too many connections");
              }
              return method.invoke(database, arguments);
            });
  }

  /** What a server has of a table: the limits in force, and the one that reads the overrides. */
  private final class Server implements AutoCloseable {

    private final AtomicReference<OverridesRefresher> refresher = new AtomicReference<>();
    private final RuntimeLimits runtime;

    Server(DataSource source, Duration every) {
      CurrentLimits deployed = new CurrentLimits(files);
      CurrentLimits withTable = deployed.derived();
      runtime =
          RuntimeLimits.inTable(
              source,
              RARELY,
              () -> refresher.get().refreshNow(),
              withTable,
              deployed,
              BucketStore.inMemory());
      RefreshListener tells =
          new RefreshListener() {
            @Override
            public void refreshed(Instant at, Limits now, List<BadRow> bad) {
              runtime.tableRead(true);
            }

            @Override
            public void empty(Instant at, List<BadRow> bad) {
              runtime.tableRead(true);
            }

            @Override
            public void failed(Instant at, SQLException failure, Duration retryIn) {
              runtime.tableRead(false);
            }
          };
      OverridesTable own = new OverridesTable(source, NAMES);
      refresher.set(OverridesRefresher.start(own, deployed::get, withTable, every, tells));
      await().atMost(Duration.ofMinutes(1)).until(() -> runtime.ready() && refresher.get().ready());
    }

    @Override
    public void close() {
      runtime.close();
      refresher.get().close();
    }
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "change");
    thread.setDaemon(true);
    return thread;
  }
}
