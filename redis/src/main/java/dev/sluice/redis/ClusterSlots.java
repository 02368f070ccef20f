// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.async.Stages;
import dev.sluice.redis.ClusterConnection.Node;
import dev.sluice.remote.Breaker;
import dev.sluice.remote.Endpoint;
import dev.sluice.remote.RequestQueue;
import dev.sluice.remote.StoreContext;
import dev.sluice.store.BucketStore.Charge;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The servers of a Redis Cluster. Each slot has its own queue, since a script can access only keys
 * of one slot. Each master has its own circuit breaker, since masters fail independently. Lettuce
 * follows redirections. Thread-safe.
 */
final class ClusterSlots implements Roll.Servers {

  private static final int MOST_PROBE_KEYS = 10_000;

  private final String name;
  private final Connector connector;
  private final LazyConnection<ClusterConnection> link;
  private final Scripts scripts;
  private final StoreContext context;
  private final AtomicReferenceArray<@Nullable RequestQueue> queues =
      new AtomicReferenceArray<>(SlotHash.SLOT_COUNT);
  private final AtomicInteger waiting =
      new AtomicInteger(); // counts the waiting requests of all slots
  private final Map<String, Breaker> breakers = new ConcurrentHashMap<>();
  private final AtomicBoolean looking = new AtomicBoolean();
  private final Breaker beforeItIsKnown;

  ClusterSlots(String name, Connector connector, StoreContext context) {
    this.name = name;
    this.connector = connector;
    this.context = context;
    this.link =
        new LazyConnection<>(connector::connectToCluster, true, context.timing()::elsewhere);
    this.scripts = new Scripts(link, this::look, context);
    this.beforeItIsKnown =
        context.breaker(name, () -> within(link.connection().thenCompose(Connection::ping)));
  }

  @Override
  public RequestQueue queueOf(byte[] key) {
    int slot = SlotHash.getSlot(key);
    RequestQueue queue = queues.get(slot);
    if (queue == null) {
      RequestQueue fresh = context.queue(new Slot(slot), waiting);
      queue = queues.compareAndSet(slot, null, fresh) ? fresh : queues.get(slot);
    }
    return queue == null ? queueOf(key) : queue;
  }

  private @Nullable Node masterOf(int slot) {
    ClusterConnection open = link.open();
    return open == null ? null : open.masterOf(slot);
  }

  private Breaker breakerOf(Node node) {
    // The map nearly always contains the breaker, and get() takes no lock.
    Breaker breaker = breakers.get(node.id());
    return breaker != null
        ? breaker
        : breakers.computeIfAbsent(
            node.id(), id -> context.breaker(node.address(), () -> probe(id)));
  }

  /**
   * Refreshes the Cluster's map, which can take long if another server is unreachable. While the
   * Cluster's map is refreshed, pings the server on the connection that calls use. If the pinged
   * connection does not respond, it is closed, so that the client reconnects, since the server's
   * machine may be down. If the server responds to PING, the probe also runs the script.
   */
  private CompletionStage<?> probe(String nodeId) {
    look();
    return within(
        link.connection()
            .thenCompose(
                connection -> {
                  Node node = connection.node(nodeId);
                  return node == null
                      ? CompletableFuture.completedFuture("gone")
                      : connection
                          .ping(node, context.timeoutNanos())
                          .thenCompose(pong -> runOn(connection, nodeId));
                }));
  }

  private CompletionStage<String> runOn(ClusterConnection connection, String nodeId) {
    for (int number = 0; number < MOST_PROBE_KEYS; number++) {
      byte[] key = context.probeKey(number);
      Node master = connection.masterOf(SlotHash.getSlot(key));
      if (master != null && master.id().equals(nodeId)) {
        return scripts.probe(key);
      }
    }
    return CompletableFuture.completedFuture("the server owns no slot of a probe key");
  }

  /**
   * Probes the master that has the probe key. The probe loads the Cluster's map, and loads the
   * script on the probed master.
   */
  @Override
  public CompletionStage<?> probe() {
    return scripts.probe(context.probeKey());
  }

  /** Refreshes the Cluster's map, unless a refresh is in flight. */
  private void look() {
    if (looking.compareAndSet(false, true)) {
      try {
        Stages.onEnd(connector.refreshCluster(), (known, failure) -> looking.set(false));
      } catch (Throwable e) { // the client is closed
        looking.set(false);
      }
    }
  }

  private <T> CompletableFuture<T> within(CompletionStage<T> stage) {
    return context.timing().within(stage.toCompletableFuture(), context.timeoutNanos());
  }

  @Override
  public CompletionStage<Void> ping() {
    return ServerFault.named(name, within(link.connection().thenCompose(this::pingMasters)));
  }

  /**
   * Adds the process to the list of processes, on the server that has the slot of the list's key.
   */
  @Override
  public CompletionStage<List<String>> announce(byte[] key, String process, Duration time) {
    return within(link.connection().thenCompose(to -> to.announce(key, process, time)));
  }

  private CompletionStage<Void> pingMasters(ClusterConnection connection) {
    return CompletableFuture.allOf(
        connection.masters().stream()
            .map(node -> connection.ping(node, context.timeoutNanos()))
            .toArray(CompletableFuture[]::new));
  }

  @Override
  public void close() {
    beforeItIsKnown.close();
    breakers.values().forEach(Breaker::close);
    for (int slot = 0; slot < queues.length(); slot++) {
      RequestQueue queue = queues.get(slot);
      if (queue != null) {
        queue.close();
      }
    }
    connector.close();
  }

  /** A hash slot of the Cluster, with its current master. */
  private final class Slot implements Endpoint {
    private final int slot;

    Slot(int slot) {
      this.slot = slot;
    }

    @Override
    public String name() {
      Node master = masterOf(slot);
      return master == null ? name : master.address();
    }

    @Override
    public Breaker breaker() {
      Node master = masterOf(slot);
      return master == null ? beforeItIsKnown : breakerOf(master);
    }

    @Override
    public ScriptCall call(List<byte[]> keys, List<List<Charge>> batches) {
      return scripts.call(keys, batches);
    }

    @Override
    public ServerFault fault(@Nullable Throwable failure) {
      return ServerFault.of(failure);
    }
  }
}
