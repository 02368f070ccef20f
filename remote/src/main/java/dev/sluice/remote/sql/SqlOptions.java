// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote.sql;

import dev.sluice.internal.text.GoDuration;
import dev.sluice.remote.ClientClock;
import dev.sluice.remote.KeyBytes;
import dev.sluice.remote.RemoteStore;
import dev.sluice.remote.StoreContext;
import dev.sluice.remote.Timing;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Function;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The options of a store in a database, with their ranges and defaults. This class also opens the
 * store. The public builders delegate to this class instead of extending it, because this package
 * is not exported to applications.
 *
 * <p>Each method that sets an option throws an {@link IllegalArgumentException} for a value out of
 * its range. Not thread-safe.
 */
public final class SqlOptions {

  /** The names of the options that a URL can set. */
  public static final List<String> NAMES =
      List.of("connections", "denials", "failures", "prefix", "probe", "queue", "timeout");

  private static final Duration MILLISECOND = Duration.ofMillis(1);
  private static final Duration HOUR = Duration.ofHours(1);
  private static final Duration CONNECT = Duration.ofSeconds(5);
  private static final int MOST_CONNECTIONS = 16;
  // An entry of an index has at most 2,704 bytes in PostgreSQL, 3,072 in MariaDB.
  private static final int LONGEST_KEY = 2_048;
  private static final int LONGEST_PREFIX = 256;

  private String name;
  private int connections = 2;
  private String prefix = "";
  private Duration timeout = Duration.ofMillis(500);
  private Duration denials = Duration.ofSeconds(1);
  private int queue = 16_384;
  private int failures = 5;
  private Duration probe = Duration.ofMillis(500);
  private @Nullable TimeSource clock;
  private BucketStore.Observer observer = new BucketStore.Observer() {};

  /**
   * Returns the defaults.
   *
   * @param name the name of the database for messages, without a password
   */
  public SqlOptions(String name) {
    this.name = name;
  }

  public void name(String text) {
    this.name = text;
  }

  /** Returns the name of the database. */
  public String name() {
    return name;
  }

  /** Sets how many connections the store uses, from 1 to 16. */
  public void connections(int number) {
    require(number >= 1 && number <= MOST_CONNECTIONS, number, "1 to " + MOST_CONNECTIONS);
    this.connections = number;
  }

  /** Sets the first part of each key, of at most 256 characters. */
  public void prefix(String text) {
    require(
        text.length() <= LONGEST_PREFIX,
        text.length() + " characters",
        "at most " + LONGEST_PREFIX);
    this.prefix = text;
  }

  /**
   * Returns a bucket key as the database stores it, in UTF-8. A key of 2,048 bytes or more is
   * stored as its first 1,984 bytes and its SHA-256 in hexadecimal: an index has no room for longer
   * keys, and an error of the database would leave the decision to the failure rule.
   */
  public byte[] key(String key) {
    byte[] bytes = KeyBytes.utf8(prefix + key);
    if (bytes.length < LONGEST_KEY) {
      return bytes;
    }
    byte[] hash = HexFormat.of().formatHex(sha256(bytes)).getBytes(StandardCharsets.US_ASCII);
    byte[] stored = Arrays.copyOf(bytes, LONGEST_KEY);
    System.arraycopy(hash, 0, stored, LONGEST_KEY - hash.length, hash.length);
    return stored;
  }

  private static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  /** Sets the time-out of a call, from 1 ms to an hour. */
  public void timeout(Duration limit) {
    requireWithin(limit, MILLISECOND);
    this.timeout = limit;
  }

  /** Sets how long a denial is repeated from memory, up to an hour. */
  public void denials(Duration most) {
    requireWithin(most, Duration.ZERO);
    this.denials = most;
  }

  /** Sets the largest number of waiting requests, at least 1. */
  public void queue(int requests) {
    require(requests >= 1, requests, "at least 1");
    this.queue = requests;
  }

  /** Sets after how many failed calls in a row the database is marked down, at least 1. */
  public void failures(int calls) {
    require(calls >= 1, calls, "at least 1");
    this.failures = calls;
  }

  /** Sets how often a database that is marked down is probed, from 1 ms to an hour. */
  public void probe(Duration interval) {
    requireWithin(interval, MILLISECOND);
    this.probe = interval;
  }

  public void clock(TimeSource time) {
    this.clock = time;
  }

  public void observer(BucketStore.Observer newObserver) {
    this.observer = newObserver;
  }

  /**
   * Runs code that sets an option of a URL. If the value is wrong, the exception's message names
   * the store and the option.
   */
  public void set(SqlUrl.Option option, Runnable setting) {
    try {
      setting.run();
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "store %s: option %s: found \"%s\", expected a whole number"
              .formatted(name, option.name(), option.value()));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "store %s: option %s: %s".formatted(name, option.name(), e.getMessage()), e);
    }
  }

  /** Sets one of the options {@link #NAMES} to the value in a URL. */
  public void set(SqlUrl.Option option) {
    String value = option.value();
    set(
        option,
        () -> {
          switch (option.name()) {
            case "connections" -> connections(Integer.parseInt(value));
            case "denials" ->
                denials(value.equals("off") ? Duration.ZERO : GoDuration.parse(value));
            case "failures" -> failures(Integer.parseInt(value));
            case "prefix" -> prefix(value);
            case "probe" -> probe(GoDuration.parse(value));
            case "queue" -> queue(Integer.parseInt(value));
            default -> timeout(GoDuration.parse(value));
          }
        });
  }

  /** Returns the list of processes; null if the store uses the processes' clocks. */
  public @Nullable SqlRoll roll(DataSource source, String sql) {
    return clock == null ? new SqlRoll(name, source, sql, key("")) : null;
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
   * Opens a store, also if the database is unreachable; waits up to 5 s for the connection.
   *
   * @param timing the timing of the store; the store closes it
   * @param kind the kind of the store, for the names of threads, logs and metrics
   * @param how the text that follows the store's name in the log
   * @throws StoreException if the database responds, but cannot hold the buckets
   */
  public RemoteStore open(
      Timing timing,
      DataSource source,
      String kind,
      String how,
      Function<StoreContext, SqlDialect> dialect) {
    StoreContext context =
        new StoreContext(
            new StoreContext.Settings(
                kind,
                this::key,
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
        new SqlDatabase(name, source, dialect.apply(context), connections, context);
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
      context.log().log(Level.INFO, "{0} holds the buckets{1}", name, how);
    }
    store.rehearseTimeOuts();
    return store;
  }
}
