// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.PercentEncoding;
import dev.sluice.internal.text.Suggestion;
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
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.common.BaseDataSource;

/**
 * Makes a {@link PostgresStore}. Each method but {@link #clock}, {@link #observer} and {@link
 * #open} is also an option of the URL with the same name: {@code
 * postgresql://host/db?durability=sync&prefix=shop:}.
 *
 * <p>Each method that sets an option throws an {@link IllegalArgumentException} for a value out of
 * its range. Not thread-safe.
 */
public final class PostgresStoreBuilder {

  private static final Duration MILLISECOND = Duration.ofMillis(1);
  private static final Duration HOUR = Duration.ofHours(1);
  private static final Duration CONNECT = Duration.ofSeconds(5);
  private static final String DRIVER = "jdbc:postgresql://localhost/";
  private static final int MOST_CONNECTIONS = 16;
  private static final List<String> OPTIONS =
      List.of(
          "connections",
          "denials",
          "durability",
          "failures",
          "prefix",
          "probe",
          "queue",
          "timeout");

  private final DataSource source;
  private String name = "PostgreSQL";
  private Durability durability = Durability.UNLOGGED;
  private int connections = 2;
  private String prefix = "";
  private Duration timeout = Duration.ofMillis(500);
  private Duration denials = Duration.ofSeconds(1);
  private int queue = 16_384;
  private int failures = 5;
  private Duration probe = Duration.ofMillis(500);
  private @Nullable TimeSource clock;
  private BucketStore.Observer observer = new BucketStore.Observer() {};

  PostgresStoreBuilder(DataSource source) {
    this.source = source;
    if (source instanceof BaseDataSource its) {
      this.name = "postgresql://" + address(its) + "/" + its.getDatabaseName();
    }
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

  /** Returns the builder of a URL, whose parameters are the store's options and the driver's. */
  static PostgresStoreBuilder of(String url, @Nullable String password) {
    int question = url.indexOf('?');
    if (question < 0) {
      return new PostgresStoreBuilder(PostgresUrl.dataSource(url, password));
    }
    PostgresUrl.require(url);
    List<String[]> own = new ArrayList<>();
    List<String> drivers = new ArrayList<>();
    for (String parameter : url.substring(question + 1).split("&", -1)) {
      int equals = parameter.indexOf('=');
      String option = equals < 0 ? parameter : parameter.substring(0, equals);
      if (OPTIONS.contains(option)) {
        String value = equals < 0 ? "" : PercentEncoding.decode(parameter.substring(equals + 1));
        own.add(new String[] {option, value});
      } else {
        requireDrivers(option, url.indexOf('@', question) < 0);
        drivers.add(parameter);
      }
    }
    String rest = drivers.isEmpty() ? "" : "?" + String.join("&", drivers);
    PostgresStoreBuilder builder =
        new PostgresStoreBuilder(
            PostgresUrl.dataSource(url.substring(0, question) + rest, password));
    own.forEach(option -> builder.set(option[0], option[1]));
    return builder;
  }

  /**
   * Throws for an option that nobody knows.
   *
   * @param isShown false if the option may be a part of a password that has a question mark
   */
  private static void requireDrivers(String option, boolean isShown) {
    if (!option.isEmpty() && !isDrivers(option)) {
      boolean isWord = isShown && option.matches("[A-Za-z]+");
      throw new IllegalArgumentException(
          "found %s in the URL of the database, expected one of %s or a property of the PostgreSQL driver%s"
              .formatted(
                  isWord
                      ? "the option \"" + option + "\""
                      : "an unknown option (not shown, as it may be part of a password, where ? is written %3F, & is %26 and @ is %40)",
                  OPTIONS,
                  isWord ? Suggestion.didYouMean(option, OPTIONS) : ""));
    }
  }

  private static boolean isDrivers(String option) {
    try {
      DriverPropertyInfo[] known =
          DriverManager.getDriver(DRIVER).getPropertyInfo(DRIVER, new Properties());
      return Stream.of(known).anyMatch(property -> property.name.equals(option));
    } catch (SQLException e) {
      throw new IllegalStateException(e); // the driver is on the class path
    }
  }

  private void set(String option, String value) {
    try {
      var unused =
          switch (option) {
            case "connections" -> connections(Integer.parseInt(value));
            case "denials" ->
                denials(value.equals("off") ? Duration.ZERO : GoDuration.parse(value));
            case "durability" -> durability(durability(value));
            case "failures" -> failures(Integer.parseInt(value));
            case "prefix" -> prefix(value);
            case "probe" -> probe(GoDuration.parse(value));
            case "queue" -> queue(Integer.parseInt(value));
            default -> timeout(GoDuration.parse(value));
          };
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "store %s: option %s: found \"%s\", expected a whole number"
              .formatted(name, option, value));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "store %s: option %s: %s".formatted(name, option, e.getMessage()), e);
    }
  }

  private static Durability durability(String word) {
    return Stream.of(Durability.values())
        .filter(one -> one.name().toLowerCase(Locale.ROOT).equals(word))
        .findAny()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "found \"%s\", expected one of unlogged, async, sync".formatted(word)));
  }

  /**
   * Sets what a crash of the database may undo; {@link Durability#UNLOGGED} if not called. The
   * table must have been created for it.
   *
   * @param newDurability the durability
   * @return this
   */
  @CanIgnoreReturnValue
  public PostgresStoreBuilder durability(Durability newDurability) {
    this.durability = newDurability;
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
  public PostgresStoreBuilder connections(int number) {
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
  public PostgresStoreBuilder prefix(String text) {
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
  public PostgresStoreBuilder timeout(Duration limit) {
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
  public PostgresStoreBuilder denials(Duration most) {
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
  public PostgresStoreBuilder queue(int requests) {
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
  public PostgresStoreBuilder failures(int calls) {
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
  public PostgresStoreBuilder probe(Duration interval) {
    requireWithin(interval, MILLISECOND);
    this.probe = interval;
    return this;
  }

  /**
   * Makes the store decide by a clock of this process instead of the database's, for replays and
   * tests. No other clock may be used on the same buckets. Only the owner of the functions may do
   * so; full buckets are not deleted.
   *
   * @param time the clock
   * @return this
   */
  @CanIgnoreReturnValue
  public PostgresStoreBuilder clock(TimeSource time) {
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
  public PostgresStoreBuilder observer(BucketStore.Observer newObserver) {
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
   * Creates the table and the functions for the durability of this builder, as {@link
   * PostgresStore#create}.
   *
   * @param role as there
   * @throws SQLException as there
   */
  public void create(@Nullable String role) throws SQLException {
    PostgresStore.create(source, durability, role);
  }

  /**
   * Returns the statements that {@link #create} runs, as {@link PostgresStore#statements}.
   *
   * @param role as there
   * @return SQL
   */
  public String statements(@Nullable String role) {
    return PostgresStore.statements(durability, role);
  }

  /**
   * Opens the store: connects, up to 5 s. If the database is unreachable, opening still succeeds,
   * and charges fail.
   *
   * @return the store, to be closed by the caller
   * @throws StoreException if the database answers, but is a read replica, has no table and
   *     functions for this version and durability, or grants no right to call them, or if the
   *     source's transactions are read-only or isolated by more than read committed
   */
  public PostgresStore open() {
    SystemTiming timing = new SystemTiming("postgres");
    StoreContext context =
        new StoreContext(
            new StoreContext.Settings(
                "postgres",
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
        new SqlDatabase(
            name, source, new PostgresDialect(durability, context), connections, context);
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
    context.log().log(
        Level.INFO, "{0} holds the buckets, with the durability {1}", name, durability);
    return new PostgresStore(store, new KeyScan(name, source, KeyBytes.utf8(prefix)));
  }
}
