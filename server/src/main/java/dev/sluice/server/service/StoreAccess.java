// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.internal.text.Suggestion;
import dev.sluice.internal.text.Utf8;
import dev.sluice.mariadb.MariaDbStore;
import dev.sluice.mariadb.MariaDbStoreBuilder;
import dev.sluice.postgres.PostgresStore;
import dev.sluice.postgres.PostgresStoreBuilder;
import dev.sluice.redis.RedisStore;
import dev.sluice.redis.RedisStoreBuilder;
import dev.sluice.store.BucketStore;
import dev.sluice.store.MemoryStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A store's address, and passwords outside of the address. {@link #toString} shows no password. */
public final class StoreAccess {

  /** Captures the scheme, the user (perhaps with a password) before the "@", and the rest. */
  private static final Pattern WITH_USER = Pattern.compile("([a-zA-Z-]+://)([^/?#]*)@(.*)");

  private static final Pattern SENTINEL_USER = Pattern.compile("[?&]sentinelUser=([^&#]*)");
  private static final String DEFAULT_USER = "default";

  private final String address;
  private final @Nullable String password;
  private final @Nullable String sentinelPassword;

  private StoreAccess(
      String address, @Nullable String password, @Nullable String sentinelPassword) {
    this.address = address;
    this.password = password;
    this.sentinelPassword = sentinelPassword;
  }

  /**
   * Returns a store's address; its passwords, if any, are part of the address.
   *
   * @param address {@code memory}, the URI of a {@link RedisStore}, or the URL of a {@link
   *     PostgresStore} or {@link MariaDbStore}
   */
  public static StoreAccess of(String address) {
    return new StoreAccess(address, null, null);
  }

  /**
   * Returns a copy with the store's password; null means the password in the address, if any. The
   * user name is the one in the address, as in {@code redis://app@host}; otherwise {@code default}.
   */
  public StoreAccess withPassword(@Nullable String newPassword) {
    return new StoreAccess(address, newPassword, sentinelPassword);
  }

  /**
   * Returns a copy with the Sentinels' password; null means the password in the address, if any.
   * The user name is the address's option {@code sentinelUser}; otherwise {@code default}.
   */
  public StoreAccess withSentinelPassword(@Nullable String newPassword) {
    return new StoreAccess(address, password, newPassword);
  }

  public boolean isMemory() {
    return address.equals(Stores.MEMORY);
  }

  /** Whether the address has the scheme {@code redis-sentinel}. */
  public boolean isSentinel() {
    return address.startsWith("redis-sentinel:");
  }

  String address() {
    return address;
  }

  /** Returns the address, with a note if the store uses the clocks of its clients. */
  String described() {
    boolean clients = address.matches(".*[?&]clock=client(&.*)?");
    return clients ? this + " with clock=client" : toString();
  }

  String kind() {
    Stores.Product kind = Stores.find(this);
    return kind == Stores.Product.POSTGRES || kind == Stores.Product.MARIADB
        ? kind.name().toLowerCase(Locale.ROOT)
        : Stores.Product.REDIS.name().toLowerCase(Locale.ROOT);
  }

  private PostgresStoreBuilder postgres() {
    return PostgresStore.builder(address, password);
  }

  private MariaDbStoreBuilder mariaDb() {
    return MariaDbStore.builder(address, password);
  }

  RedisStoreBuilder builder() {
    RedisStoreBuilder builder;
    if (password == null) {
      builder = RedisStore.builder(address);
    } else {
      Matcher withUser = WITH_USER.matcher(address);
      boolean there = withUser.matches();
      builder = RedisStore.builder(there ? withUser.group(1) + withUser.group(3) : address);
      builder.credentials(there ? user(withUser.group(2)) : DEFAULT_USER, password);
    }
    if (sentinelPassword != null) {
      if (address.contains("sentinelPassword=")) {
        throw twice();
      }
      Matcher user = SENTINEL_USER.matcher(address);
      builder
          .sentinelUser(user.find() ? Utf8.ofPercentEncoding(user.group(1)) : DEFAULT_USER)
          .sentinelPassword(sentinelPassword);
    }
    return builder;
  }

  private static String user(String userInfo) {
    int colon = userInfo.indexOf(':');
    if (colon >= 0 && colon < userInfo.length() - 1) {
      throw twice();
    }
    return Utf8.ofPercentEncoding(colon < 0 ? userInfo : userInfo.substring(0, colon));
  }

  private static IllegalArgumentException twice() {
    return new IllegalArgumentException(
        "found a password in the address and another outside it; give only one");
  }

  /** Returns the address without user, passwords and options. */
  @Override
  public String toString() {
    return Stores.shown(address);
  }

  /**
   * Opens stores by their address. Only this class depends on every kind of store. Opening a store
   * does not wait for a network.
   */
  public static final class Stores {

    public static final String MEMORY = "memory";

    private static final List<String> REDIS =
        List.of("redis", "rediss", "redis-sentinel", "redis-cluster", "redis-ring");
    private static final List<String> POSTGRES = List.of("postgresql", "postgres", "jdbc");
    private static final List<String> MARIADB = List.of("mariadb");
    private static final List<String> DATABASES = List.of("postgresql", "mariadb");
    private static final List<String> SHOWN =
        Stream.concat(REDIS.stream(), DATABASES.stream()).toList();
    private static final List<String> KNOWN =
        Stream.concat(Stream.of(MEMORY), SHOWN.stream()).toList();

    /** How far a replay's clock may go back: merged logs are not strictly ordered by time. */
    public static final Duration REPLAY_STEPS_BACK = Duration.ofHours(1);

    private static final Duration COLD_START = Duration.ofSeconds(5);

    private Stores() {}

    /**
     * Opens a store that uses its own clock.
     *
     * @throws IllegalArgumentException if the kind of store is unknown, or the address has a
     *     mistake; the message names the known kinds
     * @throws StoreException if a database replies that it cannot store the buckets
     */
    public static BucketStore open(StoreAccess access, BucketStore.Observer observer) {
      return switch (kind(access)) {
        case MEMORY -> BucketStore.inMemory();
        case REDIS -> access.builder().observer(observer).open();
        case POSTGRES -> access.postgres().observer(observer).open();
        case MARIADB -> access.mariaDb().observer(observer).open();
      };
    }

    /** Checks that a store's address and passwords are valid; opens no store. */
    public static void requireUsable(StoreAccess access) {
      var unused =
          switch (kind(access)) {
            case MEMORY -> MEMORY;
            case REDIS -> access.builder();
            case POSTGRES -> access.postgres();
            case MARIADB -> access.mariaDb();
          };
    }

    /**
     * Opens a store for a single operation of a new process. The default time-out is long enough
     * for a process that has just started.
     *
     * @throws IllegalArgumentException under the conditions of {@link #open(StoreAccess,
     *     BucketStore.Observer)}
     */
    public static BucketStore openForOneAct(StoreAccess access) {
      return switch (kind(access)) {
        case MEMORY -> BucketStore.inMemory();
        case REDIS -> patient(access, access.builder(), RedisStoreBuilder::timeout).open();
        case POSTGRES -> patient(access, access.postgres(), PostgresStoreBuilder::timeout).open();
        case MARIADB -> patient(access, access.mariaDb(), MariaDbStoreBuilder::timeout).open();
      };
    }

    /**
     * Opens a store that uses a given clock, for replays, with the time-out of {@link
     * #openForOneAct}. For the memory store, the clock may go back by {@link #REPLAY_STEPS_BACK}.
     *
     * @throws IllegalArgumentException under the conditions of {@link #open(StoreAccess,
     *     BucketStore.Observer)}
     */
    public static BucketStore open(StoreAccess access, TimeSource time) {
      return switch (kind(access)) {
        case MEMORY -> MemoryStore.builder().time(time).stepsBackUpTo(REPLAY_STEPS_BACK).build();
        case REDIS ->
            patient(access, access.builder(), RedisStoreBuilder::timeout)
                .clock(time)
                .skew(Duration.ZERO)
                .open();
        case POSTGRES ->
            patient(access, access.postgres(), PostgresStoreBuilder::timeout).clock(time).open();
        case MARIADB ->
            patient(access, access.mariaDb(), MariaDbStoreBuilder::timeout).clock(time).open();
      };
    }

    /** The kinds of stores. */
    private enum Product {
      MEMORY,
      REDIS,
      POSTGRES,
      MARIADB
    }

    private static @Nullable Product find(StoreAccess access) {
      String address = access.address();
      String scheme = scheme(address);
      if (access.isMemory()) {
        return Product.MEMORY;
      }
      if (REDIS.contains(scheme)) {
        return Product.REDIS;
      }
      if (MARIADB.contains(scheme) || address.startsWith("jdbc:mariadb:")) {
        return Product.MARIADB;
      }
      if (POSTGRES.contains(scheme)) {
        return Product.POSTGRES;
      }
      return null;
    }

    private static Product kind(StoreAccess access) {
      Product kind = find(access);
      if (kind == null) {
        throw new IllegalArgumentException(
            "found the store \"%s\", expected memory or a URI with one of the schemes %s%s"
                .formatted(
                    shown(access.address()),
                    SHOWN,
                    Suggestion.didYouMean(scheme(access.address()), KNOWN)));
      }
      return kind;
    }

    private static String scheme(String address) {
      int end = address.indexOf(':');
      return (end < 0 ? address : address.substring(0, end)).toLowerCase(Locale.ROOT);
    }

    /**
     * Creates a store's tables in its database, or upgrades them to this version.
     *
     * @param role a database role or user that gets the rights to use the store, and no other
     *     rights; null for none
     * @throws IllegalArgumentException if the store is not in a database, or the address has a
     *     mistake
     * @throws SQLException if the database refuses a statement
     */
    public static void create(StoreAccess access, @Nullable String role) throws SQLException {
      switch (kind(access)) {
        case POSTGRES -> access.postgres().create(role);
        case MARIADB -> access.mariaDb().create(role);
        default -> throw noDatabase(access);
      }
    }

    /** Returns the SQL statements that {@link #create} executes, for the database's client. */
    public static String statements(StoreAccess access, @Nullable String role) {
      return switch (kind(access)) {
        case POSTGRES -> access.postgres().statements(role);
        case MARIADB -> {
          requireUsable(access);
          yield MariaDbStore.statements(role);
        }
        default -> throw noDatabase(access);
      };
    }

    private static IllegalArgumentException noDatabase(StoreAccess access) {
      return new IllegalArgumentException(
          "found the store \"%s\", which needs no preparation; expected a URI with one of the schemes %s"
              .formatted(shown(access.address()), DATABASES));
    }

    private static boolean hasTimeout(StoreAccess access) {
      return access.address().contains("?timeout=") || access.address().contains("&timeout=");
    }

    private static <B> B patient(
        StoreAccess access, B builder, BiFunction<B, Duration, B> timeout) {
      return hasTimeout(access) ? builder : timeout.apply(builder, COLD_START);
    }

    /**
     * Returns a store's address for logs and messages, without user, password and options. If an @
     * follows a ?, both characters can be part of a password, so only the scheme is returned.
     */
    public static String shown(String address) {
      int at = address.lastIndexOf('@');
      int options = address.indexOf('?');
      if (options >= 0 && options < at) {
        int scheme = address.indexOf("://");
        return scheme >= 0 && scheme < options ? address.substring(0, scheme + 3) + "…" : "…";
      }
      int slashes = address.indexOf("://");
      int host = slashes < 0 || slashes > at ? 0 : slashes + 3;
      String text = at < 0 ? address : address.substring(0, host) + "…" + address.substring(at);
      int question = text.indexOf('?');
      return question < 0 ? text : text.substring(0, question);
    }
  }

  /** Metrics, which everybody can read, have numbers for servers; only the log has addresses. */
  static final class NumberedServers implements BucketStore.Observer {

    private static final Logger LOG = LoggerFactory.getLogger(NumberedServers.class);

    private final BucketStore.Observer told;
    private final String kind;
    private final Map<String, String> names = new ConcurrentHashMap<>();
    private final AtomicInteger numbers = new AtomicInteger();

    NumberedServers(BucketStore.Observer told, String kind) {
      this.told = told;
      this.kind = kind;
    }

    private String name(String server) {
      String known = names.get(server);
      return known == null ? names.computeIfAbsent(server, this::number) : known;
    }

    private String number(String server) {
      String name = kind + "-" + numbers.incrementAndGet();
      LOG.info("{} is {}", name, server);
      return name;
    }

    @Override
    public void called(String server, Result result, int batches, int charges, long elapsedNanos) {
      told.called(name(server), result, batches, charges, elapsedNanos);
    }

    @Override
    public void refused(String server, Refusal why) {
      told.refused(name(server), why);
    }

    @Override
    public void deniedFromMemory() {
      told.deniedFromMemory();
    }

    @Override
    public void changed(String server, State state, String reason) {
      told.changed(name(server), state, reason);
    }
  }
}
