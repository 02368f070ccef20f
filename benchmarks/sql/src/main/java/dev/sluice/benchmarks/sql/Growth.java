// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.sql;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.postgres.Durability;
import dev.sluice.postgres.PostgresStore;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;

/**
 * Measures how the table of buckets grows while each of many ids spends once, and how the store
 * deletes the buckets afterwards. A bucket is full again one second after its spend.
 */
final class Growth {

  private static final int IN_FLIGHT = 4_096;
  private static final int LINES = 10;
  private static final long LOOK_SECONDS = 5;
  private static final String SIZES =
      """
      SELECT (SELECT count(*) FROM sluice_bucket), pg_table_size(relid) / 1e6,
        pg_indexes_size(relid) / 1e6, n_dead_tup, 1e2 * n_tup_hot_upd / greatest(n_tup_upd, 1)
      FROM pg_stat_user_tables WHERE relid = 'sluice_bucket'::regclass
      """;

  private final DataSource source;
  private long start;

  Growth(DataSource source) {
    this.source = source;
  }

  void run(long ids, int connections) throws SQLException, InterruptedException {
    PostgresStore.create(source, Durability.UNLOGGED, null);
    try (BucketStore store =
        PostgresStore.builder(source)
            .connections(connections)
            .timeout(Duration.ofMinutes(1))
            .open()) {
      start = System.nanoTime();
      spend(store, 0, ids);
      while (print("no more spends") > 0) {
        TimeUnit.SECONDS.sleep(LOOK_SECONDS);
      }
      spend(store, ids, ids / LINES);
    }
  }

  private void spend(BucketStore store, long first, long ids)
      throws SQLException, InterruptedException {
    Semaphore places = new Semaphore(IN_FLIGHT);
    AtomicReference<Throwable> failed = new AtomicReference<>();
    long second = TimeUnit.SECONDS.toNanos(1);
    for (long i = 1; i <= ids; i++) {
      places.acquire();
      Charge spend = new Charge("3:" + (first + i), Op.SPEND, second, second, Effect.NO_END);
      var unused =
          store
              .chargeAsync(List.of(spend))
              .whenComplete(
                  (readings, failure) -> {
                    failed.compareAndSet(null, failure);
                    places.release();
                  });
      if (failed.get() != null) {
        throw new IllegalStateException("a spend failed", failed.get());
      }
      if (i % Math.max(ids / LINES, 1) == 0) {
        var unusedRows = print(first + i + " ids have spent");
      }
    }
    places.acquire(IN_FLIGHT);
  }

  /** Prints the sizes of the table, and returns the number of buckets. */
  private long print(String what) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(SIZES)) {
      if (!rows.next()) {
        throw new IllegalStateException("the query for the sizes of the table returned no row");
      }
      System.out.printf(
          Locale.ROOT,
          "%,6d s  %-28s %,12d buckets, table %,8.1f MB, index %,8.1f MB, %,9d dead rows, %.0f %% of updates HOT%n",
          TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start),
          what,
          rows.getLong(1),
          rows.getDouble(2),
          rows.getDouble(3),
          rows.getLong(4),
          rows.getDouble(5));
      return rows.getLong(1);
    }
  }
}
