// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.Limiter;
import dev.sluice.mariadb.MariaDbStore;
import dev.sluice.postgres.Durability;
import dev.sluice.postgres.PostgresStore;
import dev.sluice.postgres.PostgresUrl;
import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.faults.Load.Stalls;
import dev.sluice.redis.RedisStore;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalCluster;
import dev.sluice.testkit.servers.LocalMariaDb;
import dev.sluice.testkit.servers.LocalPostgres;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.LocalSentinel;
import dev.sluice.testkit.servers.RedisBinary;
import java.net.URI;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.mariadb.jdbc.MariaDbDataSource;

/** A trial: a load on one store topology, such as a Redis Cluster, while faults are injected. */
enum Trial {
  SINGLE("8 processes on one Redis server: delays, cuts, silence, freezes, killed connections") {
    @Override
    String seen() throws Exception {
      try (LocalRedis redis = LocalRedis.start(RedisBinary.newest());
          Proxy proxy = Proxy.before(redis.port())) {
        String address = "redis://" + proxy.address() + "/0";
        Log log = Log.of(CROWD, address, SECONDS, () -> disturb(List.of(proxy), List.of(redis)));
        return judged(log, 0);
      }
    }
  },
  POSTGRES(
      "8 processes on PostgreSQL, durability sync: delays, cuts, silence, kill -9; 10^7 tokens") {
    @Override
    String seen() throws Exception {
      LocalPostgres.useDisk();
      String database = LocalPostgres.newDatabase();
      DataSource source = PostgresUrl.dataSource(database);
      PostgresStore.create(source, Durability.SYNC, null);
      try (Proxy proxy = Proxy.before(URI.create(database).getPort())) {
        String address =
            database.replaceFirst("127[.]0[.]0[.]1:[0-9]+", proxy.address()) + "?durability=sync";
        Log log =
            Log.of(
                CROWD,
                address,
                DATABASE_SECONDS,
                MANY_TOKENS,
                () -> disturb(proxy, () -> killSession(source), DATABASE_SECONDS));
        BrokenPromise.unless(
            log.tokens() >= LEAST_TOKENS,
            "only %s tokens were granted, expected at least %s",
            log.tokens(),
            LEAST_TOKENS);
        return judged(log, 0, WHILE_RECOVERING_PERCENT);
      }
    }
  },
  MARIADB(
      "8 processes on MariaDB, each commit on the disk: delays, cuts, silence, KILL, kill -9; 10^7 tokens") {
    @Override
    String seen() throws Exception {
      String server = "jdbc:mariadb://127.0.0.1:" + LocalMariaDb.port();
      restartMariaDb();
      DataSource root = new MariaDbDataSource(server + "/?user=root");
      execute(root, "CREATE DATABASE faults");
      execute(root, "CREATE USER app");
      MariaDbStore.create(new MariaDbDataSource(server + "/faults?user=root"), "app@%");
      Random random = new Random();
      try (Proxy proxy = Proxy.before(LocalMariaDb.port())) {
        Log log =
            Log.of(
                CROWD,
                "mariadb://app@%s/faults".formatted(proxy.address()),
                DATABASE_SECONDS,
                MANY_TOKENS,
                () ->
                    disturb(
                        proxy,
                        () -> {
                          if (random.nextBoolean()) {
                            execute(root, "KILL USER app");
                          } else {
                            restartMariaDb();
                          }
                        },
                        DATABASE_SECONDS));
        BrokenPromise.unless(log.tokens() >= LEAST_TOKENS, "only %s tokens", log.tokens());
        return judged(log, 0, WHILE_RECOVERING_PERCENT);
      }
    }
  },
  CRASHES_UNDO_NOTHING(
      "PostgreSQL, durability sync, and MariaDB, each commit on the disk: 20 times kill -9 under load") {
    @Override
    String seen() throws Exception {
      LocalPostgres.useDisk();
      String postgres = undone(0, () -> crashOfPostgres(Durability.SYNC, 64, 0));
      int port = LocalMariaDb.port();
      restartMariaDb();
      return "PostgreSQL: %s; MariaDB: %s"
          .formatted(postgres, undone(0, () -> crashOfMariaDb(port)));
    }
  },
  POSTGRES_ASYNC(
      "PostgreSQL, durability async, wal_writer_delay 200 ms: 20 times kill -9 under load") {
    @Override
    String seen() throws Exception {
      LocalPostgres.useDisk();
      return "with 1 caller that spends every %s ms: %s; with 64 callers: %s"
          .formatted(
              SELDOM_SPEND_MILLIS,
              undone(
                  MOST_UNDONE_MILLIS,
                  () -> crashOfPostgres(Durability.ASYNC, 1, SELDOM_SPEND_MILLIS)),
              undone(MOST_UNDONE_MILLIS, () -> crashOfPostgres(Durability.ASYNC, 64, 0)));
    }
  },
  POSTGRES_FAILOVER(
      "8 processes on PostgreSQL: the primary is killed with kill -9, and its replica is promoted") {
    @Override
    String seen() throws Exception {
      return "with durability async: %s; with sync: %s; with sync and synchronous_standby_names: %s"
          .formatted(
              PostgresFailover.of(Durability.ASYNC, false).seen(),
              PostgresFailover.of(Durability.SYNC, false).seen(),
              PostgresFailover.of(Durability.SYNC, true).seen());
    }
  },
  RING(
      "3 processes on a ring of two Redis servers: delays, cuts, silence, freezes, killed connections; some batches use both servers") {
    @Override
    String seen() throws Exception {
      try (LocalRedis first = LocalRedis.start(RedisBinary.newest());
          LocalRedis second = LocalRedis.start(RedisBinary.newest());
          Proxy one = Proxy.before(first.port());
          Proxy two = Proxy.before(second.port())) {
        String address = "redis-ring://" + one.address() + "," + two.address();
        Log log =
            Log.of(
                PROCESSES,
                address,
                SECONDS,
                () -> disturb(List.of(one, two), List.of(first, second)));
        return judged(log, 0);
      }
    }
  },
  CLUSTER("a Cluster of three masters: connections killed, a master frozen for a moment") {
    @Override
    String seen() throws Exception {
      try (LocalCluster cluster = LocalCluster.start(RedisBinary.newest(), false)) {
        Log log =
            Log.of(PROCESSES, cluster.uri(), SECONDS, () -> disturb(List.of(), cluster.servers()));
        return judged(log, 0);
      }
    }
  },
  CLUSTER_CUT("a Cluster: one connection cut, ten times, without any other fault") {
    @Override
    String seen() throws Exception {
      try (LocalCluster cluster = LocalCluster.start(RedisBinary.newest(), false)) {
        AtomicInteger markedDown = new AtomicInteger();
        BucketStore.Observer observer =
            new BucketStore.Observer() {
              @Override
              public void changed(String server, State state, String reason) {
                markedDown.addAndGet(state == State.DOWN ? 1 : 0);
              }
            };
        int failed = 0;
        try (RedisStore store = RedisStore.builder(cluster.uri()).observer(observer).open()) {
          Limiter limiter = Limiter.of(Load.LIMITS, store);
          for (int cut = 0; cut < CUTS; cut++) {
            failed += failures(limiter, CALLS_BETWEEN);
            kill(cluster.servers().get(cut % 3));
            failed += failures(limiter, CALLS_BETWEEN);
          }
        }
        BrokenPromise.unless(
            markedDown.get() == 0, "a healthy master was marked down %s times", markedDown.get());
        BrokenPromise.unless(
            failed <= CUTS,
            "%s calls failed because of %s cuts of an idle connection",
            failed,
            CUTS);
        return "no master was marked down; %s of %s calls failed"
            .formatted(failed, 2 * CUTS * CALLS_BETWEEN);
      }
    }
  },
  FAILOVER("a planned failover by Sentinel under load, three times") {
    @Override
    String seen() throws Exception {
      List<Failover> failovers = new ArrayList<>();
      long excess = 0;
      for (int i = 0; i < FAILOVERS; i++) {
        try (LocalSentinel group = LocalSentinel.start(RedisBinary.newest())) {
          Log log =
              Log.of(2, group.uri(), FAILOVER_SECONDS, () -> failovers.add(Failover.of(group)));
          excess = Math.max(excess, log.excess());
          log.requireInTime();
        }
      }
      long named = failovers.stream().mapToLong(Failover::afterNameMillis).max().orElse(0);
      long promoted = failovers.stream().mapToLong(Failover::afterPromotionMillis).max().orElse(0);
      String seen =
          ("the old master was called for at most %s ms after Sentinel reported the new master (%s ms after"
                  + " the promotion); a bucket granted at most %s tokens beyond its limit")
              .formatted(named, promoted, excess);
      BrokenPromise.unless(named <= MOST_OLD_MASTER_MILLIS, "%s", seen);
      // After a failover, the old and the new master both grant tokens for a short time. The new
      // master grants a token again if the old master's grant was not replicated.
      BrokenPromise.unless(excess <= Load.QUOTA.burst() + refilledWithin(promoted), "%s", seen);
      return seen;
    }
  },
  DENIED_BATCHES(
      "50 batches per second of a full and an empty bucket on two servers, all denied, while an observer checks the full bucket") {
    @Override
    String seen() throws Exception {
      return observed(new DeniedBatches(OFTEN_MILLIS, false));
    }
  },
  DENIED_BATCHES_DEAD_SERVER(
      "50 batches per second of a full and an empty bucket on two servers, while an observer checks the full bucket, and the server of the empty bucket is killed") {
    @Override
    String seen() throws Exception {
      return observed(new DeniedBatches(OFTEN_MILLIS, true));
    }
  },
  DENIED_BATCHES_SELDOM(
      "5 batches per second of a full and an empty bucket on two servers, all denied, while an observer checks the full bucket") {
    @Override
    String seen() throws Exception {
      return observed(new DeniedBatches(SELDOM_MILLIS, false));
    }
  },
  FROZEN("15,000 callers that wait for a frozen server") {
    @Override
    String seen() throws Exception {
      try (LocalRedis redis = LocalRedis.start(RedisBinary.newest());
          RedisStore store = RedisStore.builder(redis.uri()).queue(CALLERS).open()) {
        Limiter limiter = Limiter.of(Load.LIMITS, store);
        long answered = Load.longestCallMillis(limiter, CALLERS);
        // The first outage is only reported here; the trial FIRST_OUTAGE checks it.
        long first = whileFrozen(redis, limiter);
        awaitDecision(limiter);
        try (Stalls stalls = new Stalls()) {
          long longest = whileFrozen(redis, limiter);
          long most = MOST_MILLIS + stalls.longestMillis();
          String seen =
              "the last call ended after %s ms (longest stall %s ms; during the previous outage: %s ms; without an outage: %s ms)"
                  .formatted(longest, stalls.longestMillis(), first, answered);
          BrokenPromise.unless(longest <= most, "%s", seen);
          return seen;
        }
      }
    }
  },
  FIRST_OUTAGE("the first outage of a process: 1, 200 and 15,000 callers of a frozen server") {
    @Override
    String seen() throws Exception {
      FirstOutage cold = FirstOutage.of(false);
      FirstOutage warm = FirstOutage.of(true);
      String seen =
          "in new processes: %s; in processes that first made one successful call per caller: %s"
              .formatted(cold, warm);
      BrokenPromise.unless(cold.areInTime(MOST_MILLIS) && warm.areInTime(MOST_MILLIS), "%s", seen);
      return seen;
    }
  },
  COLD_STARTS("10 cold starts on a busy machine: the first decision") {
    @Override
    String seen() throws Exception {
      return coldStarts(1);
    }
  },
  COLD_STARTS_200("10 cold starts on a busy machine: 200 first requests at once") {
    @Override
    String seen() throws Exception {
      return coldStarts(200);
    }
  },
  COLD_BOOTS("10 cold starts of a Spring Boot application with lazy beans: the first request") {
    @Override
    String seen() throws Exception {
      return coldBoots(1);
    }
  },
  COLD_BOOTS_200(
      "10 cold starts of a Spring Boot application with lazy beans: 200 first requests at once") {
    @Override
    String seen() throws Exception {
      return coldBoots(200);
    }
  };

  private static final int PROCESSES = 3;
  static final int CROWD = 8;
  private static final int SECONDS = Integer.getInteger("faults.seconds", 20);
  private static final int DATABASE_SECONDS = Math.max(SECONDS, 60);
  private static final int ANSWERED_PERCENT = 20;
  // After a crash, a database recovers for several seconds. Calls fail immediately while a database
  // recovers.
  private static final int WHILE_RECOVERING_PERCENT = 5;
  private static final int MANY_TOKENS = 1_000; // the factor for the limit and the costs
  private static final long LEAST_TOKENS = 10_000_000;
  private static final String EACH_COMMIT_ON_DISK = "--innodb-flush-log-at-trx-commit=1";
  private static final int CRASHES = 10;
  private static final int LEAST_GRANTS = 50; // in 3 s before a crash
  private static final int SELDOM_SPEND_MILLIS = 20;
  private static final long MOST_UNDONE_MILLIS = 3 * 200; // three times wal_writer_delay
  private static final int FAILOVERS = 3;
  private static final int FAILOVER_SECONDS = 8;
  private static final int FIRST_FAULT_MILLIS = 3_000;
  private static final long MOST_OLD_MASTER_MILLIS = 1_000;
  private static final int CUTS = 10;
  private static final int CALLS_BETWEEN = 100;
  private static final int OFTEN_MILLIS = 20;
  private static final int SELDOM_MILLIS = 200;
  private static final int CHECK_EVERY_MILLIS = 2;
  private static final int CALLERS = 15_000;
  private static final long MOST_MILLIS = 550;
  private static final int STARTS = 10;

  private final String text;

  Trial(String text) {
    this.text = text;
  }

  String text() {
    return text;
  }

  abstract String seen() throws Exception;

  /**
   * Crashes a database several times. Returns how many grants a crash undid at most.
   *
   * @param mostMillis how long before a crash the undone grants may have been granted; 0 if a crash
   *     may undo no grant
   */
  private static String undone(long mostMillis, Callable<Undone> crashes) throws Exception {
    long granted = 0;
    long undone = 0;
    long millis = 0;
    for (int i = 0; i < CRASHES; i++) {
      try (Stalls stalls = new Stalls()) {
        Undone crash = crashes.call();
        BrokenPromise.unless(
            crash.undone() == 0
                || (mostMillis > 0 && crash.millis() <= mostMillis + stalls.longestMillis()),
            "%s; longest stall %s ms",
            crash,
            stalls.longestMillis());
        BrokenPromise.unless(
            crash.granted() >= LEAST_GRANTS, "%s; too few grants for a trial", crash);
        granted += crash.granted();
        undone = Math.max(undone, crash.undone());
        millis = Math.max(millis, crash.millis());
      }
    }
    return "%s grants, of which a crash undid at most %s, which were granted in the last %s ms before the crash"
        .formatted(granted, undone, millis);
  }

  private static Undone crashOfPostgres(Durability durability, int callers, int pauseMillis)
      throws Exception {
    DataSource source = PostgresUrl.dataSource(LocalPostgres.newDatabase());
    PostgresStore.create(source, durability, null);
    BucketStore store =
        PostgresStore.builder(source).durability(durability).timeout(Load.TIMEOUT).open();
    return Undone.byACrash(store, source, callers, pauseMillis, () -> killSession(source));
  }

  private static Undone crashOfMariaDb(int port) throws Exception {
    String server = "jdbc:mariadb://127.0.0.1:" + port;
    String database = "crash" + System.nanoTime();
    execute(new MariaDbDataSource(server + "/?user=root"), "CREATE DATABASE " + database);
    DataSource source = new MariaDbDataSource(server + "/" + database + "?user=root");
    MariaDbStore.create(source, null);
    BucketStore store = MariaDbStore.builder(source).timeout(Load.TIMEOUT).open();
    return Undone.byACrash(store, source, 64, 0, Trial::restartMariaDb);
  }

  private static void restartMariaDb() {
    LocalMariaDb.kill();
    LocalMariaDb.restart(EACH_COMMIT_ON_DISK);
  }

  private static String judged(Log log, long more) throws BrokenPromise {
    return judged(log, more, ANSWERED_PERCENT);
  }

  private static String judged(Log log, long more, int answeredPercent) throws BrokenPromise {
    log.requireWithinLimit(more);
    log.requireLimitReached();
    log.requireInTime();
    log.requireMostlyAnswered(answeredPercent);
    return log.toString();
  }

  /**
   * Injects a random fault about once a second. Stops injecting faults some time before the end, so
   * that the store can recover from the last fault.
   */
  private static void disturb(List<Proxy> proxies, List<LocalRedis> servers) throws Exception {
    Random random = new Random();
    long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS - 2);
    TimeUnit.MILLISECONDS.sleep(FIRST_FAULT_MILLIS);
    while (System.nanoTime() - endNanos < 0) {
      LocalRedis server = servers.get(random.nextInt(servers.size()));
      switch (random.nextInt(proxies.isEmpty() ? 2 : 5)) {
        case 0 -> {
          server.freeze();
          TimeUnit.MILLISECONDS.sleep(100 + random.nextInt(700));
          server.thaw();
        }
        case 1 -> kill(server);
        case 2 -> one(proxies, random).cut();
        case 3 -> one(proxies, random).silence();
        default -> {
          Proxy slow = one(proxies, random);
          slow.delay(1 + random.nextInt(100));
          TimeUnit.MILLISECONDS.sleep(500);
          slow.delay(0);
        }
      }
      TimeUnit.MILLISECONDS.sleep(500 + random.nextInt(1000));
    }
  }

  /** Injects a random fault into a database every one to two seconds. */
  private static void disturb(Proxy proxy, Log.Beside kill, int seconds) throws Exception {
    Random random = new Random();
    long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds - 2);
    TimeUnit.MILLISECONDS.sleep(FIRST_FAULT_MILLIS);
    while (System.nanoTime() - endNanos < 0) {
      switch (random.nextInt(4)) {
        case 0 -> kill.run();
        case 1 -> proxy.cut();
        case 2 -> proxy.silence();
        default -> {
          proxy.delay(1 + random.nextInt(100));
          TimeUnit.MILLISECONDS.sleep(500);
          proxy.delay(0);
        }
      }
      TimeUnit.MILLISECONDS.sleep(1_000 + random.nextInt(2_000));
    }
  }

  /**
   * Kills the process of one PostgreSQL session with SIGKILL. After the kill, PostgreSQL ends all
   * other sessions and recovers.
   */
  private static void killSession(DataSource source) {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT pg_backend_pid()")) {
      if (rows.next()) {
        ProcessHandle.of(rows.getLong(1)).ifPresent(ProcessHandle::destroyForcibly);
      }
    } catch (SQLException e) {
      // The database is still recovering.
    }
  }

  static void execute(DataSource source, String sql) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private static Proxy one(List<Proxy> proxies, Random random) {
    return proxies.get(random.nextInt(proxies.size()));
  }

  private static void kill(LocalRedis server) {
    server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
  }

  private static int failures(Limiter limiter, int calls) {
    int failed = 0;
    for (int i = 0; i < calls; i++) {
      try {
        var unused = limiter.check(Load.NAME, "k" + i);
      } catch (StoreException e) {
        failed++;
      }
    }
    return failed;
  }

  private static long refilledWithin(long millis) {
    return Load.QUOTA.count() * millis / Load.QUOTA.period().toMillis();
  }

  private static String observed(DeniedBatches batches) throws Exception {
    DeniedBatches.Seen seen = batches.observed();
    BrokenPromise.unless(seen.granted() == 0, "a batch was granted");
    BrokenPromise.unless(
        seen.denied() >= batches.leastDenied(), "%s; too few were denied for a trial", seen);
    BrokenPromise.unless(seen.missedAtMostTwiceWhatBatchesTook(), "%s", seen);
    return seen.toString();
  }

  private static long whileFrozen(LocalRedis redis, Limiter limiter) throws InterruptedException {
    redis.freeze();
    try {
      return Load.longestCallMillis(limiter, CALLERS);
    } finally {
      redis.thaw();
    }
  }

  private static void awaitDecision(Limiter limiter) throws InterruptedException {
    while (failures(limiter, 1) > 0) {
      TimeUnit.MILLISECONDS.sleep(CHECK_EVERY_MILLIS);
    }
  }

  private static String coldStarts(int callers) throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.newest());
        Spinning busy = new Spinning()) {
      int good = 0;
      String failure = "";
      long longest = 0;
      for (int i = 0; i < STARTS; i++) {
        List<String> printed = Log.run(ColdStart.class, redis.uri(), String.valueOf(callers));
        if (printed.get(0).equals("0")) {
          good++;
        } else {
          failure = printed.get(2);
        }
        longest = Math.max(longest, Long.parseLong(printed.get(1)));
      }
      BrokenPromise.unless(
          good == STARTS,
          "%s of %s starts had no failure; an exception: %s",
          good,
          STARTS,
          failure);
      return "%s of %s starts had no failure; the longest decision took %s ms"
          .formatted(good, STARTS, longest);
    }
  }

  private static String coldBoots(int requests) throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.newest());
        Spinning busy = new Spinning()) {
      int good = 0;
      long failed = 0;
      for (int i = 0; i < STARTS; i++) {
        long its = ColdBoot.failedRequests(redis.uri(), requests);
        good += its == 0 ? 1 : 0;
        failed += its;
      }
      String seen =
          "%s of %s starts had no failure; %s of %s requests failed"
              .formatted(good, STARTS, failed, STARTS * requests);
      BrokenPromise.unless(good == STARTS, "%s", seen);
      return seen;
    }
  }

  /** Keeps every processor of the machine busy until this object is closed. */
  private static final class Spinning implements AutoCloseable {

    private final CountDownLatch over = new CountDownLatch(1);
    private final List<Thread> threads = new ArrayList<>();

    Spinning() {
      for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
        Thread thread = new Thread(this::spin);
        threads.add(thread);
        thread.start();
      }
    }

    private void spin() {
      while (over.getCount() > 0) {
        Thread.onSpinWait();
      }
    }

    @Override
    public void close() throws InterruptedException {
      over.countDown();
      for (Thread thread : threads) {
        thread.join();
      }
    }
  }
}
