// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.remote.RemoteStore;
import dev.sluice.remote.sql.KeyScan;
import dev.sluice.remote.sql.SqlRoll;
import dev.sluice.store.BucketStore;
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
 * A store for several processes that keeps buckets in PostgreSQL. Functions inside the database
 * decide on charges, with the database's clock, in one round trip.
 *
 * <pre>{@code
 * PostgresStore.create(dataSource, Durability.UNLOGGED, null); // once, like `sluice store create`
 * try (BucketStore store = PostgresStore.builder(dataSource).prefix("shop:").open()) {
 *   Limiter limiter = Limiter.of(limits, store);
 *   …
 * }
 * }</pre>
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
public final class PostgresStore implements BucketStore {

  private final RemoteStore remote;
  private final KeyScan scan;
  private final @Nullable SqlRoll roll;

  /** Makes a store; {@code roll} is null if the store keeps no list of processes. */
  PostgresStore(RemoteStore remote, KeyScan scan, @Nullable SqlRoll roll) {
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
  public static PostgresStoreBuilder builder(DataSource source) {
    return new PostgresStoreBuilder(Objects.requireNonNull(source, "source"));
  }

  /**
   * Returns a builder of a store whose address comes from a configuration.
   *
   * @param url {@code postgresql://user:password@host/database} or a JDBC URL, with the options of
   *     {@link PostgresStoreBuilder} and the options of the driver as parameters
   * @return a builder with the settings of the URL
   * @throws IllegalArgumentException if the address is invalid; the message says why and does not
   *     contain the password
   */
  public static PostgresStoreBuilder builder(String url) {
    return builder(url, null);
  }

  /**
   * Returns a builder as {@link #builder(String)} does, with a password that is not in the URL.
   *
   * @param url the address, in the form that {@link #builder(String)} describes
   * @param password the password; null for the password in the URL or in {@code ~/.pgpass}
   * @return a builder with the settings of the URL
   * @throws IllegalArgumentException if the address is invalid, or if the URL also has a password
   */
  public static PostgresStoreBuilder builder(String url, @Nullable String password) {
    return PostgresStoreBuilder.of(url, password);
  }

  /**
   * Creates the table and the functions of buckets and the tables of overrides and penalties, or
   * migrates them to this version, in one transaction. Needs a role with the right to create tables
   * and functions in its schema. An existing table keeps its buckets. An unlogged table is locked
   * while the database converts it to a logged table.
   *
   * @param source opens connections to the database
   * @param durability what a crash of the database can undo
   * @param role a role that receives only the rights to use the store; null for the owner only
   * @throws SQLException if the database fails, or if an existing table is logged and the
   *     durability is {@link Durability#UNLOGGED}, with which a crash would empty the table
   */
  public static void create(DataSource source, Durability durability, @Nullable String role)
      throws SQLException {
    BucketSchema.create(source, durability, role);
  }

  /**
   * Returns the statements that {@link #create} runs, for a schema named {@code public}.
   *
   * @param durability what a crash of the database can undo
   * @param role a role that receives only the rights to use the store; null for the owner only
   * @return the SQL statements
   */
  public static String statements(Durability durability, @Nullable String role) {
    return "BEGIN;\n"
        + Migrations.statements()
        + BucketSchema.statements("public", durability, role)
        + "COMMIT;\n";
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
