// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.sql;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.mariadb.MariaDbStore;
import dev.sluice.postgres.Durability;
import dev.sluice.postgres.PostgresStore;
import dev.sluice.store.BucketStore;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.distributed.proxy.ProxyManager;
import io.github.bucket4j.postgresql.Bucket4jPostgreSQL;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;
import javax.sql.DataSource;

/**
 * A limiter in a database, or an upper bound for the speed of such limiters. Each call spends a
 * token of one or several buckets and is always allowed. Thread-safe.
 */
interface Subject extends AutoCloseable {

  String SLUICE = "Sluice";
  String FOR_UPDATE = "Bucket4j, SELECT FOR UPDATE";
  Duration TIMEOUT = Duration.ofSeconds(10);
  String ADVISORY = "Bucket4j, advisory locks";

  String UPSERT = "one prepared upsert";

  /** The names of the subjects that are compared on PostgreSQL. */
  List<String> ON_POSTGRES = List.of(SLUICE, FOR_UPDATE, ADVISORY);

  /**
   * The names of the subjects that are compared on MariaDB. Bucket4j is missing, since its classes
   * for MariaDB are not in Maven's repository.
   */
  List<String> ON_MARIADB = List.of(SLUICE, UPSERT);

  /**
   * A database in which the subjects store their buckets.
   *
   * @param source the data source, whose connections use one schema
   * @param logged whether spends must survive a crash of PostgreSQL
   */
  record Database(boolean isMariaDb, DataSource source, boolean logged) {

    String kind() {
      return isMariaDb ? "MariaDB" : "PostgreSQL";
    }

    List<String> subjects() {
      return isMariaDb ? ON_MARIADB : ON_POSTGRES;
    }
  }

  /** Spends a token. Blocks until the database has replied. */
  void spend(int bucket);

  @Override
  void close();

  /**
   * Creates the tables of a subject, and opens the subject.
   *
   * @param connections the most connections that the subject is allowed to use
   * @param charges the number of buckets from which each call spends
   */
  static Subject open(String name, Database database, int connections, int charges)
      throws SQLException {
    DataSource source = database.source();
    boolean logged = database.logged();
    return switch (name) {
      case SLUICE ->
          sluice(
              database.isMariaDb()
                  ? mariaDb(source, connections)
                  : postgres(source, logged, connections),
              charges);
      case UPSERT -> upsert(source, connections);
      case FOR_UPDATE ->
          bucket4j(
              "bucket_for_update",
              source,
              logged,
              connections,
              charges,
              pool ->
                  Bucket4jPostgreSQL.selectForUpdateBasedBuilder(pool)
                      .table("bucket_for_update")
                      .build());
      case ADVISORY ->
          bucket4j(
              "bucket_advisory",
              source,
              logged,
              connections,
              charges,
              pool ->
                  Bucket4jPostgreSQL.advisoryLockBasedBuilder(pool)
                      .table("bucket_advisory")
                      .build());
      default -> throw new IllegalArgumentException(name);
    };
  }

  /**
   * An upper bound for the speed of one caller: a prepared statement on a connection that no other
   * thread uses.
   */
  static Subject statement(DataSource source, String sql) throws SQLException {
    Connection connection = source.getConnection();
    PreparedStatement statement = connection.prepareStatement(sql);
    return new Subject() {
      @Override
      public void spend(int bucket) {
        try (var rows = statement.executeQuery()) {
          if (!rows.next()) {
            throw new IllegalStateException("found no row");
          }
        } catch (SQLException e) {
          throw new IllegalStateException(e);
        }
      }

      @Override
      public void close() {
        try (connection;
            statement) {
          // Leaving the try block closes the SQL connection and the SQL statement.
        } catch (SQLException e) {
          throw new IllegalStateException(e);
        }
      }
    };
  }

  private static BucketStore postgres(DataSource source, boolean logged, int connections)
      throws SQLException {
    Durability durability = logged ? Durability.SYNC : Durability.UNLOGGED;
    PostgresStore.create(source, durability, null);
    return PostgresStore.builder(source)
        .durability(durability)
        .connections(connections)
        .timeout(TIMEOUT)
        .open();
  }

  private static BucketStore mariaDb(DataSource source, int connections) throws SQLException {
    MariaDbStore.create(source, null);
    return MariaDbStore.builder(source).connections(connections).timeout(TIMEOUT).open();
  }

  private static Subject sluice(BucketStore store, int charges) {
    List<LimitName> names =
        IntStream.range(0, charges)
            .mapToObj(i -> LimitName.builder(3 + i, "Measured" + i).id(IdFormat.string()).build())
            .toList();
    Limits.Builder limits = Limits.builder(Catalogue.of(names.toArray(LimitName[]::new)));
    names.forEach(name -> limits.limit(name.name(), Quota.per(Quotas.BURST, Quotas.PERIOD)));
    Limiter limiter = Limiter.of(limits.build(), store);
    return new Subject() {
      @Override
      public void spend(int bucket) {
        if (charges == 1) {
          Quotas.requireGranted(limiter.spend("Measured0", "" + bucket).allowed());
          return;
        }
        List<Transaction> batch = new ArrayList<>(charges);
        for (LimitName name : names) {
          batch.add(limiter.transaction(name.name(), "" + bucket));
        }
        Quotas.requireGranted(limiter.spend(batch).allowed());
      }

      @Override
      public void close() {
        store.close();
      }
    };
  }

  /**
   * Returns an upper bound for the speed of limiters in MariaDB: one SQL statement that spends a
   * token if the bucket has one.
   */
  private static Subject upsert(DataSource source, int connections) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("DROP TABLE IF EXISTS bucket_upsert");
      statement.execute("CREATE TABLE bucket_upsert (id BIGINT PRIMARY KEY, tat BIGINT NOT NULL)");
    }
    HikariDataSource pool = pool(source, connections);
    return new Subject() {
      @Override
      public void spend(int bucket) {
        try (Connection connection = pool.getConnection();
            PreparedStatement statement =
                connection.prepareStatement(
                    "INSERT INTO bucket_upsert (id, tat) VALUES (?, ?) ON DUPLICATE KEY UPDATE"
                        + " tat = IF(tat <= ?, GREATEST(tat, ?) + ?, tat)")) {
          long nowNanos = System.currentTimeMillis() * 1_000_000;
          long nanos = Quotas.PERIOD.toNanos() / Quotas.BURST;
          statement.setInt(1, bucket);
          statement.setLong(2, nowNanos + nanos);
          statement.setLong(3, nowNanos + Quotas.PERIOD.toNanos() - nanos);
          statement.setLong(4, nowNanos);
          statement.setLong(5, nanos);
          Quotas.requireGranted(statement.executeUpdate() > 0);
        } catch (SQLException e) {
          throw new IllegalStateException(e);
        }
      }

      @Override
      public void close() {
        pool.close();
      }
    };
  }

  private static HikariDataSource pool(DataSource source, int connections) {
    HikariConfig config = new HikariConfig();
    config.setDataSource(source);
    config.setMaximumPoolSize(connections);
    return new HikariDataSource(config);
  }

  private static Subject bucket4j(
      String table,
      DataSource source,
      boolean logged,
      int connections,
      int charges,
      Function<DataSource, ProxyManager<Long>> manager)
      throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("DROP TABLE IF EXISTS " + table);
      statement.execute(
          "CREATE %s TABLE %s (id BIGINT PRIMARY KEY, state BYTEA)"
              .formatted(logged ? "" : "UNLOGGED", table));
    }
    HikariDataSource pool = pool(source, connections);
    ProxyManager<Long> buckets = manager.apply(pool);
    BucketConfiguration configuration =
        BucketConfiguration.builder()
            .addLimit(
                limit -> limit.capacity(Quotas.BURST).refillGreedy(Quotas.BURST, Quotas.PERIOD))
            .build();
    return new Subject() {
      @Override
      public void spend(int bucket) {
        for (long i = 0; i < charges; i++) {
          Quotas.requireGranted(
              buckets.builder().build(bucket + (i << 32), () -> configuration).tryConsume(1));
        }
      }

      @Override
      public void close() {
        pool.close();
      }
    };
  }

  /** The quota of all subjects, which is so large that no call is denied. */
  final class Quotas {
    static final long BURST = 100_000_000;
    static final Duration PERIOD = Duration.ofDays(1_000);

    private Quotas() {}

    static void requireGranted(boolean granted) {
      if (!granted) {
        throw new IllegalStateException("a call was denied");
      }
    }
  }
}
