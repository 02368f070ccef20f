// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.redis.RedisStoreBuilder.Protocol;
import dev.sluice.redis.RedisStoreBuilder.Verify;
import dev.sluice.redis.StoreUri.Kind;
import dev.sluice.remote.ClientClock;
import dev.sluice.remote.StoreContext;
import dev.sluice.store.TimeSource;
import io.netty.handler.ssl.SslContextBuilder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The options of a store: the values that were set in the URI or in the builder, and the defaults
 * of all other options. Each option is defined only in this class. Immutable, thread-safe.
 */
final class RedisOptions {

  private static final Duration MILLISECOND = Duration.ofMillis(1);
  private static final Duration HOUR = Duration.ofHours(1);

  /**
   * The largest number of calls in flight. With two calls, the server can run one call while the
   * response to the other call is in flight.
   */
  private static final int MAX_CALLS = 2;

  static final RedisOption<Duration> TIMEOUT =
      RedisOption.duration(MILLISECOND, HOUR).option("timeout", "500ms", "longest time for a call");

  static final RedisOption<Duration> CONNECT_TIMEOUT =
      RedisOption.duration(MILLISECOND, HOUR)
          .option("connectTimeout", "2s", "longest time to connect and log in");

  static final RedisOption<String> CLIENT_NAME =
      RedisOption.text()
          .rule((uri, name) -> requirePrintable(name))
          .optional("clientName", "none", "name of the connections in `CLIENT LIST`");

  static final RedisOption<Protocol> PROTOCOL =
      RedisOption.choice(Protocol.class)
          .optional("protocol", "the newest", "version of the Redis protocol");

  static final RedisOption<Boolean> TLS =
      RedisOption.kind("true, false", RedisOptions::truth)
          .optional("tls", "true for `rediss`", "encrypt connections");

  static final RedisOption<Verify> VERIFY =
      RedisOption.choice(Verify.class)
          .option(
              "verify",
              "full",
              "checks of a server's certificate: authority and host name, authority only, or nothing");

  static final RedisOption<Path> CA =
      RedisOption.file().optional("ca", "the JVM's authorities", "trusted authorities (PEM)");

  static final RedisOption<Path> CERT =
      RedisOption.file().optional("cert", "none", "client certificate (PEM)");

  static final RedisOption<Path> KEY =
      RedisOption.file().optional("key", "none", "unencrypted PKCS#8 key of `cert` (PEM)");

  static final RedisOption<String> PREFIX =
      RedisOption.text()
          .rule(RedisOptions::requireSpread)
          .optional("prefix", "none", "first part of every key");

  static final RedisOption<HashTag> TAG =
      RedisOption.choice(HashTag.class)
          .option("tag", "none", "part of a key that selects the key's server");

  static final RedisOption<Optional<TimeSource>> CLOCK =
      RedisOption.kind("server, client", RedisOptions::clock)
          .option("clock", "server", "clock for decisions");

  static final RedisOption<Duration> SKEW =
      // With a skew above SLACK, Redis could expire a bucket that is not full yet by the slowest
      // clock.
      RedisOption.duration(Duration.ZERO, ClientClock.SLACK)
          .option("skew", "100ms", "largest difference between the clients' clocks");

  static final RedisOption<Duration> DENIALS =
      RedisOption.duration(Duration.ZERO, HOUR)
          .reader(text -> text.equals("off") ? Duration.ZERO : GoDuration.parse(text))
          .values("up to 1h, off")
          .option("denials", "1s", "longest time to remember denials; no Cluster or ring");

  static final RedisOption<Integer> QUEUE =
      RedisOption.atLeastOne()
          .option(
              "queue",
              "16384",
              "maximum of waiting requests per server or Cluster; further requests are rejected");

  static final RedisOption<Integer> FAILURES =
      RedisOption.atLeastOne()
          .option("failures", "5", "failed calls in a row before a server is marked down");

  static final RedisOption<Duration> PROBE =
      RedisOption.duration(MILLISECOND, HOUR)
          .option("probe", "500ms", "interval of probes to a server that is marked down");

  static final RedisOption<String> SENTINEL_USER =
      RedisOption.text()
          .rule((uri, user) -> requireSentinel(uri))
          .optional("sentinelUser", "none", "user name for the Sentinels");

  static final RedisOption<String> SENTINEL_PASSWORD =
      RedisOption.text()
          .rule((uri, password) -> requireSentinel(uri))
          .optional(StoreUri.SENTINEL_PASSWORD, "none", "password of the Sentinels");

  static final RedisOption<List<String>> NAMES =
      RedisOption.kind("one name per host", text -> List.of(text.split(",", -1)))
          .rule(RedisOptions::requireRing)
          .optional("names", "addresses", "names by which a ring chooses a key's server");

  /** Every option, in the order of the documentation. */
  static final List<RedisOption<?>> ALL =
      List.of(
          TIMEOUT,
          CONNECT_TIMEOUT,
          CLIENT_NAME,
          PROTOCOL,
          TLS,
          VERIFY,
          CA,
          CERT,
          KEY,
          PREFIX,
          TAG,
          CLOCK,
          SKEW,
          DENIALS,
          QUEUE,
          FAILURES,
          PROBE,
          SENTINEL_USER,
          SENTINEL_PASSWORD,
          NAMES);

  private final StoreUri uri;
  private final Map<RedisOption<?>, Object> set;

  private RedisOptions(StoreUri uri, Map<RedisOption<?>, Object> set) {
    this.uri = uri;
    this.set = set;
  }

  /**
   * Reads the options of a URI.
   *
   * @throws IllegalArgumentException if an option is unknown or its value is not allowed; the
   *     message names the option
   */
  static RedisOptions of(StoreUri uri) {
    RedisOptions options = new RedisOptions(uri, Map.of());
    for (Map.Entry<String, String> found : uri.options().entrySet()) {
      options = options.read(find(uri, found.getKey()), found.getValue());
    }
    return options;
  }

  private static RedisOption<?> find(StoreUri uri, String name) {
    return ALL.stream()
        .filter(option -> option.name().equals(name))
        .findAny()
        .orElseThrow(() -> unknown(uri, name));
  }

  private static IllegalArgumentException unknown(StoreUri uri, String name) {
    List<String> known = ALL.stream().map(RedisOption::name).sorted().toList();
    boolean perhapsSecret = uri.options().containsKey(StoreUri.SENTINEL_PASSWORD);
    return new IllegalArgumentException(
        "store %s: found %s, expected one of %s%s"
            .formatted(
                uri,
                perhapsSecret
                    ? "an unknown option (write & in a value as %26)"
                    : "option \"" + name + "\"",
                known,
                perhapsSecret ? "" : Suggestion.didYouMean(name, known)));
  }

  private <T> RedisOptions read(RedisOption<T> option, String text) {
    T value;
    try {
      value = option.read(text);
    } catch (IllegalArgumentException e) {
      throw refused(option, e);
    }
    return with(option, value);
  }

  /**
   * Returns a copy of these options with another value for one option.
   *
   * @throws IllegalArgumentException if the option does not allow the value, or if this kind of
   *     store does not have the option
   */
  <T> RedisOptions with(RedisOption<T> option, T value) {
    Objects.requireNonNull(value, option.name());
    try {
      option.check(uri, value);
    } catch (IllegalArgumentException e) {
      throw refused(option, e);
    }
    Map<RedisOption<?>, Object> more = new HashMap<>(set);
    more.put(option, value);
    return new RedisOptions(uri, Map.copyOf(more));
  }

  private IllegalArgumentException refused(RedisOption<?> option, IllegalArgumentException why) {
    return new IllegalArgumentException(
        "store %s: option %s: %s".formatted(uri, option.name(), why.getMessage()), why);
  }

  /** Returns the value that was set, or the default. */
  <T> T get(RedisOption<T> option) {
    return Objects.requireNonNull(find(option), option.name());
  }

  /**
   * Returns the value that was set, or the default; null if no value was set and there is no
   * default.
   */
  @SuppressWarnings("unchecked") // only with() adds values, and it requires the option's type
  <T> @Nullable T find(RedisOption<T> option) {
    Object value = set.get(option);
    return value == null ? option.fallback() : (T) value;
  }

  boolean tls() {
    Boolean asked = find(TLS);
    return asked == null ? uri.kind() == Kind.SINGLE_TLS : asked;
  }

  Keys keys() {
    String prefix = find(PREFIX);
    return new Keys(prefix == null ? "" : prefix, get(TAG));
  }

  StoreContext.Settings settings() {
    return new StoreContext.Settings(
        "redis",
        keys()::bytes,
        get(TIMEOUT),
        get(QUEUE),
        MAX_CALLS,
        get(FAILURES),
        get(PROBE),
        uri.isSeveralServers() ? Duration.ZERO : get(DENIALS),
        get(CLOCK).map(time -> new ClientClock(time, get(SKEW))).orElse(null));
  }

  /**
   * Rejects contradictory options, and files without a certificate or a key.
   *
   * @throws IllegalArgumentException if options contradict each other, or a file is wrong; the
   *     message names the options
   */
  void check() {
    if (!tls() && (find(CA) != null || find(CERT) != null)) {
      throw contradiction("certificates require TLS: write rediss://, or the option tls=true");
    }
    if (!tls() && uri.options().containsKey(VERIFY.name())) {
      throw contradiction("option verify requires TLS: write rediss://, or the option tls=true");
    }
    if ((find(CERT) == null) != (find(KEY) == null)) {
      throw contradiction("the options cert and key require each other");
    }
    if (find(SENTINEL_USER) != null && find(SENTINEL_PASSWORD) == null) {
      throw contradiction("option sentinelUser requires the option sentinelPassword");
    }
    if (get(CLOCK).isEmpty() && set.containsKey(SKEW)) {
      throw contradiction("option skew requires clock=client");
    }
    requireCertificate(CA);
    requireCertificate(CERT);
    requireKey();
  }

  private void requireCertificate(RedisOption<Path> option) {
    Path file = find(option);
    if (file != null) {
      try {
        var unused = SslContextBuilder.forClient().trustManager(file.toFile());
      } catch (IllegalArgumentException e) {
        String why = "the file %s holds no X.509 certificate in PEM".formatted(file);
        throw refused(option, new IllegalArgumentException(why, e));
      }
    }
  }

  private void requireKey() {
    Path certificate = find(CERT);
    Path key = find(KEY);
    if (certificate != null && key != null) {
      try {
        var unused = SslContextBuilder.forClient().keyManager(certificate.toFile(), key.toFile());
      } catch (IllegalArgumentException e) {
        String why =
            "the file %s holds no unencrypted PKCS#8 key in PEM; convert the key: openssl pkcs8 -topk8 -nocrypt -in %s"
                .formatted(key, key);
        throw refused(KEY, new IllegalArgumentException(why, e));
      }
    }
  }

  private IllegalArgumentException contradiction(String what) {
    return new IllegalArgumentException("store %s: %s".formatted(uri, what));
  }

  private static boolean truth(String text) {
    return switch (text) {
      case "true" -> true;
      case "false" -> false;
      default ->
          throw new IllegalArgumentException(
              "found \"%s\", expected one of true, false".formatted(text));
    };
  }

  private static Optional<TimeSource> clock(String text) {
    return switch (text) {
      case "server" -> Optional.empty();
      case "client" -> Optional.of(TimeSource.system());
      default ->
          throw new IllegalArgumentException(
              "found \"%s\", expected one of server, client".formatted(text));
    };
  }

  private static void requirePrintable(String name) {
    if (name.isEmpty() || name.chars().anyMatch(c -> c <= ' ' || c > '~')) {
      throw new IllegalArgumentException(
          "found \"" + name + "\", expected printable ASCII without spaces");
    }
  }

  /**
   * Rejects a prefix with braces in a store with several servers, since the text in the first
   * braces of a key selects the server.
   */
  private static void requireSpread(StoreUri uri, String prefix) {
    boolean isSpread = uri.kind() == Kind.CLUSTER || uri.kind() == Kind.RING;
    if (isSpread && prefix.contains("{")) {
      throw new IllegalArgumentException(
          "found a prefix with \"{\" (%s), expected a prefix without \"{\": the text in the first braces of"
                  .formatted(prefix)
              + " a key selects the server, so one server would get all buckets");
    }
  }

  private static void requireSentinel(StoreUri uri) {
    if (uri.kind() != Kind.SENTINEL) {
      throw new IllegalArgumentException(
          "Sentinel credentials require a redis-sentinel:// address, found %s".formatted(uri));
    }
  }

  private static void requireRing(StoreUri uri, List<String> names) {
    boolean distinct = names.stream().distinct().count() == names.size();
    boolean areComplete = names.size() == uri.hosts().size() && !names.contains("");
    if (uri.kind() != Kind.RING || !areComplete || !distinct) {
      throw new IllegalArgumentException(
          "found %s, expected a different name for each of the %s hosts, and only for a redis-ring"
              .formatted(names, uri.hosts().size()));
    }
  }
}
