// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.async.Stages;
import dev.sluice.redis.StoreUri.Host;
import dev.sluice.redis.StoreUri.Kind;
import dev.sluice.remote.Timing;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.DefaultEndpoint;
import io.lettuce.core.sentinel.api.StatefulRedisSentinelConnection;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Connects to servers with Lettuce. Thread-safe. */
final class LettuceConnector implements Connector {

  private static final long SENTINEL_ANSWERS_NANOS = 400_000_000;

  private final StoreUri uri;
  private final Clients clients;
  private final @Nullable RedisClient client; // null for a Cluster
  private final @Nullable RedisClusterClient cluster;
  private final Timing timing;
  private @Nullable CompletableFuture<StatefulRedisSentinelConnection<byte[], byte[]>>
      sentinel; // guarded by this
  private int leftSentinels; // guarded by this
  private int leftSinceAnswer; // guarded by this

  LettuceConnector(StoreUri uri, Clients clients, Timing timing) {
    this.uri = uri;
    this.clients = clients;
    this.timing = timing;
    this.leftSinceAnswer = uri.hosts().size();
    this.cluster = uri.kind() == Kind.CLUSTER ? clients.clusterClient() : null;
    this.client = uri.kind() == Kind.CLUSTER ? null : clients.client();
  }

  @Override
  public CompletionStage<LettuceConnection> connect(Host server) {
    return Objects.requireNonNull(client)
        .connectAsync(ByteArrayCodec.INSTANCE, clients.server(server))
        .thenApply(LettuceConnection::new);
  }

  /**
   * Uses one connection to the first Sentinel that responds, until this Sentinel no longer
   * responds.
   */
  @Override
  public CompletionStage<Host> askForMaster() {
    var asked = sentinel();
    return asked
        .thenCompose(this::masterKnownTo)
        .thenApply(this::host)
        .whenComplete(
            (host, failure) -> {
              if (failure == null) {
                answered();
              } else {
                leave(asked); // the next request goes to another Sentinel
              }
            });
  }

  private CompletionStage<SocketAddress> masterKnownTo(
      StatefulRedisSentinelConnection<byte[], byte[]> open) {
    byte[] name = String.valueOf(uri.master()).getBytes(StandardCharsets.UTF_8);
    return timing.within(
        open.async().getMasterAddrByName(name).toCompletableFuture(), SENTINEL_ANSWERS_NANOS);
  }

  private Host host(@Nullable SocketAddress address) {
    if (address instanceof InetSocketAddress known) {
      return new Host(known.getHostString(), known.getPort());
    }
    throw new RedisException(
        "the Sentinels have no master with the name \"%s\"; check the name after #"
            .formatted(uri.master()));
  }

  private synchronized CompletableFuture<StatefulRedisSentinelConnection<byte[], byte[]>>
      sentinel() {
    if (sentinel != null && isBroken(sentinel)) {
      leave(sentinel);
    }
    if (sentinel == null) {
      sentinel = connectToSentinel();
    }
    return sentinel;
  }

  private static boolean isBroken(
      CompletableFuture<StatefulRedisSentinelConnection<byte[], byte[]>> known) {
    return known.isDone() && (known.isCompletedExceptionally() || !known.join().isOpen());
  }

  /**
   * Connects to a Sentinel. While another Sentinel can be tried, the time-out is the short time-out
   * of a response; otherwise it is the longer time-out of connecting. The first connection of a JVM
   * always has the time-out of connecting, since the JVM must load classes.
   */
  private CompletableFuture<StatefulRedisSentinelConnection<byte[], byte[]>> connectToSentinel() {
    CompletableFuture<StatefulRedisSentinelConnection<byte[], byte[]>> connecting =
        Objects.requireNonNull(client)
            .connectSentinelAsync(ByteArrayCodec.INSTANCE, clients.sentinel(leftSentinels));
    if (leftSinceAnswer >= uri.hosts().size()) {
      return connecting;
    }
    var inTime = timing.within(connecting, SENTINEL_ANSWERS_NANOS);
    Stages.onEnd(
        inTime,
        (open, failure) -> {
          if (failure != null) {
            closeWhenOpen(connecting);
          }
        });
    return inTime;
  }

  private synchronized void answered() {
    leftSinceAnswer = 0;
  }

  /**
   * Stops using the current Sentinel, unless another caller has already done so. The next request
   * tries the next Sentinel.
   */
  private synchronized void leave(
      CompletableFuture<StatefulRedisSentinelConnection<byte[], byte[]>> asked) {
    if (sentinel == asked) {
      sentinel = null;
      leftSentinels++;
      leftSinceAnswer++;
      closeWhenOpen(asked);
    }
  }

  private void closeWhenOpen(
      CompletableFuture<StatefulRedisSentinelConnection<byte[], byte[]>> asked) {
    Stages.onSuccess(
        asked, open -> timing.elsewhere(() -> open.closeAsync().exceptionally(closed -> null)));
  }

  @Override
  public CompletionStage<? extends ClusterConnection> connectToCluster() {
    RedisClusterClient known = Objects.requireNonNull(cluster);
    return known
        .refreshPartitionsAsync()
        .thenCompose(map -> known.connectAsync(ByteArrayCodec.INSTANCE))
        .thenApply(ToCluster::new);
  }

  @Override
  public CompletionStage<?> refreshCluster() {
    return Objects.requireNonNull(cluster).refreshPartitionsAsync();
  }

  @Override
  public void close() {
    Clients.close(client == null ? Objects.requireNonNull(cluster) : client);
  }

  private final class ToCluster extends LettuceConnection implements ClusterConnection {

    private final StatefulRedisClusterConnection<byte[], byte[]> wire;

    ToCluster(StatefulRedisClusterConnection<byte[], byte[]> wire) {
      super(wire);
      this.wire = wire;
    }

    @Override
    public @Nullable Node masterOf(int slot) {
      RedisClusterNode master = wire.getPartitions().getPartitionBySlot(slot);
      return master == null ? null : node(master);
    }

    @Override
    public @Nullable Node node(String id) {
      RedisClusterNode node = wire.getPartitions().getPartitionByNodeId(id);
      return node == null ? null : node(node);
    }

    @Override
    public List<Node> masters() {
      return wire.getPartitions().stream()
          .filter(node -> !node.getSlots().isEmpty())
          .map(ToCluster::node)
          .toList();
    }

    private static Node node(RedisClusterNode node) {
      return new Node(node.getNodeId(), node.getUri().getHost(), node.getUri().getPort());
    }

    /** Pings a node that Lettuce selects. */
    @Override
    public CompletionStage<String> ping() {
      return wire.async().ping();
    }

    @Override
    public CompletionStage<String> ping(Node node, long nanos) {
      return wire.getConnectionAsync(node.host(), node.port())
          .thenCompose(to -> pingOrCut(to, nanos));
    }

    private CompletionStage<String> pingOrCut(
        StatefulRedisConnection<byte[], byte[]> toNode, long nanos) {
      if (!toNode.isOpen()) {
        return CompletableFuture.failedFuture(new RedisException("not connected"));
      }
      return timing
          .within(toNode.async().ping().toCompletableFuture(), nanos)
          .whenComplete(
              (pong, failure) -> {
                if (failure != null
                    && toNode instanceof RedisChannelHandler<?, ?> handler
                    && handler.getChannelWriter() instanceof DefaultEndpoint endpoint) {
                  endpoint.disconnect();
                }
              });
    }
  }
}
