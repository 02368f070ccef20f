// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;

/**
 * Spends that a database granted and then lost, in a crash or a failover. Each spend takes the only
 * token of its own bucket, so the rows of the table show afterwards which spends survived.
 *
 * @param granted the number of spends that were granted to callers before the crash
 * @param undone the number of granted spends whose rows are missing after the crash
 * @param millis the time from the first lost grant to the crash
 */
record Undone(int granted, int undone, long millis) {

  private static final int LOAD_MILLIS = 3_000;
  private static final int RECOVERY_SECONDS = 60;
  private static final int RETRY_MILLIS = 100;
  private static final long HOUR_NANOS = TimeUnit.HOURS.toNanos(1);

  /**
   * Kills a database while callers spend, and waits until the database has recovered.
   *
   * @param opened the store, which this method closes
   * @param source opens connections to the store's database
   * @param pauseMillis pause of each caller after each spend
   */
  static Undone byACrash(
      BucketStore opened, DataSource source, int callers, int pauseMillis, Runnable kill)
      throws SQLException, InterruptedException, ExecutionException {
    Map<String, Long> grants = new ConcurrentHashMap<>();
    long killNanos;
    try (BucketStore store = opened) {
      AtomicInteger ids = new AtomicInteger();
      AtomicBoolean killed = new AtomicBoolean();
      List<FutureTask<Boolean>> tasks = new ArrayList<>();
      for (int i = 0; i < callers; i++) {
        FutureTask<Boolean> task =
            new FutureTask<>(() -> spendUntilTheCrash(store, pauseMillis, ids, grants, killed));
        tasks.add(task);
        new Thread(task, "caller").start();
      }
      TimeUnit.MILLISECONDS.sleep(LOAD_MILLIS + new Random().nextInt(LOAD_MILLIS / 3));
      killNanos = System.nanoTime();
      killed.set(true);
      kill.run();
      for (FutureTask<Boolean> task : tasks) {
        var unused = task.get();
      }
    }
    long crashNanos = grants.values().stream().reduce(killNanos, Math::max);
    return of(source, grants, crashNanos);
  }

  /**
   * Finds out which grants have survived, as soon as the database answers.
   *
   * @param grants the keys of the buckets, and when their spends were granted
   * @param crashNanos the moment of the crash
   */
  static Undone of(DataSource source, Map<String, Long> grants, long crashNanos)
      throws SQLException, InterruptedException {
    Set<String> survivors = keys(source);
    long[] undone =
        grants.entrySet().stream()
            .filter(grant -> !survivors.contains(grant.getKey()))
            .mapToLong(Map.Entry::getValue)
            .sorted()
            .toArray();
    return new Undone(
        grants.size(),
        undone.length,
        undone.length == 0 ? 0 : TimeUnit.NANOSECONDS.toMillis(crashNanos - undone[0]));
  }

  /** Returns the spend of a bucket's only token. */
  static Charge onlyToken(String key) {
    return new Charge(key, Op.SPEND, HOUR_NANOS, HOUR_NANOS, Effect.NO_END);
  }

  /** Spends until a call fails after the kill; a call that fails earlier only timed out. */
  private static boolean spendUntilTheCrash(
      BucketStore store,
      int pauseMillis,
      AtomicInteger ids,
      Map<String, Long> grants,
      AtomicBoolean killed)
      throws InterruptedException {
    while (true) {
      String key = "k" + ids.incrementAndGet();
      try {
        var unused = store.charge(List.of(onlyToken(key)));
        grants.put(key, System.nanoTime());
      } catch (StoreException e) {
        if (killed.get()) {
          return true;
        }
      }
      TimeUnit.MILLISECONDS.sleep(pauseMillis);
    }
  }

  /** Waits until the database has recovered, and returns the keys in its table. */
  private static Set<String> keys(DataSource source) throws SQLException, InterruptedException {
    long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(RECOVERY_SECONDS);
    while (true) {
      try (Connection connection = source.getConnection();
          Statement statement = connection.createStatement();
          ResultSet rows = statement.executeQuery("SELECT * FROM sluice_bucket")) {
        Set<String> keys = new HashSet<>();
        while (rows.next()) {
          keys.add(new String(rows.getBytes(1), StandardCharsets.UTF_8));
        }
        return keys;
      } catch (SQLException e) {
        if (System.nanoTime() - endNanos > 0) {
          throw e;
        }
        TimeUnit.MILLISECONDS.sleep(RETRY_MILLIS);
      }
    }
  }
}
