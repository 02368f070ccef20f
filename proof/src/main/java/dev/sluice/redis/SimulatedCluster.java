// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.async.Stages;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.cluster.SlotHash;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A model of Lettuce's connection to a Redis Cluster. The model has one connection per master. If a
 * connection closes, the model connects again, and then sends the calls that waited. If a server
 * answers MOVED, the model repeats the call at the new master.
 */
final class SimulatedCluster implements ClusterConnection {

  private static final int MOST_REDIRECTIONS = 5;
  private static final long RECONNECT_NANOS = 20_000_000;

  private final World world;
  private final Fleet fleet;
  private final SimulatedNetwork network;
  private final Map<SimulatedServer, ToNode> nodes = new HashMap<>();
  private int[] map;
  private boolean closed;

  SimulatedCluster(World world, Fleet fleet, SimulatedNetwork network) {
    this.world = world;
    this.fleet = fleet;
    this.network = network;
    this.map = fleet.slots();
  }

  private static Node node(SimulatedServer server) {
    return new Node(server.name, server.name, 1);
  }

  @Override
  public @Nullable Node masterOf(int slot) {
    return node(fleet.master(map[slot]));
  }

  @Override
  public @Nullable Node node(String id) {
    SimulatedServer server = fleet.named(id);
    return server == null ? null : node(server);
  }

  @Override
  public List<Node> masters() {
    return fleet.masters().stream().map(SimulatedCluster::node).toList();
  }

  @Override
  public boolean isOpen() {
    return !closed;
  }

  @Override
  public CompletionStage<String> ping() {
    return toNode(fleet.master(0)).ping();
  }

  @Override
  public CompletionStage<String> ping(Node node, long nanos) {
    SimulatedServer server = fleet.named(node.id());
    if (server == null) {
      return CompletableFuture.completedFuture("gone");
    }
    ToNode to = toNode(server);
    if (!to.isOpen()) {
      return CompletableFuture.failedFuture(new RedisException("not connected"));
    }
    CompletableFuture<String> pong = to.ping().toCompletableFuture().copy();
    world.after(
        nanos,
        network.io(),
        () -> {
          if (pong.completeExceptionally(new RedisException("no answer to a PING"))) {
            to.cut();
          }
        });
    return pong;
  }

  @Override
  public Exchange exchange(boolean whole, byte[][] keys, byte[] argument) {
    return new Redirected(whole, keys, argument);
  }

  @Override
  public CompletionStage<Void> closeAsync() {
    closed = true;
    nodes.values().forEach(ToNode::cut);
    return CompletableFuture.completedFuture(null);
  }

  private ToNode toNode(SimulatedServer server) {
    return nodes.computeIfAbsent(server, ToNode::new);
  }

  /** The connection to one master, and the calls that wait for this connection. */
  private final class ToNode {
    private final SimulatedServer server;
    private final Deque<Runnable> waiting = new ArrayDeque<>();
    private @Nullable SimulatedConnection connection;
    private boolean connecting;

    ToNode(SimulatedServer server) {
      this.server = server;
    }

    boolean isOpen() {
      SimulatedConnection made = connection;
      return made != null && made.isOpen();
    }

    void run(Runnable command) {
      if (isOpen()) {
        command.run();
        return;
      }
      waiting.add(command);
      connect();
    }

    private void connect() {
      if (connecting || closed) {
        return;
      }
      connecting = true;
      CompletableFuture<SimulatedConnection> made;
      try {
        made = network.connect(server.name, () -> server, open -> open);
      } catch (Error e) {
        made = CompletableFuture.failedFuture(e);
      }
      Stages.onEnd(
          made,
          (open, failure) -> {
            connecting = false;
            if (failure != null) {
              world.after(RECONNECT_NANOS, network.io(), this::connect);
              return;
            }
            connection = open;
            open.onBroken(this::connectAgain);
            List<Runnable> ready = new ArrayList<>(waiting);
            waiting.clear();
            ready.forEach(this::run);
          });
    }

    CompletionStage<String> ping() {
      CompletableFuture<String> pong = new CompletableFuture<>();
      run(
          () -> {
            SimulatedConnection open = connection;
            if (open != null) {
              Stages.onEnd(
                  open.ping(),
                  (answer, failure) -> {
                    if (failure == null) {
                      pong.complete(answer);
                    } else {
                      pong.completeExceptionally(failure);
                    }
                  });
            }
          });
      return pong;
    }

    private void connectAgain() {
      connection = null;
      world.after(RECONNECT_NANOS, network.io(), this::connect);
    }

    void cut() {
      SimulatedConnection open = connection;
      connection = null;
      if (open != null) {
        open.closeAsync();
      }
    }
  }

  /** A call that is repeated at another master if a server answers MOVED. */
  private final class Redirected implements Exchange {
    private final boolean whole;
    private final byte[][] keys;
    private final byte[] argument;
    private final int slot;
    private final CompletableFuture<List<Object>> answer = new CompletableFuture<>();
    private boolean sent;

    Redirected(boolean whole, byte[][] keys, byte[] argument) {
      this.whole = whole;
      this.keys = keys;
      this.argument = argument;
      this.slot = SlotHash.getSlot(keys[0]);
    }

    @Override
    public void send() {
      send(fleet.master(map[slot]), MOST_REDIRECTIONS);
    }

    private void send(SimulatedServer to, int redirections) {
      ToNode node = toNode(to);
      node.run(
          () -> {
            SimulatedConnection on = node.connection;
            if (answer.isDone() || on == null) {
              return; // the call was cancelled, or the connection was closed
            }
            sent = true;
            Exchange exchange = on.exchange(whole, keys, argument);
            exchange.send();
            Stages.onEnd(
                exchange.answer(), (reply, failure) -> answered(to, reply, failure, redirections));
          });
    }

    private void answered(
        SimulatedServer by,
        @Nullable List<Object> reply,
        @Nullable Throwable failure,
        int redirections) {
      boolean moved =
          failure instanceof RedisCommandExecutionException
              && String.valueOf(failure.getMessage()).startsWith("MOVED");
      if (moved && redirections > 0) {
        map = fleet.slots();
        network.learnedOfMasters();
        send(fleet.masterOfSlot(slot), redirections - 1);
      } else if (reply != null) {
        answer.complete(reply);
      } else {
        answer.completeExceptionally(
            failure == null ? new RedisException("no answer by " + by) : failure);
      }
    }

    @Override
    public CompletionStage<List<Object>> answer() {
      return answer;
    }

    @Override
    public boolean wasSent() {
      return sent;
    }

    @Override
    public void cancel() {
      answer.cancel(false);
    }
  }
}
