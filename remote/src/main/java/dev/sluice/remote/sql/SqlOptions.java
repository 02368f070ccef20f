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
import java.util.Objects;
import java.util.function.Function;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The options of a store in a database, with their ranges and defaults. This class also opens the
 * store. The public builders delegate to this class instead of extending it, because this package
 * is not exported to applications.
 *
 * <p>Each method that sets an option throws an {@link IllegalArgumentException} for a value out of
 * its range; the message names the store and the option. Not thread-safe.
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

  private final String name;
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

  /** Returns the name of the database. */
  public String name() {
    return name;
  }

  /** Sets how many connections the store uses, from 1 to 16. */
  public void connections(int number) {
    require(
        "connections",
        number >= 1 && number <= MOST_CONNECTIONS,
        number,
        "1 to " + MOST_CONNECTIONS);
    this.connections = number;
  }

  /** Sets the first part of each key, of at most 256 characters. */
  public void prefix(String text) {
    Objects.requireNonNull(text, "prefix");
    require(
        "prefix",
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
    requireWithin("timeout", limit, MILLISECOND);
    this.timeout = limit;
  }

  /** Sets how long a denial is repeated from memory, up to an hour. */
  public void denials(Duration most) {
    requireWithin("denials", most, Duration.ZERO);
    this.denials = most;
  }

  /** Sets the largest number of waiting requests, at least 1. */
  public void queue(int requests) {
    require("queue", requests >= 1, requests, "at least 1");
    this.queue = requests;
  }

  /** Sets after how many failed calls in a row the database is marked down, at least 1. */
  public void failures(int calls) {
    require("failures", calls >= 1, calls, "at least 1");
    this.failures = calls;
  }

  /** Sets how often a database that is marked down is probed, from 1 ms to an hour. */
  public void probe(Duration interval) {
    requireWithin("probe", interval, MILLISECOND);
    this.probe = interval;
  }

  public void clock(TimeSource time) {
    this.clock = Objects.requireNonNull(time, "time");
  }

  public void observer(BucketStore.Observer newObserver) {
    this.observer = Objects.requireNonNull(newObserver, "newObserver");
  }

  /**
   * Parses the value of an option of a URL.
   *
   * @throws IllegalArgumentException if the value cannot be parsed; the message names the store and
   *     the option
   */
  public <T> T read(SqlUrl.Option option, Function<String, T> parser) {
    try {
      return parser.apply(option.value());
    } catch (NumberFormatException e) {
      throw refused(
          option.name(), "found \"" + option.value() + "\", expected a whole number", null);
    } catch (IllegalArgumentException e) {
      throw refused(option.name(), e.getMessage(), e);
    }
  }

  /** Sets one of the options {@link #NAMES} to the value in a URL. */
  public void set(SqlUrl.Option option) {
    switch (option.name()) {
      case "connections" -> connections(read(option, Integer::parseInt));
      case "denials" ->
          denials(option.value().equals("off") ? Duration.ZERO : read(option, GoDuration::parse));
      case "failures" -> failures(read(option, Integer::parseInt));
      case "prefix" -> prefix(option.value());
      case "probe" -> probe(read(option, GoDuration::parse));
      case "queue" -> queue(read(option, Integer::parseInt));
      default -> timeout(read(option, GoDuration::parse));
    }
  }

  /** Returns the list of processes; null if the store uses the processes' clocks. */
  public @Nullable SqlRoll roll(DataSource source, String sql) {
    return clock == null ? new SqlRoll(name, source, sql, key("")) : null;
  }

  private void requireWithin(String option, Duration time, Duration least) {
    Objects.requireNonNull(time, option);
    require(
        option,
        time.compareTo(least) >= 0 && time.compareTo(HOUR) <= 0,
        GoDuration.format(time),
        GoDuration.format(least) + " to 1h");
  }

  private void require(String option, boolean fits, Object found, String expected) {
    if (!fits) {
      throw refused(option, "found %s, expected %s".formatted(found, expected), null);
    }
  }

  private IllegalArgumentException refused(
      String option, @Nullable String why, @Nullable Exception cause) {
    return new IllegalArgumentException(
        "store %s: option %s: %s".formatted(name, option, why), cause);
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
