// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.remote.RemoteStore;
import dev.sluice.remote.sql.KeyScan;
import dev.sluice.store.BucketStore;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 *
 *
 * <pre>{@code
 * PostgresStore.create(dataSource, Durability.UNLOGGED, null); // once, like `sluice store create`
 * try (BucketStore store = PostgresStore.builder(dataSource).prefix("shop:").open()) {
 *   Limiter limiter = Limiter.of(limits, store);
 *   …
 * }
 * }</pre>
 */
public final class PostgresStore implements BucketStore {

  private final RemoteStore remote;
  private final KeyScan scan;

  PostgresStore(RemoteStore remote, KeyScan scan) {
    this.remote = remote;
    this.scan = scan;
  }

  /**
   * Returns a builder of a store.
   *
   * @param source opens connections, or lends connections of a pool; the store keeps its
   *     connections while it is open. The source should time out after a few seconds
   * @return a builder
   */
  public static PostgresStoreBuilder builder(DataSource source) {
    return new PostgresStoreBuilder(source);
  }

  /** Returns a builder of a store whose address comes from a configuration. */
  public static PostgresStoreBuilder builder(String url) {
    return builder(url, null);
  }

  /** Returns a builder as {@link #builder(String)} does, with a password that is not in the URL. */
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
   *     durability is {@link Durability#UNLOGGED}: from then on a crash would empty the table
   */
  public static void create(DataSource source, Durability durability, @Nullable String role)
      throws SQLException {
    BucketSchema.create(source, durability, role);
  }

  /** Returns the statements that {@link #create} runs, for a schema named {@code public}. */
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

  @Override
  public Optional<List<String>> someKeys(int most, Duration longest) {
    return Optional.of(scan.keys(most, longest));
  }

  /** */
  @Override
  public void close() {
    remote.close();
  }

  @Override
  public String toString() {
    return remote.toString();
  }
}
