// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.async.Stages;
import dev.sluice.redis.SimulatedConnection.Cut;
import dev.sluice.redis.StoreUri.Host;
import dev.sluice.redis.World.Actor;
import io.lettuce.core.RedisException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntConsumer;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** The network between one process and all servers: connections, and faults of connections. */
final class SimulatedNetwork implements Connector {

  private static final long MOST_SLOWNESS_NANOS = 300_000_000;
  private static final long CONNECT_TIMEOUT_NANOS = 2_000_000_000L;

  private final World world;
  private final Fleet fleet;
  private final Dice dice;
  private final ConnectionJudge connects;
  private final int process;
  private final Actor io;
  private final long latencyNanos;
  private final boolean overtaking;
  private Consumer<List<String>> onSent = keys -> {};
  private final List<SimulatedConnection> connections = new ArrayList<>();
  private final Map<SimulatedServer, Long> silentSince = new HashMap<>();
  private int made;
  private long mastersSince;
  private long slowUntil = Long.MIN_VALUE / 2;
  private long slowCallsUntil = Long.MIN_VALUE / 2;
  private long failedWithError = Long.MIN_VALUE / 2;
  private boolean failsWithError;

  SimulatedNetwork(
      World world, Fleet fleet, Dice dice, ConnectionJudge connects, int process, Plan plan) {
    this.connects = connects;
    this.overtaking = Conditions.of(plan, process).callsOvertake();
    this.world = world;
    this.fleet = fleet;
    this.dice = dice;
    this.process = process;
    this.io = new Actor("p" + process + ".io");
    this.latencyNanos = plan.latencyNanos();
  }

  /** Returns a data source that connects to the simulated PostgreSQL servers. */
  DataSource database() {
    Dice ofHosts = dice.fork(1);
    return new SimulatedDriver(world, this, () -> fleet.host(ofHosts)).source();
  }

  int process() {
    return process;
  }

  long latencyNanos() {
    return latencyNanos;
  }

  Actor io() {
    return io;
  }

  // Faults

  void connectSlowly(long nanos) {
    slowUntil = Math.max(slowUntil, world.now() + nanos);
  }

  void slowCalls(long nanos) {
    slowCallsUntil = Math.max(slowCallsUntil, world.now() + nanos);
  }

  /** Returns the additional travel time of a request that is sent now. */
  long slowness() {
    return world.now() < slowCallsUntil ? dice.between(0, MOST_SLOWNESS_NANOS) : 0;
  }

  void failToConnectWithError() {
    failsWithError = true;
  }

  /** Records that the store could not set a timer, which can make calls in flight fail. */
  void timerFailed() {
    failedWithError = world.now();
  }

  /** Records that this process uses a new master for some slots of a Cluster. */
  void learnedOfMasters() {
    mastersSince = world.now();
  }

  /** Returns the last moment at which this process began to use another master for a slot. */
  long mastersSince() {
    return mastersSince;
  }

  /**
   * Returns whether a recent fault of the process's network or timers explains failed calls to a
   * server. A cut that the client did not notice explains failures for ten times {@code nanos},
   * because the store replaces the connection only after several calls have timed out.
   */
  boolean hadTroubleWith(SimulatedServer server, long nanos) {
    return connections.stream().anyMatch(one -> one.server() == server && one.isSilent())
        || world.now() - slowUntil < nanos
        || world.now() - fleet.sentinelsBack() < nanos
        || world.now() - slowCallsUntil < nanos
        || world.now() - failedWithError < nanos
        || world.now() - silentSince.getOrDefault(server, Long.MIN_VALUE / 2) < 10 * nanos;
  }

  /** Returns whether this process has two open connections to the same server. */
  boolean hasTooMany() {
    List<SimulatedServer> servers =
        connections.stream()
            .filter(SimulatedConnection::isOpen)
            .map(SimulatedConnection::server)
            .toList();
    return servers.size() > Set.copyOf(servers).size();
  }

  /**
   * Sets the receiver of the bucket keys of sent calls.
   *
   * @param told receives the bucket keys of each call
   */
  void tellOfSent(Consumer<List<String>> told) {
    onSent = told;
  }

  /**
   * Reports the bucket keys of a sent call. Ignores a call that is repeated with the whole script,
   * because its first attempt was already reported.
   */
  void sends(SimulatedServer.Command command) {
    if (!command.isWhole()) {
      onSent.accept(command.bucketKeys());
    }
  }

  /** Cuts all open connections of this process to a server. */
  void cut(SimulatedServer server, Cut how) {
    if (how.isSilent) {
      silentSince.put(server, world.now());
    }
    for (SimulatedConnection connection : List.copyOf(connections)) {
      if (connection.server() == server && connection.isOpen()) {
        connection.cut(how);
      }
    }
  }

  // New connections

  @Override
  public CompletionStage<? extends Connection> connect(Host server) {
    return connect(server.name(), () -> fleet.named(server.name()), connection -> connection);
  }

  @Override
  public CompletionStage<Host> askForMaster() {
    ConnectionJudge.Attempt attempt = connects.begin("the master");
    CompletableFuture<Host> told = new PendingConnection<>(attempt::waits);
    world.after(
        dice.between(latencyNanos, 4 * latencyNanos),
        io,
        () -> {
          if (world.now() < fleet.sentinelsBack()) {
            told.completeExceptionally(new RedisException("no Sentinel answers"));
          } else {
            told.complete(new Host(fleet.master(0).name, 1));
          }
        });
    return told;
  }

  @Override
  public CompletionStage<? extends ClusterConnection> connectToCluster() {
    return connect(
        "the Cluster",
        () -> fleet.masters().stream().filter(SimulatedServer::isUp).findFirst().orElse(null),
        any -> {
          any.closeAsync();
          return new SimulatedCluster(world, fleet, this);
        });
  }

  @Override
  public CompletionStage<?> refreshCluster() {
    CompletableFuture<String> done = new CompletableFuture<>();
    world.after(dice.between(latencyNanos, 4 * latencyNanos), io, () -> done.complete("known"));
    return done;
  }

  /**
   * Connects to a server and sends a PING. The returned future fails with an exception if the
   * connection takes longer than 2 s.
   */
  <C> CompletableFuture<C> connect(
      String name,
      java.util.function.Supplier<@Nullable SimulatedServer> whom,
      Function<SimulatedConnection, C> then) {
    if (failsWithError) {
      failsWithError = false;
      failedWithError = world.now();
      throw new NoClassDefFoundError("io/netty/Simulated");
    }
    ConnectionJudge.Attempt attempt = connects.begin(name);
    PendingConnection<C> connected = new PendingConnection<>(attempt::waits);
    Consumer<Throwable> fails =
        failure -> {
          boolean calls = connected.waiting() > 1; // the store itself always adds one stage
          if (connected.completeExceptionally(failure)) {
            attempt.failed(calls);
          }
        };
    long slow = world.now() < slowUntil ? slowUntil - world.now() : 0;
    long greeting = slow + dice.between(2 * latencyNanos, 8 * latencyNanos);
    world.after(
        Math.min(greeting, CONNECT_TIMEOUT_NANOS),
        io,
        () -> {
          SimulatedServer server = whom.get();
          if (greeting > CONNECT_TIMEOUT_NANOS) {
            fails.accept(new RedisException("connection timed out"));
          } else if (server == null || !server.isUp()) {
            fails.accept(SimulatedServer.refused(server == null ? "nobody" : server.name));
          } else {
            greet(server, then, connected, fails);
          }
        });
    return connected;
  }

  private <C> void greet(
      SimulatedServer server,
      Function<SimulatedConnection, C> then,
      CompletableFuture<C> to,
      Consumer<Throwable> fails) {
    made++;
    SimulatedConnection connection =
        new SimulatedConnection(
            world,
            dice.fork(made),
            new SimulatedConnection.Wire(io, latencyNanos, overtaking, this::slowness, this::sends),
            process,
            "p" + process + "-" + server.name + "#" + made,
            server);
    connections.removeIf(old -> !old.isOpen());
    connections.add(connection);
    Stages.onEnd(
        connection.ping(),
        (pong, failure) -> {
          if (failure != null) {
            connection.close();
            fails.accept(failure);
          } else {
            world.log(() -> connection + " is open");
            to.complete(then.apply(connection));
          }
        });
    world.after(
        CONNECT_TIMEOUT_NANOS,
        io,
        () -> {
          if (!to.isDone()) {
            fails.accept(new RedisException("connection timed out"));
            connection.close();
          }
        });
  }

  @Override
  public void close() {
    List.copyOf(connections).forEach(SimulatedConnection::close);
  }

  /** The future of a connection, which reports how many completion stages wait for it. */
  private static final class PendingConnection<T> extends CompletableFuture<T> {

    private final List<CompletableFuture<?>> waiting; // shared with all dependent stages
    private final IntConsumer told;

    /**
     * Creates the future of a connection.
     *
     * @param told receives the number of waiting completion stages, each time one is added
     */
    PendingConnection(IntConsumer told) {
      this(new ArrayList<>(), told);
    }

    private PendingConnection(List<CompletableFuture<?>> waiting, IntConsumer told) {
      this.waiting = waiting;
      this.told = told;
    }

    /** Returns how many completion stages wait for the connection, directly or indirectly. */
    int waiting() {
      waiting.removeIf(CompletableFuture::isDone);
      return waiting.size();
    }

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
      PendingConnection<U> next = new PendingConnection<>(waiting, told);
      waiting.add(next);
      told.accept(waiting());
      return next;
    }
  }
}
