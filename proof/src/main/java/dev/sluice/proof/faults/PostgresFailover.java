// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.postgres.Durability;
import dev.sluice.postgres.PostgresStore;
import dev.sluice.postgres.PostgresUrl;
import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Folder;
import dev.sluice.proof.faults.Load.Stalls;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.FreePort;
import dev.sluice.testkit.servers.LocalPostgres;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

/**
 * The grants of several processes on a PostgreSQL whose primary is killed and whose replica is
 * promoted.
 *
 * @param undone the grants that the replica lacks
 * @param lagMillis the time from the last commit that the replica has replayed to the death of the
 *     primary
 * @param stallMillis the longest stall of the machine
 * @param after grants after the promotion
 */
record PostgresFailover(
    Undone undone, boolean synchronous, long lagMillis, long stallMillis, long after) {

  private static final int SECONDS = 20;
  private static final int THREADS = 4;
  private static final int LOADED_SPENDS = 1_000;
  private static final int LOAD_MILLIS = 3_000;
  private static final int PAUSE_MILLIS = 2;
  private static final int LOOK_EVERY_MILLIS = 20;
  private static final int REPLAY_MILLIS = 300;
  private static final String REPLAYED = "SELECT pg_last_wal_replay_lsn() - '0/0'";
  private static final int SILENT_MILLIS = 300; // between the servers, before the primary dies
  private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(3);

  /** The primary and its replica, in a temporary folder. */
  private static final class Pair implements AutoCloseable {
    private final Folder folder = Folder.make();
    private final EmbeddedPostgres primary;
    private final EmbeddedPostgres replica;
    private final Proxy between;

    /** Creates the tables on the primary, copies the stopped primary, and starts both servers. */
    Pair(Durability durability, boolean synchronous)
        throws IOException, SQLException, InterruptedException {
      Path of = folder.path().resolve("primary");
      Path to = folder.path().resolve("replica");
      EmbeddedPostgres first = start(of, FreePort.next());
      PostgresStore.create(source(first), durability, null);
      first.close();
      between = Proxy.before(first.getPort());
      String[] address = between.address().split(":", 2);
      LocalPostgres.copyAsStandby(of, to, address[0], Integer.parseInt(address[1]));
      primary = start(of, first.getPort());
      replica = start(to, FreePort.next());
      if (synchronous) {
        Trial.execute(source(primary), "ALTER SYSTEM SET synchronous_standby_names = '*'");
        Trial.execute(source(primary), "SELECT pg_reload_conf()");
      }
      String state = synchronous ? "sync" : "async";
      awaitAtLeast(
          1,
          "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '"
              + state
              + "'");
    }

    void awaitLoad() throws IOException, SQLException, InterruptedException {
      awaitAtLeast(LOADED_SPENDS, "SELECT count(*) FROM sluice_bucket");
    }

    private void awaitAtLeast(long least, String sql)
        throws IOException, SQLException, InterruptedException {
      long end = System.nanoTime() + PATIENCE_NANOS;
      while (number(source(primary), sql) < least) {
        if (System.nanoTime() - end > 0) {
          throw new IOException("waited in vain for " + sql);
        }
        TimeUnit.MILLISECONDS.sleep(LOOK_EVERY_MILLIS);
      }
    }

    private static EmbeddedPostgres start(Path data, int port) throws IOException {
      return EmbeddedPostgres.builder()
          .setDataDirectory(data)
          .setCleanDataDirectory(false)
          .setPort(port)
          .setPGStartupWait(Duration.ofMinutes(1)) // both processors can be busy
          .setServerConfig("fsync", "on")
          .setServerConfig("synchronous_commit", "on")
          .start();
    }

    static DataSource source(EmbeddedPostgres server) {
      return PostgresUrl.dataSource(
          "postgresql://postgres@127.0.0.1:%s/postgres".formatted(server.getPort()));
    }

    String address(Durability durability) {
      return "postgresql://postgres@127.0.0.1:%s,127.0.0.1:%s/postgres?targetServerType=primary&durability=%s"
          .formatted(
              primary.getPort(),
              replica.getPort(),
              durability == Durability.SYNC ? "sync" : "async");
    }

    /** Cuts off the replica, and then kills all processes of the primary with SIGKILL. */
    void kill() throws IOException, InterruptedException {
      between.silence();
      TimeUnit.MILLISECONDS.sleep(SILENT_MILLIS);
      Path pid = folder.path().resolve("primary/postmaster.pid");
      long number = Long.parseLong(Files.readAllLines(pid).get(0).strip());
      ProcessHandle server = ProcessHandle.of(number).orElseThrow();
      List<ProcessHandle> sessions = server.descendants().toList();
      server.destroyForcibly();
      sessions.forEach(ProcessHandle::destroyForcibly);
    }

    /** Promotes the replica. Returns the time of the last commit that the replica has replayed. */
    long promote() throws SQLException, InterruptedException {
      DataSource source = source(replica);
      // The replica replays the rest of what it received, whose last record may be cut off.
      long before = -1;
      for (long now = number(source, REPLAYED); now != before; now = number(source, REPLAYED)) {
        before = now;
        TimeUnit.MILLISECONDS.sleep(REPLAY_MILLIS);
      }
      long millis =
          number(source, "SELECT extract(epoch FROM pg_last_xact_replay_timestamp()) * 1000");
      Trial.execute(source, "SELECT pg_promote()");
      return millis;
    }

    @Override
    public void close() throws IOException {
      between.close();
      primary.close();
      replica.close();
      folder.close();
    }
  }

  /**
   * Runs the load, and kills the primary in the middle of it.
   *
   * @param synchronous whether each commit waits until the replica has written the commit to disk
   */
  static PostgresFailover of(Durability durability, boolean synchronous) throws Exception {
    try (Pair pair = new Pair(durability, synchronous);
        Stalls stalls = new Stalls()) {
      long[] killed = new long[1];
      long[] lag = new long[1];
      List<String> lines =
          Log.lines(
              Trial.CROWD,
              PostgresFailover.class,
              new String[] {pair.address(durability)},
              () -> {
                pair.awaitLoad();
                TimeUnit.MILLISECONDS.sleep(LOAD_MILLIS);
                pair.kill();
                killed[0] = System.nanoTime();
                lag[0] = System.currentTimeMillis();
                lag[0] -= pair.promote();
              });
      Map<String, Long> grants = new HashMap<>();
      for (String line : lines) {
        String[] words = line.split(" ", -1);
        grants.put(words[0], Long.parseLong(words[1]));
      }
      DataSource promoted = Pair.source(pair.replica);
      long after =
          grants.values().stream()
              .filter(at -> at - killed[0] > TimeUnit.SECONDS.toNanos(1)) // none is on its way
              .count();
      return new PostgresFailover(
          Undone.of(promoted, grants, killed[0]),
          synchronous,
          lag[0],
          stalls.longestMillis(),
          after);
    }
  }

  /** Returns a summary, or throws if the failover undid more grants than the durability allows. */
  String seen() throws BrokenPromise {
    String seen =
        "%s grants, of which the replica lacked %s"
            .formatted(undone.granted(), undone.undone())
            .concat(
                undone.undone() == 0
                    ? ""
                    : "; the lost grants are those of the last %s ms (the replica's lag: %s ms)"
                        .formatted(undone.millis(), lagMillis));
    BrokenPromise.unless(after > 0, "no grant after the promotion: %s", seen);
    BrokenPromise.unless(!synchronous || undone.undone() == 0, "%s", seen);
    BrokenPromise.unless(
        undone.millis() <= lagMillis + stallMillis, "%s; longest stall %s ms", seen, stallMillis);
    return seen;
  }

  /**
   * A process that spends from several threads, and prints the key and the moment of each grant.
   *
   * @param args the address of the store
   * @throws InterruptedException if the thread is interrupted
   */
  public static void main(String[] args) throws InterruptedException {
    try (BucketStore store = Load.open(args[0])) {
      long end = firstGrant(store) + TimeUnit.SECONDS.toNanos(SECONDS);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        String keys = ProcessHandle.current().pid() + "-" + i + "-";
        Thread thread = new Thread(() -> spend(store, keys, end));
        // Without the rest of its load, the trial would prove less than it says.
        thread.setUncaughtExceptionHandler((dead, why) -> Log.die(why));
        threads.add(thread);
        thread.start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }
    System.out.flush();
  }

  /** Returns the moment of the first grant. On a busy machine, processes start seconds apart. */
  private static long firstGrant(BucketStore store) throws InterruptedException {
    while (true) {
      try {
        var unused = store.charge(List.of(Undone.onlyToken("first" + System.nanoTime())));
        return System.nanoTime();
      } catch (StoreException e) {
        TimeUnit.MILLISECONDS.sleep(LOOK_EVERY_MILLIS);
      }
    }
  }

  private static void spend(BucketStore store, String keys, long end) {
    for (int i = 0; System.nanoTime() - end < 0; i++) {
      try {
        var unused = store.charge(List.of(Undone.onlyToken(keys + i)));
        System.out.printf("%s%s %s%n", keys, i, System.nanoTime());
        TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
      } catch (StoreException e) {
        // Nothing was granted.
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private static long number(DataSource source, String sql) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      return rows.next() ? rows.getLong(1) : 0;
    }
  }
}
