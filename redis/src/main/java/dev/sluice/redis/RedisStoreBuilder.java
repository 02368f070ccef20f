package dev.sluice.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.redis.StoreUri.Kind;
import dev.sluice.store.TimeSource;
import dev.sluice.text.GoDuration;
import dev.sluice.text.Suggestion;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What can be said about a {@link RedisStore}; each also as an option of its URI, {@code
 * redis://host:port/0?timeout=200ms&prefix=rl:}.
 *
 * <p>Options, with what holds without them: {@code timeout} (500ms), {@code connectTimeout} (2s),
 * {@code clientName} (none), {@code protocol} ({@code resp2} or {@code resp3}; the newest that the
 * server speaks), {@code tls} (true or false; false but for {@code rediss}), {@code verify} (of the
 * server's certificate: {@code full}, {@code ca}, {@code none}; full), {@code ca} (a file with the
 * certificates that are trusted; those of the JVM), {@code cert} and {@code key} (files with the
 * client's own certificate and its key; none), {@code prefix} (none), {@code tag} ({@code none},
 * {@code id}, {@code account}; none), {@code clock} ({@code server}, {@code client}; server),
 * {@code skew} (how far the clients' clocks may differ; 100ms), {@code denials} (how long a denial
 * is remembered, or {@code off}; 1s), {@code queue} (how many requests may wait for a server;
 * 16384), {@code failures} (calls in a row after which a server is given up; 5), {@code probe} (how
 * often it is probed then; 500ms), {@code sentinelUser} and {@code sentinelPassword} (for Sentinels
 * that ask for it; none), {@code names} (of the servers of a ring, by which keys are placed; their
 * addresses).
 *
 * <p>Not thread-safe.
 */
public final class RedisStoreBuilder {

  /** How many denials are remembered. */
  static final int DENIALS = 16_384;

  private static final int MAX_CHARGES_PER_CALL = 128;

  private static final Duration USUAL_SKEW = Duration.ofMillis(100);

  private final StoreUri uri;
  private final Connecting connecting = new Connecting();
  private Duration timeout = Duration.ofMillis(500);
  private String prefix = "";
  private HashTag tag = HashTag.NONE;
  private @Nullable TimeSource clock;
  private @Nullable Duration skew;
  private Duration denials = Duration.ofSeconds(1);
  private int maxWaiting = 16_384;
  private int maxFailures = 5;
  private Duration probeEvery = Duration.ofMillis(500);
  private List<String> names = List.of();
  private RedisObserver observer = new RedisObserver() {};

  RedisStoreBuilder(StoreUri uri) {
    this.uri = uri;
    connecting.tls = uri.kind() == Kind.SINGLE_TLS;
    Map<String, Consumer<String>> known = known();
    uri.options()
        .forEach(
            (name, value) -> {
              Consumer<String> option = known.get(name);
              if (option == null) {
                throw unknown(name, known.keySet());
              }
              try {
                option.accept(value);
              } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException(
                    "store %s: option %s: %s".formatted(uri, name, e.getMessage()), e);
              }
            });
  }

  private IllegalArgumentException unknown(String name, Set<String> known) {
    boolean perhapsSecret = uri.options().containsKey(StoreUri.SENTINEL_PASSWORD);
    return new IllegalArgumentException(
        "store %s: found %s, expected one of %s%s"
            .formatted(
                uri,
                perhapsSecret
                    ? "an unknown option (an & in a value is %26)"
                    : "option \"" + name + "\"",
                known.stream().sorted().toList(),
                perhapsSecret ? "" : Suggestion.didYouMean(name, known)));
  }

  private Map<String, Consumer<String>> known() {
    return Map.ofEntries(
        Map.entry("timeout", v -> timeout(GoDuration.parse(v))),
        Map.entry("connectTimeout", v -> connectTimeout(GoDuration.parse(v))),
        Map.entry("clientName", this::clientName),
        Map.entry("protocol", v -> protocol(choice(v, Protocol.values()))),
        Map.entry("tls", v -> connecting.tls = choice(v, Truth.values()) == Truth.TRUE),
        Map.entry("verify", v -> connecting.verify = choice(v, Connecting.Verify.values())),
        Map.entry("ca", v -> trustedCertificates(Path.of(v))),
        Map.entry("cert", v -> connecting.certificate = readable(Path.of(v))),
        Map.entry("key", v -> connecting.key = readable(Path.of(v))),
        Map.entry("prefix", this::keyPrefix),
        Map.entry("tag", v -> hashTag(choice(v, HashTag.values()))),
        Map.entry(
            "clock",
            v -> clock = choice(v, Clock.values()) == Clock.CLIENT ? TimeSource.system() : null),
        Map.entry("skew", v -> skew = skew(GoDuration.parse(v))),
        Map.entry(
            "denials", v -> rememberDenials(v.equals("off") ? Duration.ZERO : GoDuration.parse(v))),
        Map.entry("queue", v -> maxWaiting(number(v))),
        Map.entry("failures", v -> giveUpAfter(number(v), probeEvery)),
        Map.entry("probe", v -> giveUpAfter(maxFailures, GoDuration.parse(v))),
        Map.entry("sentinelUser", v -> connecting.sentinelUser = forSentinel(v)),
        Map.entry(StoreUri.SENTINEL_PASSWORD, v -> connecting.sentinelPassword = forSentinel(v)),
        Map.entry("names", v -> ringNames(List.of(v.split(",", -1)))));
  }

  private enum Truth {
    TRUE,
    FALSE
  }

  private enum Clock {
    SERVER,
    CLIENT
  }

  /** The protocol between client and server. */
  public enum Protocol {
    /** The old one, which every server and proxy speaks. */
    RESP2,
    /** The one since Redis 6. */
    RESP3
  }

  private static <E extends Enum<E>> E choice(String found, E[] values) {
    for (E value : values) {
      if (value.name().toLowerCase(Locale.ROOT).equals(found)) {
        return value;
      }
    }
    throw new IllegalArgumentException(
        "found \"%s\", expected one of %s"
            .formatted(found, Arrays.toString(values).toLowerCase(Locale.ROOT)));
  }

  private static int number(String found) {
    try {
      return Integer.parseInt(found);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("found \"" + found + "\", expected a whole number", e);
    }
  }

  /**
   * Sets by when every charge ends.
   *
   * @param newTimeout from 1 ms to an hour
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder timeout(Duration newTimeout) {
    this.timeout = within(newTimeout, Duration.ofMillis(1), Duration.ofHours(1));
    return this;
  }

  /**
   * Sets how long connecting may take, greetings and log-in included. A charge does not wait longer
   * for it than for anything else.
   *
   * @param newTimeout from 1 ms to an hour
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder connectTimeout(Duration newTimeout) {
    connecting.timeout = within(newTimeout, Duration.ofMillis(1), Duration.ofHours(1));
    return this;
  }

  /**
   * Sets who logs in, instead of what the URI says.
   *
   * @param user the ACL user, {@code default} for servers that have only a password
   * @param password its password
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder credentials(String user, String password) {
    connecting.user = user;
    connecting.password = password;
    return this;
  }

  /**
   * Sets who logs in to the Sentinels, where they ask for it: they have users and passwords of
   * their own, and are never shown those of the servers.
   *
   * @param user the ACL user, {@code default} for Sentinels that have only a password
   * @param password its password
   * @return this
   * @throws IllegalArgumentException if the URI is not a {@code redis-sentinel}
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder sentinelCredentials(String user, String password) {
    connecting.sentinelUser = forSentinel(user);
    connecting.sentinelPassword = password;
    return this;
  }

  private String forSentinel(String value) {
    if (uri.kind() != Kind.SENTINEL) {
      throw new IllegalArgumentException(
          "Sentinel credentials require a redis-sentinel:// address, found %s".formatted(uri));
    }
    return value;
  }

  /**
   * Sets whose certificates are trusted, instead of those that the JVM trusts; for TLS.
   *
   * @param pem a file with one or more X.509 certificates in PEM
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder trustedCertificates(Path pem) {
    connecting.trusted = readable(pem);
    return this;
  }

  /**
   * Sets what this client shows a server that asks for a certificate, as Redis does unless it is
   * told otherwise ({@code tls-auth-clients}); for TLS.
   *
   * @param pem a file with an X.509 certificate in PEM, and those that vouch for it
   * @param key a file with its private key in PEM, PKCS#8, not encrypted
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder clientCertificate(Path pem, Path key) {
    connecting.certificate = readable(pem);
    connecting.key = readable(key);
    return this;
  }

  private static Path readable(Path file) {
    if (!Files.isReadable(file)) {
      throw new IllegalArgumentException("found no readable file " + file);
    }
    return file;
  }

  /**
   * Sets the name under which the server lists the connections.
   *
   * @param name without spaces
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder clientName(String name) {
    if (name.isEmpty() || name.chars().anyMatch(c -> c <= ' ' || c > '~')) {
      throw new IllegalArgumentException(
          "found \"" + name + "\", expected printable ASCII without spaces");
    }
    connecting.clientName = name;
    return this;
  }

  /**
   * Sets the protocol, for a proxy that speaks only one.
   *
   * @param protocol without it the newest that the server speaks
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder protocol(Protocol protocol) {
    connecting.protocol = protocol;
    return this;
  }

  /**
   * Sets what stands before every bucket key.
   *
   * @param newPrefix may be empty; with one, buckets are not shared with Boulder
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder keyPrefix(String newPrefix) {
    this.prefix = newPrefix;
    return this;
  }

  /**
   * Sets which part of a key decides on its server.
   *
   * @param newTag the rule
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder hashTag(HashTag newTag) {
    this.tag = newTag;
    return this;
  }

  /**
   * Goes by a clock of this process instead of the server's, where no other clock works on the same
   * buckets: for replays and for tests.
   *
   * @param newClock the clock
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder clientClock(TimeSource newClock) {
    return clientClock(newClock, Duration.ZERO);
  }

  /**
   * Goes by a clock of this process instead of the server's, where other processes on the same
   * buckets go by theirs. As long as these clocks differ by less than {@code newSkew}, they grant
   * together, in any time, at most what one clock would grant in that time and their difference.
   *
   * @param newClock the clock
   * @param newSkew how far the clocks may differ, up to ten minutes. A wait that a denial promises
   *     may be that much too short: to a process that is behind, and where a limit has shrunk.
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder clientClock(TimeSource newClock, Duration newSkew) {
    this.skew = skew(newSkew);
    this.clock = newClock;
    return this;
  }

  private static Duration skew(Duration found) {
    return within(found, Duration.ZERO, ClientClock.SLACK); // or a bucket could go too early
  }

  /**
   * Sets for how long a denial may be answered from memory before the server is asked again: by
   * then at the latest, a refund or reset by another process is seen.
   *
   * @param atMost up to an hour; zero to always ask
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder rememberDenials(Duration atMost) {
    this.denials = within(atMost, Duration.ZERO, Duration.ofHours(1));
    return this;
  }

  /**
   * Sets how many requests may wait for a server (in a Cluster: for all of it); more are refused.
   *
   * @param requests at least 1
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder maxWaiting(int requests) {
    this.maxWaiting = atLeastOne(requests);
    return this;
  }

  /**
   * Sets when a server is given up, and how often one that was given up is probed.
   *
   * @param failures calls that fail in a row, at least 1
   * @param newProbeEvery from 1 ms to an hour
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder giveUpAfter(int failures, Duration newProbeEvery) {
    this.maxFailures = atLeastOne(failures);
    this.probeEvery = within(newProbeEvery, Duration.ofMillis(1), Duration.ofHours(1));
    return this;
  }

  /**
   * Sets the names by which a ring places keys, in the order of the hosts: with the same names as
   * Boulder's configuration, and only then, both find a bucket on the same server. A server that
   * moves to another address keeps its keys by keeping its name.
   *
   * @param newNames one for each host
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder ringNames(List<String> newNames) {
    boolean distinct = newNames.stream().distinct().count() == newNames.size();
    if (uri.kind() != Kind.RING || newNames.size() != uri.hosts().size() || !distinct) {
      throw new IllegalArgumentException(
          "found %s, expected for a redis-ring one name for each of the %s hosts, all different"
              .formatted(newNames, uri.hosts().size()));
    }
    this.names = List.copyOf(newNames);
    return this;
  }

  /**
   * Sets who watches.
   *
   * @param newObserver counts and times what the store does
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder observer(RedisObserver newObserver) {
    this.observer = newObserver;
    return this;
  }

  private static Duration within(Duration found, Duration least, Duration most) {
    if (found.compareTo(least) < 0 || found.compareTo(most) > 0) {
      throw new IllegalArgumentException(
          "found %s, expected from %s to %s"
              .formatted(
                  GoDuration.format(found), GoDuration.format(least), GoDuration.format(most)));
    }
    return found;
  }

  private static int atLeastOne(int found) {
    if (found < 1) {
      throw new IllegalArgumentException("found " + found + ", expected at least 1");
    }
    return found;
  }

  /**
   * Opens the store. Connections are made when they are first needed.
   *
   * @return the store, to be closed by the caller
   * @throws IllegalArgumentException for options that contradict each other
   * @throws IllegalStateException if the application runs with a Lettuce older than 6.5
   */
  public RedisStore open() {
    try {
      connecting.check();
      if (clock == null && skew != null) {
        throw new IllegalArgumentException(
            "option skew: found without clock=client, expected with it only: one clock has no skew");
      }
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("store %s: %s".formatted(uri, e.getMessage()), e);
    }
    connecting.reconnectAtLeastEvery = probeEvery;
    Timing timing = new SystemTiming();
    return open(timing, new LettuceConnector(uri, connecting, timing), connecting::close);
  }

  /** Opens a store on connections and a time that are not the machine's own. */
  RedisStore open(Timing timing, Connector connector, Runnable release) {
    Keys keys = new Keys(prefix, tag);
    Wiring wiring =
        new Wiring(
            keys,
            new Lane.Options(maxWaiting, MAX_CHARGES_PER_CALL, clientClock()),
            timeout.toNanos(),
            maxFailures,
            probeEvery.toNanos(),
            timing,
            new GuardedObserver(observer));
    RedisStore store =
        new RedisStore(
            uri.toString(),
            shards(connector, wiring),
            keys,
            wiring,
            new DenialMemory(
                denials.isZero() ? 0 : DENIALS,
                denials.toNanos(),
                uri.isSeveralServers(),
                clock,
                timing),
            () -> {
              release.run();
              timing.close();
            });
    store.warmUp(connecting.timeout.toNanos());
    return store;
  }

  private Shards shards(Connector connector, Wiring wiring) {
    return switch (uri.kind()) {
      case CLUSTER -> new ClusterSlots(uri.toString(), connector, wiring);
      case SENTINEL -> sentinel(connector, wiring);
      case SINGLE, SINGLE_TLS, RING -> ring(connector, wiring);
    };
  }

  private ServerRing sentinel(Connector connector, Wiring wiring) {
    Master master = new Master(connector, wiring);
    SingleServer server = new SingleServer(uri.toString(), master::connect, wiring);
    master.onChange(server::renew);
    return new ServerRing(connector, List.of(server), List.of("master"), master::close);
  }

  private ServerRing ring(Connector connector, Wiring wiring) {
    List<SingleServer> servers =
        uri.hosts().stream()
            .map(host -> new SingleServer(host.toString(), () -> connector.connect(host), wiring))
            .toList();
    return new ServerRing(
        connector,
        servers,
        names.isEmpty() ? servers.stream().map(SingleServer::name).toList() : names,
        () -> {});
  }

  private @Nullable ClientClock clientClock() {
    return clock == null ? null : new ClientClock(clock, skew == null ? USUAL_SKEW : skew);
  }
}
