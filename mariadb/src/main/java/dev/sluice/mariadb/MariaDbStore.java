// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

import dev.sluice.remote.RemoteStore;
import dev.sluice.remote.sql.KeyScan;
import dev.sluice.remote.sql.SqlRoll;
import dev.sluice.store.BucketStore;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * A store for several processes that keeps buckets in MariaDB. Procedures inside the database
 * decide on charges, with the database's clock, in one round trip.
 *
 * <pre>{@code
 * MariaDbStore.create(dataSource, null); // once, like `sluice store create`
 * try (BucketStore store = MariaDbStore.builder(dataSource).prefix("shop:").open()) {
 *   Limiter limiter = Limiter.of(limits, store);
 *   …
 * }
 * }</pre>
 *
 * <p>With {@code innodb_flush_log_at_trx_commit=1}, a crash of the database undoes no spend. With
 * {@code innodb_flush_log_at_trx_commit} 0 or 2, a crash can undo the spends of the last second.
 *
 * <p>A batch is atomic. Concurrent callers share calls to the database, on a few connections that
 * the store takes from the data source and keeps. A charge is sent at most once: if the response is
 * lost, the charge fails, although the database may have charged the buckets.
 *
 * <p>Every charge ends at the latest after the time-out. A caller that no longer needs the result
 * cancels the future of {@link #chargeAsync}, so that a batch that was not sent yet is not charged.
 * Actions chained to a future of {@code chargeAsync} run on threads that are allowed to block.
 * Thread-safe. {@link #charge} and {@link #ping} block for a round trip, and throw on the store's
 * own threads, where they would deadlock. {@link #chargeAsync} never blocks.
 */
public final class MariaDbStore implements BucketStore {

  private final RemoteStore remote;
  private final KeyScan scan;
  private final @Nullable SqlRoll roll;

  /** Makes a store; {@code roll} is null if the store keeps no list of processes. */
  MariaDbStore(RemoteStore remote, KeyScan scan, @Nullable SqlRoll roll) {
    this.remote = remote;
    this.scan = scan;
    this.roll = roll;
  }

  /**
   * Returns a builder of a store.
   *
   * @param source opens connections, or lends connections of a pool; the store keeps its
   *     connections while it is open. Connecting through this data source should time out after a
   *     few seconds
   * @return a builder
   */
  public static MariaDbStoreBuilder builder(DataSource source) {
    return new MariaDbStoreBuilder(Objects.requireNonNull(source, "source"));
  }

  /**
   * Returns a builder of a store whose address comes from a configuration. Requires MariaDB's
   * driver, {@code org.mariadb.jdbc:mariadb-java-client}.
   *
   * @param url {@code mariadb://user:password@host/database}, or the driver's URL {@code
   *     jdbc:mariadb:…}, with the options of {@link MariaDbStoreBuilder} and the options of the
   *     driver as parameters
   * @param password the password; null for the password in the URL
   * @return a builder with the settings of the URL
   * @throws IllegalArgumentException if the address is invalid or there are two passwords; the
   *     message says why and does not contain a password
   */
  public static MariaDbStoreBuilder builder(String url, @Nullable String password) {
    return MariaDbStoreBuilder.of(url, password);
  }

  /**
   * Returns the statements that {@link #create} runs, for MariaDB's command-line client.
   *
   * @param user a user that receives only the rights to use the store; null for the owner only
   * @return the SQL statements
   */
  public static String statements(@Nullable String user) {
    return "DELIMITER //\n"
        + String.join("\n//\n", MariaDbDialect.statements(user))
        + "\n//\nDELIMITER ;\n";
  }

  /**
   * Creates the table and the procedures, or migrates them to this version. Needs a user with the
   * right to create tables and routines. An existing table keeps its buckets.
   *
   * @param source opens connections to the database
   * @param user a user that receives only the rights to use the store, such as {@code app@%}; null
   *     for the owner only
   * @throws SQLException if the database fails. A second call runs all statements again; statements
   *     that have succeeded before change nothing
   */
  public static void create(DataSource source, @Nullable String user) throws SQLException {
    try (Connection connection = source.getConnection()) {
      MariaDbDialect.create(connection, user);
    }
  }

  @Override
  public List<Reading> charge(List<Charge> charges) {
    return remote.charge(charges);
  }

  @Override
  public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
    return remote.chargeAsync(charges);
  }

  @Override
  public BucketStore forOneCall() {
    return remote.forOneCall();
  }

  @Override
  public OptionalLong nowNanos() {
    return remote.nowNanos();
  }

  @Override
  public void ping() {
    remote.ping();
  }

  /** Reads the keys in ascending order, on a separate connection. */
  @Override
  public Optional<List<String>> someKeys(int most, Duration longest) {
    return Optional.of(scan.keys(most, longest));
  }

  /**
   * Returns the list of processes, which uses a separate connection; empty if a clock of this
   * process decides.
   */
  @Override
  public Optional<Presence> presence() {
    return Optional.ofNullable(roll);
  }

  /**
   * Waits up to the time-out for refunds in flight, then closes the connections, which returns them
   * to their pool. Requests that are still in flight fail.
   */
  @Override
  public void close() {
    remote.close();
  }

  @Override
  public String toString() {
    return remote.toString();
  }
}
