// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.postgres.BadRow;
import dev.sluice.postgres.OverridesRefresher;
import dev.sluice.postgres.OverridesTable;
import dev.sluice.postgres.PostgresUrl;
import dev.sluice.postgres.RefreshListener;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.servers.LocalPostgres;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Changes at run time that a real PostgreSQL keeps. */
@Tag("slow")
class RuntimeLimitsTableTest {

  private static final Duration OFTEN = Duration.ofMillis(1);
  private static final LimitName CALLS = Catalogue.samples().get("ApiCallsPerKey");
  private static final List<Quota> ONE = List.of(Quota.per(5, Duration.ofMinutes(1)));
  private static final List<Quota> TWO =
      List.of(Quota.per(5, Duration.ofMinutes(1)), Quota.per(2, Duration.ofSeconds(1)));

  /**
   * The race: a change asks for a read of the table while the refresher, which has just read it,
   * tells of the new limits.
   */
  @Test
  void parallelChanges_whileTheTableIsRead_allEnd_andHold() throws Exception {
    DataSource database = PostgresUrl.dataSource(LocalPostgres.newDatabase());
    OverridesTable table = new OverridesTable(database, Catalogue.samples());
    table.migrate();
    CurrentLimits files = new CurrentLimits(Limits.builder(Catalogue.samples()).build());
    CurrentLimits withTable = files.derived();
    AtomicReference<OverridesRefresher> refresher = new AtomicReference<>();
    Duration rarely = Duration.ofHours(1);
    RuntimeLimits runtime =
        RuntimeLimits.inTable(
            database,
            rarely,
            () -> refresher.get().refreshNow(),
            withTable,
            files,
            BucketStore.inMemory());
    RefreshListener tells =
        new RefreshListener() {
          @Override
          public void refreshed(Instant at, Limits now, List<BadRow> bad) {
            runtime.baseChanged();
          }
        };
    refresher.set(OverridesRefresher.start(table, files::get, withTable, OFTEN, tells));
    ExecutorService callers = Executors.newFixedThreadPool(5, RuntimeLimitsTableTest::daemon);
    try {
      List<CompletableFuture<Void>> changes = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        LimitOverride one = new LimitOverride(CALLS, "c" + i, i % 2 == 0 ? ONE : TWO, "", "", null);
        changes.add(CompletableFuture.runAsync(() -> runtime.put(one, true), callers));
      }
      CompletableFuture.allOf(changes.toArray(CompletableFuture[]::new)).get(60, TimeUnit.SECONDS);
      await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> runtime.limits().get().overridesOf(CALLS).size() == 100);
    } finally {
      callers.shutdownNow();
      runtime.close();
      var unused = CompletableFuture.runAsync(refresher.get()::close); // hangs where the rest does
    }
    assertThat(runtime.limits().get().overridesOf(CALLS))
        .hasSize(100)
        .filteredOn(one -> one.quotas().equals(TWO))
        .hasSize(50);
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "change");
    thread.setDaemon(true);
    return thread;
  }
}
