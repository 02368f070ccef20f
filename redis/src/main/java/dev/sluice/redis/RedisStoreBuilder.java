// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.remote.RemoteStore;
import dev.sluice.remote.StoreContext;
import dev.sluice.remote.Timing;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Makes a {@link RedisStore}. Each method except {@link #credentials}, {@link #observer} and {@link
 * #open} is also an option of the URI with the same name: {@code
 * redis://host:port/0?timeout=200ms&prefix=rl:}. An option set by a method overrides the option of
 * the same name in the URI.
 *
 * <p>Each method that sets an option throws an {@link IllegalArgumentException} if the value is out
 * of its range. Not thread-safe.
 */
public final class RedisStoreBuilder {

  private StoreUri uri;
  private RedisOptions options;
  private BucketStore.Observer observer = new BucketStore.Observer() {};

  RedisStoreBuilder(StoreUri uri) {
    this.uri = uri;
    this.options = RedisOptions.of(uri);
  }

  @CanIgnoreReturnValue
  private <T> RedisStoreBuilder set(RedisOption<T> option, T value) {
    options = options.with(option, value);
    return this;
  }

  /** The protocol between client and server. */
  public enum Protocol {
    /** The older Redis protocol, which every server and proxy supports. */
    RESP2,
    /** The newer Redis protocol, which Redis supports since version 6. */
    RESP3
  }

  /** The checks that a server's certificate must pass. */
  public enum Verify {
    /** Requires a certificate that a trusted authority issued for the host that is called. */
    FULL,
    /** Requires a certificate that a trusted authority issued, for any host. */
    CA,
    /** Accepts every certificate. */
    NONE
  }

  /**
   * Sets the user and the password of the log-in. A user or a password in the URI is ignored.
   *
   * @param user the ACL user; {@code default} for servers that have only a password
   * @param password the user's password
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder credentials(String user, String password) {
    uri =
        uri.withLogin(
            Objects.requireNonNull(user, "user"), Objects.requireNonNull(password, "password"));
    return this;
  }

  /**
   * Sets the time-out of a call; by default 500 ms.
   *
   * @param limit the time-out, from 1 ms to an hour
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder timeout(Duration limit) {
    return set(RedisOptions.TIMEOUT, limit);
  }

  /**
   * Sets the time-out of connecting, including greeting and log-in; by default 2 s. A charge that
   * waits for a connection still times out after {@link #timeout}.
   *
   * @param limit the time-out, from 1 ms to an hour
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder connectTimeout(Duration limit) {
    return set(RedisOptions.CONNECT_TIMEOUT, limit);
  }

  /**
   * Sets the name under which the server lists the connections.
   *
   * @param name the name, in printable ASCII without spaces
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder clientName(String name) {
    return set(RedisOptions.CLIENT_NAME, name);
  }

  /**
   * Sets the protocol, for a proxy that supports only one; by default the newest protocol that the
   * server supports.
   *
   * @param protocol the protocol of all connections
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder protocol(Protocol protocol) {
    return set(RedisOptions.PROTOCOL, protocol);
  }

  /**
   * Sets whether connections are encrypted; by default only connections of a {@code rediss} URI.
   *
   * @param encrypted true for TLS
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder tls(boolean encrypted) {
    return set(RedisOptions.TLS, encrypted);
  }

  /**
   * Sets the checks of a server's certificate; by default {@link Verify#FULL}.
   *
   * @param checks the checks; connections without TLS have no certificate to check
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder verify(Verify checks) {
    return set(RedisOptions.VERIFY, checks);
  }

  /**
   * Sets the trusted authorities for TLS; by default the authorities that the JVM trusts.
   *
   * @param pem a readable file with one or more X.509 certificates in PEM
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder ca(Path pem) {
    return set(RedisOptions.CA, pem);
  }

  /**
   * Sets the certificate of this client, for a server that requires client certificates. Redis
   * requires client certificates by default ({@code tls-auth-clients}). Set the private key of the
   * certificate with {@link #key}.
   *
   * @param pem a readable file with an X.509 certificate in PEM and its intermediate certificates
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder cert(Path pem) {
    return set(RedisOptions.CERT, pem);
  }

  /**
   * Sets the private key of {@link #cert}.
   *
   * @param pem a readable file with the key in PEM, PKCS#8, not encrypted
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder key(Path pem) {
    return set(RedisOptions.KEY, pem);
  }

  /**
   * Sets the prefix of every bucket key. Applications that share a Redis need different prefixes:
   * otherwise limits with the same number share their buckets.
   *
   * @param prefix the prefix, by default empty; with a prefix, buckets are not shared with Boulder
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder prefix(String prefix) {
    return set(RedisOptions.PREFIX, prefix);
  }

  /**
   * Sets which part of a key selects its server; by default the whole key.
   *
   * @param rule the part of the key that selects the server
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder tag(HashTag rule) {
    return set(RedisOptions.TAG, rule);
  }

  /**
   * Makes the store decide with a clock of this process instead of the server's clock. Set {@link
   * #skew} to zero if no other clock is used for the same buckets, as in a replay or a test.
   *
   * @param time the clock
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder clock(TimeSource time) {
    return set(RedisOptions.CLOCK, Optional.of(Objects.requireNonNull(time, "time")));
  }

  /**
   * Sets the largest difference between the clocks of the processes that use the same buckets; by
   * default 100 ms. If the clocks differ by at most the skew, all processes together grant no more
   * tokens in a period than one process would grant in a period that is longer by the skew.
   * Requires {@link #clock}.
   *
   * @param most the largest difference between two clocks, up to ten minutes. The wait in a denial
   *     can be too short by up to the skew of the clocks, if a process's clock is behind or a limit
   *     was reduced
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder skew(Duration most) {
    return set(RedisOptions.SKEW, most);
  }

  /**
   * Sets how long the client repeats a denial from its memory before it calls the server again; by
   * default 1 s. A repeated denial ignores refunds and resets by other processes. For a Cluster or
   * a ring of several servers, the client never repeats a denial from its memory.
   *
   * @param most the longest time to repeat a denial, up to an hour; zero to call the server for
   *     every charge
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder denials(Duration most) {
    return set(RedisOptions.DENIALS, most);
  }

  /**
   * Sets how many requests can wait for a server, or for the whole Cluster; by default 16384. While
   * the maximum number of requests is waiting, further requests are rejected.
   *
   * @param requests the maximum number of waiting requests, at least 1
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder queue(int requests) {
    return set(RedisOptions.QUEUE, requests);
  }

  /**
   * Sets how many calls in a row fail before a server is marked down; by default 5.
   *
   * @param calls the number of failed calls in a row, at least 1
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder failures(int calls) {
    return set(RedisOptions.FAILURES, calls);
  }

  /**
   * Sets the interval of probes to a server that is marked down; by default 500 ms.
   *
   * @param interval the interval of probes, from 1 ms to an hour
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder probe(Duration interval) {
    return set(RedisOptions.PROBE, interval);
  }

  /**
   * Sets the user that logs in to the Sentinels. Sentinels have separate users and passwords, and
   * never receive the servers' credentials. Set the password for the Sentinels with {@link
   * #sentinelPassword}.
   *
   * @param user the ACL user; not needed if the Sentinels have only a password
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder sentinelUser(String user) {
    return set(RedisOptions.SENTINEL_USER, user);
  }

  /**
   * Sets the password of the log-in to the Sentinels, for a {@code redis-sentinel} URI.
   *
   * @param password the password of the Sentinels
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder sentinelPassword(String password) {
    return set(RedisOptions.SENTINEL_PASSWORD, password);
  }

  /**
   * Sets the servers' names in a ring, whose hashes determine each key's server, in the order of
   * the hosts. Sluice and Boulder find a bucket on the same server only if both use the same names
   * for the servers. If a server gets another address but keeps its name, its keys stay on this
   * server.
   *
   * @param names one name for each host, all different and not empty
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder names(List<String> names) {
    return set(RedisOptions.NAMES, List.copyOf(Objects.requireNonNull(names, "names")));
  }

  /**
   * Sets the observer.
   *
   * @param newObserver an observer that counts the calls to the store and measures their durations
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder observer(BucketStore.Observer newObserver) {
    this.observer = Objects.requireNonNull(newObserver, "newObserver");
    return this;
  }

  /**
   * Opens the store: connects and runs the script once, up to {@code connectTimeout}. If a server
   * is unreachable, the store is opened nevertheless, and its charges fail.
   *
   * @return the store, to be closed by the caller
   * @throws IllegalArgumentException if options contradict each other, or if a file holds no
   *     certificate or key
   * @throws IllegalStateException if the application uses a Lettuce older than 6.5, or a Lettuce
   *     that needs Netty 4.2 together with Netty 4.1
   */
  public RedisStore open() {
    ClientVersion.check();
    options.check();
    Timing timing = RedisThread.timing();
    Clients clients = new Clients(uri, options);
    StoreContext context = context(timing);
    Roll.Servers servers = servers(new LettuceConnector(uri, clients, timing), context);
    RemoteStore store = store(servers, context, clients::close);
    if (store.warmUp(options.get(RedisOptions.CONNECT_TIMEOUT).toNanos())) {
      store.rehearse();
    }
    store
        .rehearseTimeOuts(); // needed even if the server is down, since the first call can time out
    return new RedisStore(
        store,
        (most, longest) -> Optional.of(KeyScan.keys(uri, options, most, longest)),
        context.clock() == null ? new Roll(uri.toString(), servers, context) : null);
  }

  /** Opens a store with given connections and timing, for simulators and tests. */
  RedisStore open(Timing timing, Connector connector, Runnable release) {
    StoreContext context = context(timing);
    RemoteStore store = store(servers(connector, context), context, release);
    store.warmUp(options.get(RedisOptions.CONNECT_TIMEOUT).toNanos());
    return new RedisStore(store, (most, longest) -> Optional.empty(), null);
  }

  private StoreContext context(Timing timing) {
    return new StoreContext(options.settings(), timing, observer);
  }

  private RemoteStore store(Roll.Servers servers, StoreContext context, Runnable release) {
    return new RemoteStore(
        uri.toString(),
        servers,
        context,
        () -> {
          release.run();
          context.timing().close();
        });
  }

  private Roll.Servers servers(Connector connector, StoreContext context) {
    return switch (uri.kind()) {
      case CLUSTER -> new ClusterSlots(uri.toString(), connector, context);
      case SENTINEL -> sentinel(connector, context);
      case SINGLE, SINGLE_TLS, RING -> ring(connector, context);
    };
  }

  private ServerRing sentinel(Connector connector, StoreContext context) {
    Master master = new Master(connector, context);
    SingleServer server = new SingleServer(uri.toString(), master::connect, context);
    master.onChange(server::renew);
    return new ServerRing(connector, List.of(server), List.of("master"), master::close);
  }

  private ServerRing ring(Connector connector, StoreContext context) {
    List<String> names = options.find(RedisOptions.NAMES);
    List<SingleServer> servers =
        uri.hosts().stream()
            .map(host -> new SingleServer(host.toString(), () -> connector.connect(host), context))
            .toList();
    return new ServerRing(
        connector,
        servers,
        names == null ? servers.stream().map(SingleServer::name).toList() : names,
        () -> {});
  }
}
