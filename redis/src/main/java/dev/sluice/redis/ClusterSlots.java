package dev.sluice.redis;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.DefaultEndpoint;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * A Cluster: one lane for each slot, since a script may only touch keys of one; one breaker for
 * each master, since that is what fails. Redirections are followed by the client. Thread-safe.
 */
final class ClusterSlots implements Shards {

  private final String name;
  private final RedisClusterClient client;
  private final Link<StatefulRedisClusterConnection<byte[], byte[]>> link;
  private final Wiring wiring;
  private final AtomicReferenceArray<@Nullable Lane> lanes =
      new AtomicReferenceArray<>(SlotHash.SLOT_COUNT);
  private final AtomicInteger waiting = new AtomicInteger(); // one bound for all slots
  private final Map<String, Breaker> breakers = new ConcurrentHashMap<>();
  private final AtomicBoolean looking = new AtomicBoolean();
  private final Breaker beforeItIsKnown;

  ClusterSlots(String name, RedisClusterClient client, Wiring wiring) {
    this.name = name;
    this.client = client;
    this.wiring = wiring;
    this.link =
        new Link<>(
            () ->
                client
                    .refreshPartitionsAsync()
                    .thenCompose(known -> client.connectAsync(ByteArrayCodec.INSTANCE)),
            true);
    this.beforeItIsKnown =
        wiring.breaker(name, () -> within(link.connection().thenCompose(c -> c.async().ping())));
  }

  @Override
  public Lane laneOf(byte[] key) {
    int slot = SlotHash.getSlot(key);
    Lane lane = lanes.get(slot);
    if (lane == null) {
      Lane fresh = wiring.lane(new Slot(slot), waiting);
      lane = lanes.compareAndSet(slot, null, fresh) ? fresh : lanes.get(slot);
    }
    return lane == null ? laneOf(key) : lane;
  }

  private @Nullable RedisClusterNode masterOf(int slot) {
    StatefulRedisClusterConnection<byte[], byte[]> open = link.open();
    return open == null ? null : open.getPartitions().getPartitionBySlot(slot);
  }

  private static String address(RedisClusterNode node) {
    return node.getUri().getHost() + ":" + node.getUri().getPort();
  }

  private Breaker breakerOf(RedisClusterNode node) {
    Breaker breaker = breakers.get(node.getNodeId()); // seldom missing, and get takes no lock
    return breaker != null
        ? breaker
        : breakers.computeIfAbsent(
            node.getNodeId(), id -> wiring.breaker(address(node), () -> probe(id)));
  }

  /**
   * Looks at the map anew, which may take longer where another server is lost, and meanwhile asks
   * the server itself, on the connection that calls take. One that is open and silent is cut off,
   * so that the client connects anew: behind it may be nobody any more.
   */
  private CompletionStage<?> probe(String nodeId) {
    look();
    return within(
        link.connection()
            .thenCompose(
                connection -> {
                  RedisClusterNode node = connection.getPartitions().getPartitionByNodeId(nodeId);
                  return node == null
                      ? CompletableFuture.completedFuture("gone")
                      : connection
                          .getConnectionAsync(node.getUri().getHost(), node.getUri().getPort())
                          .thenCompose(this::pingOrCut);
                }));
  }

  private CompletionStage<String> pingOrCut(StatefulRedisConnection<byte[], byte[]> toNode) {
    if (!toNode.isOpen()) {
      return CompletableFuture.failedFuture(new RedisException("not connected"));
    }
    return within(toNode.async().ping())
        .whenComplete(
            (pong, failure) -> {
              if (failure != null
                  && toNode instanceof RedisChannelHandler<?, ?> handler
                  && handler.getChannelWriter() instanceof DefaultEndpoint endpoint) {
                endpoint.disconnect();
              }
            });
  }

  /** One look at a time. */
  private void look() {
    if (looking.compareAndSet(false, true)) {
      try {
        var unused =
            client.refreshPartitionsAsync().whenComplete((known, failure) -> looking.set(false));
      } catch (RuntimeException e) { // the client is closed
        looking.set(false);
      }
    }
  }

  private <T> CompletableFuture<T> within(CompletionStage<T> stage) {
    return stage
        .toCompletableFuture()
        .copy()
        .orTimeout(wiring.timeoutNanos(), TimeUnit.NANOSECONDS);
  }

  @Override
  public CompletionStage<Void> ping() {
    return Failures.named(
        name,
        within(
            link.connection()
                .thenCompose(
                    connection ->
                        CompletableFuture.allOf(
                            connection.getPartitions().stream()
                                .filter(node -> !node.getSlots().isEmpty())
                                .map(
                                    node ->
                                        connection
                                            .getConnectionAsync(node.getNodeId())
                                            .thenCompose(toNode -> toNode.async().ping()))
                                .toArray(CompletableFuture[]::new)))));
  }

  @Override
  public void close() {
    beforeItIsKnown.close();
    breakers.values().forEach(Breaker::close);
    for (int slot = 0; slot < lanes.length(); slot++) {
      Lane lane = lanes.get(slot);
      if (lane != null) {
        lane.close();
      }
    }
    Connecting.close(client);
  }

  /** A slot, on whichever master it is. */
  private final class Slot implements Server {
    private final int slot;

    Slot(int slot) {
      this.slot = slot;
    }

    @Override
    public String name() {
      RedisClusterNode master = masterOf(slot);
      return master == null ? name : address(master);
    }

    @Override
    public Breaker breaker() {
      RedisClusterNode master = masterOf(slot);
      return master == null ? beforeItIsKnown : breakerOf(master);
    }

    @Override
    public ScriptCall call(byte[][] keys, byte[] argument) {
      return link.call(keys, argument);
    }

    @Override
    public void renew() {
      look();
    }
  }
}
