// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.remote.RemoteStore;
import dev.sluice.remote.SystemTiming;
import dev.sluice.remote.Timing;
import dev.sluice.remote.sql.KeyScan;
import dev.sluice.remote.sql.SqlOptions;
import dev.sluice.remote.sql.SqlUrl;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.common.BaseDataSource;

/**
 * Makes a {@link PostgresStore}. Each method except {@link #clock}, {@link #observer} and {@link
 * #open} is also an option of the URL with the same name: {@code
 * postgresql://host/db?durability=sync&prefix=shop:}.
 *
 * <p>Each method that sets an option throws an {@link IllegalArgumentException} if the value is out
 * of its range. Not thread-safe.
 */
public final class PostgresStoreBuilder {

  static final String KIND = "postgres";
  private static final String DRIVER = "jdbc:postgresql://localhost/";
  private static final List<String> OPTIONS =
      Stream.concat(SqlOptions.NAMES.stream(), Stream.of("durability")).sorted().toList();

  private final DataSource source;
  private final SqlOptions options;
  private Durability durability = Durability.UNLOGGED;

  PostgresStoreBuilder(DataSource source) {
    this.source = source;
    this.options =
        new SqlOptions(
            source instanceof BaseDataSource its
                ? "postgresql://" + address(its) + "/" + its.getDatabaseName()
                : "PostgreSQL");
  }

  private static String address(BaseDataSource source) {
    String[] hosts = source.getServerNames();
    int[] ports = source.getPortNumbers();
    List<String> addresses = new ArrayList<>();
    for (int i = 0; i < hosts.length; i++) {
      addresses.add(hosts[i] + (i < ports.length && ports[i] != 0 ? ":" + ports[i] : ""));
    }
    return String.join(",", addresses);
  }

  /**
   * Returns the builder of a URL. The URL's parameters are options of the store and of the driver.
   */
  static PostgresStoreBuilder of(String url, @Nullable String password) {
    PostgresUrl.require(url);
    SqlUrl.Split split = SqlUrl.split(url, OPTIONS, DRIVER, "PostgreSQL");
    PostgresStoreBuilder builder =
        new PostgresStoreBuilder(PostgresUrl.dataSource(split.url(), password));
    split.options().forEach(builder::set);
    return builder;
  }

  private void set(SqlUrl.Option option) {
    if (option.name().equals("durability")) {
      durability(options.read(option, Durability::of));
    } else {
      options.set(option);
    }
  }

  /**
   * Sets what a crash of the database can undo; by default {@link Durability#UNLOGGED}. The table
   * must have been created with the builder's durability.
   *
   * @param newDurability the durability
   * @return this
   */
  @CanIgnoreReturnValue
  public PostgresStoreBuilder durability(Durability newDurability) {
    this.durability = Objects.requireNonNull(newDurability, "newDurability");
    return this;
  }

  /**
   * Sets the number of connections; by default 2. Two connections serve hundreds of callers, since
   * callers share the calls to the database. More connections raise the throughput if each call
   * waits for the disk.
   *
   * @param number the number of connections, from 1 to 16
   * @return this
   */
  @CanIgnoreReturnValue
  public PostgresStoreBuilder connections(int number) {
    options.connections(number);
    return this;
  }

  /**
   * Sets the prefix of every bucket key. Applications that share a database need different
   * prefixes: otherwise limits with the same name share their buckets.
   *
   * @param text the prefix, at most 256 characters; by default empty
   * @return this
   */
  @CanIgnoreReturnValue
  public PostgresStoreBuilder prefix(String text) {
    options.prefix(text);
    return this;
  }

  /**
   * Sets the time-out of a call; by default 500 ms.
   *
   * @param limit the time-out, from 1 ms to an hour
   * @return this
   */
  @CanIgnoreReturnValue
  public PostgresStoreBuilder timeout(Duration limit) {
    options.timeout(limit);
    return this;
  }

  /**
   * Sets how long a denial is repeated from memory before the database is called again; by default
   * 1 s. While a denial is repeated, a refund or reset by another process has no effect yet.
   *
   * @param most the longest time to repeat a denial, up to an hour; zero to call the database for
   *     every charge
   * @return this
   */
  @CanIgnoreReturnValue
  public PostgresStoreBuilder denials(Duration most) {
    options.denials(most);
    return this;
  }

  /**
   * Sets the largest number of requests that wait for the database; by default 16384. If the queue
   * is full, further requests are rejected.
   *
   * @param requests the maximum number of waiting requests, at least 1
   * @return this
   */
  @CanIgnoreReturnValue
  public PostgresStoreBuilder queue(int requests) {
    options.queue(requests);
    return this;
  }

  /**
   * Sets how many calls in a row fail before the database is marked down; by default 5.
   *
   * @param calls the number of failed calls in a row, at least 1
   * @return this
   */
  @CanIgnoreReturnValue
  public PostgresStoreBuilder failures(int calls) {
    options.failures(calls);
    return this;
  }

  /**
   * Sets the interval of probes to a database that is marked down; by default 500 ms.
   *
   * @param interval the interval of probes, from 1 ms to an hour
   * @return this
   */
  @CanIgnoreReturnValue
  public PostgresStoreBuilder probe(Duration interval) {
    options.probe(interval);
    return this;
  }

  /**
   * Makes the store decide with a clock of this process instead of the database's clock, for
   * replays and tests. Never use two clocks for the same buckets. Only the database role that owns
   * the functions can use this option. With a clock of this process, full buckets are not deleted.
   *
   * @param time the clock
   * @return this
   */
  @CanIgnoreReturnValue
  public PostgresStoreBuilder clock(TimeSource time) {
    options.clock(time);
    return this;
  }

  /**
   * Sets the observer.
   *
   * @param newObserver counts and times the calls to the store
   * @return this
   */
  @CanIgnoreReturnValue
  public PostgresStoreBuilder observer(BucketStore.Observer newObserver) {
    options.observer(newObserver);
    return this;
  }

  /**
   * Creates the table and the functions for the durability of this builder, as {@link
   * PostgresStore#create} does.
   *
   * @param role a role that receives only the rights to use the store; null for the owner only
   * @throws SQLException if the database fails, or if an existing table is logged and the
   *     durability of this builder is {@link Durability#UNLOGGED}
   */
  public void create(@Nullable String role) throws SQLException {
    PostgresStore.create(source, durability, role);
  }

  /**
   * Returns the statements that {@link #create} runs, as {@link PostgresStore#statements} does.
   *
   * @param role a role that receives only the rights to use the store; null for the owner only
   * @return the SQL statements
   */
  public String statements(@Nullable String role) {
    return PostgresStore.statements(durability, role);
  }

  /**
   * Opens the store and connects, within 5 s. If the database is unreachable, opening still
   * succeeds, and charges fail.
   *
   * @return the store, to be closed by the caller
   * @throws StoreException if the database is not PostgreSQL, or a read replica; if it has no table
   *     and functions for this version and durability, or grants no right to call them; or if the
   *     source's transactions are read-only or have another isolation level than read committed or
   *     lower
   */
  public PostgresStore open() {
    return new PostgresStore(
        open(new SystemTiming(KIND)),
        new KeyScan(options.name(), source, "key", options.key("")),
        options.roll(source, PostgresDialect.ANNOUNCE));
  }

  /** Opens a store that uses the clock, timers and threads of a {@code Timing}, for simulators. */
  RemoteStore open(Timing timing) {
    return options.open(
        timing,
        source,
        KIND,
        ", with the durability " + durability,
        context -> new PostgresDialect(durability, context));
  }
}
