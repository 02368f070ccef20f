// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

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
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Makes a {@link MariaDbStore}. Each method except {@link #clock}, {@link #observer}, {@link
 * #create} and {@link #open} sets an option that the database URL can also set, under the method's
 * name: {@code mariadb://host/db?connections=4&prefix=shop:}.
 *
 * <p>Each method that sets an option throws an {@link IllegalArgumentException} if the value is out
 * of its range. Not thread-safe.
 */
public final class MariaDbStoreBuilder {

  static final String KIND = "mariadb";

  private final DataSource source;
  private final SqlOptions options;

  MariaDbStoreBuilder(DataSource source) {
    this(source, "MariaDB");
  }

  private MariaDbStoreBuilder(DataSource source, String name) {
    this.source = source;
    this.options = new SqlOptions(name);
  }

  /**
   * Returns a builder of the store at a URL. The URL's parameters are options of the store and of
   * the driver.
   */
  static MariaDbStoreBuilder of(String url, @Nullable String password) {
    MariaDbUrl.require(url);
    SqlUrl.Split split = SqlUrl.split(url, SqlOptions.NAMES, MariaDbUrl.DRIVER, "MariaDB");
    MariaDbUrl its = MariaDbUrl.of(split.url(), password);
    MariaDbStoreBuilder builder = new MariaDbStoreBuilder(its, its.toString());
    split.options().forEach(builder.options::set);
    return builder;
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
  public MariaDbStoreBuilder connections(int number) {
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
  public MariaDbStoreBuilder prefix(String text) {
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
  public MariaDbStoreBuilder timeout(Duration limit) {
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
  public MariaDbStoreBuilder denials(Duration most) {
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
  public MariaDbStoreBuilder queue(int requests) {
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
  public MariaDbStoreBuilder failures(int calls) {
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
  public MariaDbStoreBuilder probe(Duration interval) {
    options.probe(interval);
    return this;
  }

  /**
   * Makes the store decide with a clock of this process instead of the database's clock, for
   * replays and tests. Never use two clocks for the same buckets. Only the database user that owns
   * the procedures can use this option. With a clock of this process, full buckets are not deleted.
   *
   * @param time the clock
   * @return this
   */
  @CanIgnoreReturnValue
  public MariaDbStoreBuilder clock(TimeSource time) {
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
  public MariaDbStoreBuilder observer(BucketStore.Observer newObserver) {
    options.observer(newObserver);
    return this;
  }

  /**
   * Creates the table and the procedures, as {@link MariaDbStore#create} does.
   *
   * @param user a user that receives only the rights to use the store; null for the owner only
   * @throws SQLException if the database fails
   */
  public void create(@Nullable String user) throws SQLException {
    MariaDbStore.create(source, user);
  }

  /**
   * Opens the store and connects, within 5 s. If the database is unreachable, opening still
   * succeeds, and charges fail.
   *
   * @return the store, to be closed by the caller
   * @throws StoreException if the database or the source's transactions are read-only, if the
   *     server replicates another server, or if the database has no procedures of this version that
   *     the user has the right to call
   */
  public MariaDbStore open() {
    return new MariaDbStore(
        open(new SystemTiming(KIND)),
        new KeyScan(options.name(), source, "bucket", options.key("")),
        options.roll(source, MariaDbDialect.ANNOUNCE));
  }

  /** Opens a store that uses the clock, timers and threads of a {@code Timing}, for simulators. */
  RemoteStore open(Timing timing) {
    return options.open(timing, source, KIND, "", MariaDbDialect::new);
  }
}
