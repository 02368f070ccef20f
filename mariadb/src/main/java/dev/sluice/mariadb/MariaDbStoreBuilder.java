// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.remote.ClientClock;
import dev.sluice.remote.KeyBytes;
import dev.sluice.remote.RemoteStore;
import dev.sluice.remote.StoreContext;
import dev.sluice.remote.SystemTiming;
import dev.sluice.remote.sql.SqlDatabase;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import java.lang.System.Logger.Level;
import java.time.Duration;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Makes a {@link MariaDbStore}.
 *
 * <p>Each method that sets an option throws an {@link IllegalArgumentException} for a value out of
 * its range. Not thread-safe.
 */
public final class MariaDbStoreBuilder {

  private static final Duration MILLISECOND = Duration.ofMillis(1);
  private static final Duration HOUR = Duration.ofHours(1);
  private static final Duration CONNECT = Duration.ofSeconds(5);
  private static final int MOST_CONNECTIONS = 16;

  private final DataSource source;
  private String name = "MariaDB";
  private int connections = 2;
  private String prefix = "";
  private Duration timeout = Duration.ofMillis(500);
  private Duration denials = Duration.ofSeconds(1);
  private int queue = 16_384;
  private int failures = 5;
  private Duration probe = Duration.ofMillis(500);
  private @Nullable TimeSource clock;
  private BucketStore.Observer observer = new BucketStore.Observer() {};

  MariaDbStoreBuilder(DataSource source) {
    this.source = source;
  }

  /**
   * Sets the name of the database in messages; "MariaDB" if not called.
   *
   * @param text without a password
   * @return this
   */
  @CanIgnoreReturnValue
  public MariaDbStoreBuilder name(String text) {
    this.name = text;
    return this;
  }

  /**
   * Sets how many connections the store uses; 2 if not called. Two serve hundreds of callers, since
   * callers share calls; more help where each call waits for the disk.
   *
   * @param number from 1 to 16
   * @return this
   */
  @CanIgnoreReturnValue
  public MariaDbStoreBuilder connections(int number) {
    require(number >= 1 && number <= MOST_CONNECTIONS, number, "1 to " + MOST_CONNECTIONS);
    this.connections = number;
    return this;
  }

  /**
   * Sets the prefix of every bucket key. Applications that share a database need different
   * prefixes: otherwise limits with the same name share their buckets.
   *
   * @param text empty if not called
   * @return this
   */
  @CanIgnoreReturnValue
  public MariaDbStoreBuilder prefix(String text) {
    this.prefix = text;
    return this;
  }

  /**
   * Sets how long a call may take in all; 500 ms if not called.
   *
   * @param limit from 1 ms to an hour
   * @return this
   */
  @CanIgnoreReturnValue
  public MariaDbStoreBuilder timeout(Duration limit) {
    requireWithin(limit, MILLISECOND);
    this.timeout = limit;
    return this;
  }

  /**
   * Sets for how long a denial may be answered from memory before the database is asked again; 1 s
   * if not called. A refund or reset by another process is seen after this time at the latest.
   *
   * @param most up to an hour; zero to always ask
   * @return this
   */
  @CanIgnoreReturnValue
  public MariaDbStoreBuilder denials(Duration most) {
    requireWithin(most, Duration.ZERO);
    this.denials = most;
    return this;
  }

  /**
   * Sets how many requests may wait for the database; 16384 if not called. More are refused.
   *
   * @param requests at least 1
   * @return this
   */
  @CanIgnoreReturnValue
  public MariaDbStoreBuilder queue(int requests) {
    require(requests >= 1, requests, "at least 1");
    this.queue = requests;
    return this;
  }

  /**
   * Sets how many calls in a row fail before the database is marked down; 5 if not called.
   *
   * @param calls at least 1
   * @return this
   */
  @CanIgnoreReturnValue
  public MariaDbStoreBuilder failures(int calls) {
    require(calls >= 1, calls, "at least 1");
    this.failures = calls;
    return this;
  }

  /**
   * Sets how often a database that is marked down is probed; every 500 ms if not called.
   *
   * @param interval from 1 ms to an hour
   * @return this
   */
  @CanIgnoreReturnValue
  public MariaDbStoreBuilder probe(Duration interval) {
    requireWithin(interval, MILLISECOND);
    this.probe = interval;
    return this;
  }

  /**
   * Makes the store decide by a clock of this process instead of the database's, for replays and
   * tests. No other clock may be used on the same buckets. Only the owner of the procedures may do
   * so; full buckets are not deleted.
   *
   * @param time the clock
   * @return this
   */
  @CanIgnoreReturnValue
  public MariaDbStoreBuilder clock(TimeSource time) {
    this.clock = time;
    return this;
  }

  /**
   * Sets the observer.
   *
   * @param newObserver counts and times what the store does
   * @return this
   */
  @CanIgnoreReturnValue
  public MariaDbStoreBuilder observer(BucketStore.Observer newObserver) {
    this.observer = newObserver;
    return this;
  }

  private static void requireWithin(Duration time, Duration least) {
    require(
        time.compareTo(least) >= 0 && time.compareTo(HOUR) <= 0,
        GoDuration.format(time),
        GoDuration.format(least) + " to 1h");
  }

  private static void require(boolean fits, Object found, String expected) {
    if (!fits) {
      throw new IllegalArgumentException("found %s, expected %s".formatted(found, expected));
    }
  }

  /**
   * Opens the store: connects, up to 5 s. If the database is unreachable, opening still succeeds,
   * and charges fail.
   *
   * @return the store, to be closed by the caller
   * @throws StoreException if the database answers, but is read-only, or has no procedures of this
   *     version that the user may call
   */
  public MariaDbStore open() {
    SystemTiming timing = new SystemTiming("mariadb");
    StoreContext context =
        new StoreContext(
            new StoreContext.Settings(
                "mariadb",
                key -> KeyBytes.utf8(prefix + key),
                timeout,
                queue,
                connections,
                failures,
                probe,
                denials,
                clock == null ? null : new ClientClock(clock, Duration.ZERO)),
            timing,
            observer);
    SqlDatabase database =
        new SqlDatabase(name, source, new MariaDbDialect(context), connections, context);
    RemoteStore store = new RemoteStore(name, database, context, timing::close);
    database.start();
    boolean connected = store.warmUp(CONNECT.toNanos());
    String refusal = database.refusal();
    if (refusal != null) {
      store.close();
      throw new StoreException(name + ": " + refusal);
    }
    if (connected) {
      store.rehearse();
    }
    store.rehearseTimeOuts();
    context.log().log(Level.INFO, "{0} holds the buckets", name);
    return new MariaDbStore(store);
  }
}
