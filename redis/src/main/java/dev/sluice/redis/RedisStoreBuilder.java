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
import java.util.Optional;

/**
 * Makes a {@link RedisStore}. Each method but {@link #credentials}, {@link #observer} and {@link
 * #open} is also an option of the URI with the same name: {@code
 * redis://host:port/0?timeout=200ms&prefix=rl:}. A method overrides the URI's option.
 *
 * <p>Each method that sets an option throws an {@link IllegalArgumentException} for a value out of
 * its range. Not thread-safe.
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
    /** The older protocol, which every server and proxy supports. */
    RESP2,
    /** The one since Redis 6. */
    RESP3
  }

  /** The checks that a server's certificate must pass. */
  public enum Verify {
    /** A trusted authority has issued it, for the host that is called. */
    FULL,
    /** A trusted authority has issued it. */
    CA,
    /** None. */
    NONE
  }

  /**
   * Sets the user that logs in, instead of the URI's.
   *
   * @param user the ACL user, {@code default} for servers that have only a password
   * @param password its password
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder credentials(String user, String password) {
    uri = uri.withLogin(user, password);
    return this;
  }

  /**
   * Sets how long a call may take in all; 500 ms if not called.
   *
   * @param limit from 1 ms to an hour
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder timeout(Duration limit) {
    return set(RedisOptions.TIMEOUT, limit);
  }

  /**
   * Sets how long connecting may take, including greeting and log-in; 2 s if not called. A charge
   * that waits for a connection still ends by {@link #timeout}.
   *
   * @param limit from 1 ms to an hour
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder connectTimeout(Duration limit) {
    return set(RedisOptions.CONNECT_TIMEOUT, limit);
  }

  /**
   * Sets the name under which the server lists the connections.
   *
   * @param name printable ASCII without spaces
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder clientName(String name) {
    return set(RedisOptions.CLIENT_NAME, name);
  }

  /**
   * Sets the protocol, for a proxy that speaks only one.
   *
   * @param protocol the newest that the server speaks if not called
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder protocol(Protocol protocol) {
    return set(RedisOptions.PROTOCOL, protocol);
  }

  /**
   * Sets whether connections are encrypted; if not called, they are for a {@code rediss} URI.
   *
   * @param encrypted true for TLS
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder tls(boolean encrypted) {
    return set(RedisOptions.TLS, encrypted);
  }

  /**
   * Sets how much of a server's certificate is checked; everything if not called.
   *
   * @param checks for TLS
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder verify(Verify checks) {
    return set(RedisOptions.VERIFY, checks);
  }

  /**
   * Sets the authorities that are trusted, instead of those that the JVM trusts; for TLS.
   *
   * @param pem a readable file with one or more X.509 certificates in PEM
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder ca(Path pem) {
    return set(RedisOptions.CA, pem);
  }

  /**
   * Sets the certificate of this client, for a server that requires one, as Redis does by default
   * ({@code tls-auth-clients}). It requires {@link #key}.
   *
   * @param pem a readable file with an X.509 certificate in PEM, and its intermediate certificates
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
   * @param prefix empty if not called; with a prefix, buckets are not shared with Boulder
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder prefix(String prefix) {
    return set(RedisOptions.PREFIX, prefix);
  }

  /**
   * Sets which part of a key decides on its server; the whole key if not called.
   *
   * @param rule the rule
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder tag(HashTag rule) {
    return set(RedisOptions.TAG, rule);
  }

  /**
   * Makes the store decide by a clock of this process instead of the server's. Set {@link #skew} to
   * zero if no other clock is used on the same buckets, as in a replay or a test.
   *
   * @param time the clock
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder clock(TimeSource time) {
    return set(RedisOptions.CLOCK, Optional.of(time));
  }

  /**
   * Sets how far the clocks of the processes on the same buckets may differ; 100 ms if not called.
   * While they differ by less, the processes together grant, in any time, at most what one clock
   * would grant in that time plus the difference. It requires {@link #clock}.
   *
   * @param most up to ten minutes; the wait in a denial may be too short by this, for a process
   *     whose clock is behind, or after a limit has shrunk
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder skew(Duration most) {
    return set(RedisOptions.SKEW, most);
  }

  /**
   * Sets for how long a denial may be answered from memory before the server is asked again; 1 s if
   * not called. A refund or reset by another process is seen after this time at the latest. A
   * Cluster and a ring of several servers are always asked.
   *
   * @param most up to an hour; zero to always ask
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder denials(Duration most) {
    return set(RedisOptions.DENIALS, most);
  }

  /**
   * Sets how many requests may wait for a server (in a Cluster: for all of it); 16384 if not
   * called. More are refused.
   *
   * @param requests at least 1
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder queue(int requests) {
    return set(RedisOptions.QUEUE, requests);
  }

  /**
   * Sets how many calls in a row fail before a server is marked down; 5 if not called.
   *
   * @param calls at least 1
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder failures(int calls) {
    return set(RedisOptions.FAILURES, calls);
  }

  /**
   * Sets how often a server that is marked down is probed; every 500 ms if not called.
   *
   * @param interval from 1 ms to an hour
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder probe(Duration interval) {
    return set(RedisOptions.PROBE, interval);
  }

  /**
   * Sets the user that logs in to the Sentinels. They have users and passwords of their own, and
   * are never shown those of the servers. It requires {@link #sentinelPassword}.
   *
   * @param user the ACL user; not needed for Sentinels that have only a password
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder sentinelUser(String user) {
    return set(RedisOptions.SENTINEL_USER, user);
  }

  /**
   * Sets the password of the log-in to the Sentinels; only for a {@code redis-sentinel} URI.
   *
   * @param password their password
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder sentinelPassword(String password) {
    return set(RedisOptions.SENTINEL_PASSWORD, password);
  }

  /**
   * Sets the names by which a ring places keys, in the order of the hosts. With the same names as
   * Boulder's configuration, and only then, both find a bucket on the same server. A server that
   * moves to another address keeps its keys by keeping its name.
   *
   * @param names one for each host, all different
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder names(List<String> names) {
    return set(RedisOptions.NAMES, List.copyOf(names));
  }

  /**
   * Sets the observer.
   *
   * @param newObserver counts and times what the store does
   * @return this
   */
  @CanIgnoreReturnValue
  public RedisStoreBuilder observer(BucketStore.Observer newObserver) {
    this.observer = newObserver;
    return this;
  }

  /**
   * Opens the store: connects and runs the script once, up to {@code connectTimeout}. If a server
   * is unreachable, opening still succeeds, and charges fail.
   *
   * @return the store, to be closed by the caller
   * @throws IllegalArgumentException for options that contradict each other
   * @throws IllegalStateException if the application runs with a Lettuce older than 6.5, or with
   *     one that needs Netty 4.2 on Netty 4.1
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
    store.rehearseTimeOuts(); // needed even without a server, since the first call may time out
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
