// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.redis.RedisStoreBuilder.Protocol;
import dev.sluice.redis.StoreUri.Host;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisCredentialsProvider;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SocketOptions.KeepAliveOptions;
import io.lettuce.core.SocketOptions.TcpUserTimeoutOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.SslVerifyMode;
import io.lettuce.core.StaticCredentialsProvider;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import io.lettuce.core.resource.EpollProvider;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Creates clients of the client library, Lettuce, with the options of a store. Not thread-safe. */
final class Clients {

  private static final Duration LOOK_AT_CLUSTER_EVERY = Duration.ofSeconds(10);
  private static final Duration LOOK_AT_CLUSTER_AT_MOST_EVERY = Duration.ofMillis(500);
  private static final Duration KEEP_ALIVE_AFTER = Duration.ofSeconds(15);
  private static final Duration KEEP_ALIVE_EVERY = Duration.ofSeconds(5);
  private static final int KEEP_ALIVES = 3;
  private static final long SHUT_DOWN_MILLIS = 2000;

  private final StoreUri uri;
  private final RedisOptions options;
  private final Duration timeout;
  private final List<ClientResources> opened = new ArrayList<>();

  Clients(StoreUri uri, RedisOptions options) {
    this.uri = uri;
    this.options = options;
    this.timeout = options.get(RedisOptions.CONNECT_TIMEOUT);
  }

  RedisClient client() {
    RedisClient client = RedisClient.create(resources());
    client.setOptions(
        clientOptions()
            .autoReconnect(false) // a LazyConnection reconnects on its own
            .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
            .build());
    return client;
  }

  RedisClusterClient clusterClient() {
    RedisClusterClient client =
        RedisClusterClient.create(
            resources(), uri.hosts().stream().map(host -> server(host)).toList());
    client.setOptions(clusterOptions());
    return client;
  }

  private ClientResources resources() {
    ClientResources resources =
        ClientResources.builder()
            .threadFactoryProvider(RedisThread::factory)
            .commandLatencyRecorder(CommandLatencyRecorder.disabled())
            .reconnectDelay(reconnectDelay())
            .build();
    opened.add(resources);
    return resources;
  }

  /**
   * Returns how long Lettuce waits before it reconnects to a Cluster: at most the interval of
   * probes.
   */
  private Delay reconnectDelay() {
    Duration most = options.get(RedisOptions.PROBE);
    return Delay.exponential(Duration.ZERO, most, 2, TimeUnit.MILLISECONDS);
  }

  RedisURI server(Host host) {
    RedisURI.Builder server =
        RedisURI.builder().withHost(host.name()).withPort(host.port()).withDatabase(uri.database());
    return finish(server);
  }

  /**
   * Returns the addresses of the Sentinels, in the order in which Lettuce tries them.
   *
   * @param left the number of Sentinels that did not respond, which are moved to the end of the
   *     list
   */
  RedisURI sentinel(int left) {
    RedisURI.Builder sentinel =
        RedisURI.builder()
            .withSentinelMasterId(String.valueOf(uri.master()))
            .withDatabase(uri.database());
    String password = options.find(RedisOptions.SENTINEL_PASSWORD);
    List<Host> hosts = new ArrayList<>(uri.hosts());
    Collections.rotate(hosts, -(left % hosts.size()));
    for (Host host : hosts) {
      RedisURI.Builder one = RedisURI.builder().withHost(host.name()).withPort(host.port());
      if (password != null) {
        one.withAuthentication(credentials(options.find(RedisOptions.SENTINEL_USER), password));
      }
      sentinel.withSentinel(secured(one).build());
    }
    return finish(sentinel);
  }

  private RedisURI finish(RedisURI.Builder builder) {
    secured(builder);
    if (uri.password() != null) {
      builder.withAuthentication(credentials(uri.user(), uri.password()));
    }
    String clientName = options.find(RedisOptions.CLIENT_NAME);
    if (clientName != null) {
      builder.withClientName(clientName);
    }
    return builder.build();
  }

  /**
   * Returns a provider that returns its credentials at once. With a provider whose credentials
   * Lettuce awaits, such as the provider of {@code withAuthentication(user, password)}, Lettuce 7.7
   * ends the handshake on a thread of another pool. If Lettuce 7.7 awaits credentials, it can also
   * return a connection too early: the connection rejects commands for a moment, since its state is
   * not yet "connected".
   */
  static RedisCredentialsProvider credentials(@Nullable String user, String password) {
    return new StaticCredentialsProvider(RedisCredentials.just(user, password.toCharArray()));
  }

  @CanIgnoreReturnValue
  private RedisURI.Builder secured(RedisURI.Builder builder) {
    return builder.withTimeout(timeout).withSsl(options.tls()).withVerifyPeer(verifyMode());
  }

  private SslVerifyMode verifyMode() {
    return switch (options.get(RedisOptions.VERIFY)) {
      case FULL -> SslVerifyMode.FULL;
      case CA -> SslVerifyMode.CA;
      case NONE -> SslVerifyMode.NONE;
    };
  }

  private SslOptions sslOptions() {
    Path trusted = options.find(RedisOptions.CA);
    Path certificate = options.find(RedisOptions.CERT);
    Path key = options.find(RedisOptions.KEY);
    SslOptions.Builder ssl = SslOptions.builder().jdkSslProvider().handshakeTimeout(timeout);
    if (trusted != null) {
      ssl.trustManager(trusted.toFile());
    }
    if (certificate != null && key != null) {
      ssl.keyManager(certificate.toFile(), key.toFile(), new char[0]);
    }
    return ssl.build();
  }

  /**
   * Returns options that detect a server that disappeared without closing the connection, for
   * example after a power failure or behind a firewall that dropped the connection's state. TCP
   * keep-alive detects a dead server on an idle connection. The TCP user time-out, which not every
   * transport has, detects a dead server on a connection with calls in flight. Calls and the
   * breaker's probes have their own time-outs, and do not wait until TCP detects a dead server.
   */
  SocketOptions socketOptions() {
    SocketOptions.Builder sockets = SocketOptions.builder().connectTimeout(timeout);
    if (ClientVersion.hasTimedKeepAlive()) {
      sockets.keepAlive(
          KeepAliveOptions.builder()
              .enable()
              .idle(KEEP_ALIVE_AFTER)
              .interval(KEEP_ALIVE_EVERY)
              .count(KEEP_ALIVES)
              .build());
    }
    if (EpollProvider.isAvailable()) {
      sockets.tcpUserTimeout(
          TcpUserTimeoutOptions.builder()
              .enable()
              .tcpUserTimeout(KEEP_ALIVE_AFTER.plus(KEEP_ALIVE_EVERY.multipliedBy(KEEP_ALIVES)))
              .build());
    }
    return sockets.build();
  }

  ClientOptions.Builder clientOptions() {
    ClientOptions.Builder client =
        ClientOptions.builder()
            .socketOptions(socketOptions())
            .sslOptions(sslOptions())
            .timeoutOptions(
                TimeoutOptions.create()); // RequestQueue times calls out, Lettuce does not
    ClientVersion.withoutMaintenanceNotifications(client);
    Protocol protocol = options.find(RedisOptions.PROTOCOL);
    if (protocol != null) {
      client.protocolVersion(
          protocol == Protocol.RESP2 ? ProtocolVersion.RESP2 : ProtocolVersion.RESP3);
    }
    return client;
  }

  private ClusterClientOptions clusterOptions() {
    return ClusterClientOptions.builder(clientOptions().build())
        .topologyRefreshOptions(
            ClusterTopologyRefreshOptions.builder()
                .adaptiveRefreshTriggersTimeout(LOOK_AT_CLUSTER_AT_MOST_EVERY)
                .enablePeriodicRefresh(LOOK_AT_CLUSTER_EVERY)
                .build())
        .build();
  }

  /**
   * Closes a client in bounded time. Lettuce's own shutdown waits until a topology refresh in
   * flight has ended, which an unreachable server can delay for ever. {@link #close} ends the
   * client's threads.
   */
  static void close(AbstractRedisClient client) {
    client
        .shutdownAsync(0, SHUT_DOWN_MILLIS, TimeUnit.MILLISECONDS)
        .completeOnTimeout(null, SHUT_DOWN_MILLIS, TimeUnit.MILLISECONDS)
        .exceptionally(failure -> null)
        .join();
  }

  void close() {
    for (ClientResources resources : opened) {
      resources
          .shutdown(0, SHUT_DOWN_MILLIS, TimeUnit.MILLISECONDS)
          .awaitUninterruptibly(SHUT_DOWN_MILLIS);
    }
  }
}
