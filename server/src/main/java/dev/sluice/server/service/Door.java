// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.Limiter;
import dev.sluice.internal.async.Stages.DaemonThread;
import dev.sluice.server.access.Access;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.RefusedException.NotReadyException;
import dev.sluice.server.http.HttpPart;
import dev.sluice.server.http.HttpPart.AdminPart;
import dev.sluice.server.http.HttpPart.ExplainPart;
import dev.sluice.server.http.HttpPart.ForwardAuthPart;
import dev.sluice.server.http.HttpPart.MetricsPart;
import dev.sluice.server.http.HttpPart.ProblemsPart;
import dev.sluice.server.http.HttpPart.ServerState.OpenDoor;
import dev.sluice.server.http.HttpPart.StatsPart;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.Part;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.resp.RespServer;
import dev.sluice.server.rls.OpenCalls;
import dev.sluice.server.rls.RlsPart;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.stats.Denials;
import dev.sluice.server.tls.TlsIdentity.Tls;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A port for one protocol. Immutable. {@link #open} must be called only once. */
interface Door {

  /** Returns the protocol: {@code http}, {@code redis} or {@code grpc}. */
  String protocol();

  /** Opens the port. Blocks until clients can connect. */
  Open open(DoorContext room);

  /**
   * The objects of the server that the ports use. Thread-safe.
   *
   * @param ready throws a {@link dev.sluice.server.base.RefusedException.NotReadyException} or a
   *     {@link dev.sluice.store.StoreException} if the service cannot decide now; can block
   * @param traces begins and ends the spans of HTTP requests; does nothing if tracing is off
   */
  record DoorContext(
      Limiter limiter,
      BucketStore store,
      Reservations reservations,
      MeterRegistry meters,
      Runnable ready,
      ConnectionBudget traffic,
      Access access,
      RuntimeLimits runtime,
      Generations generations,
      @Nullable Tls tls,
      Denials denials,
      OpenCalls calls,
      Part traces) {}

  /**
   * A port that is open. At shutdown, the service first makes all of its ports report that it is
   * not ready, waits until load balancers have noticed, and then closes the ports. Thread-safe.
   *
   * @param address the address on which this port listens, with the number of the opened port
   * @param unready makes this port report that the service is not ready, while it still answers
   *     requests; never blocks
   * @param end stops accepting connections, answers the requests in flight, and closes the port;
   *     blocks until the port is closed, or a time limit is over
   */
  record Open(InetSocketAddress address, Runnable unready, Runnable end) implements AutoCloseable {

    private static Open of(SluiceServer server) {
      return new Open(server.address(), server::unready, server::close);
    }

    @Override
    public void close() {
      end.run();
    }
  }

  /** The open ports of a server. Thread-safe. */
  final class OpenDoors implements AutoCloseable {

    private static final Duration UNREADY_PERIOD = Duration.ofSeconds(1);

    private final List<Door.Open> open = new CopyOnWriteArrayList<>();
    private final List<OpenDoor> shown = new CopyOnWriteArrayList<>();

    void open(Door door, Door.DoorContext room) {
      Door.Open opened = door.open(room);
      open.add(opened);
      shown.add(new OpenDoor(door.protocol(), HostPort.format(opened.address())));
    }

    /** Returns descriptions of the server's ports, in the order in which they were opened. */
    List<OpenDoor> shown() {
      return List.copyOf(shown);
    }

    /** Returns the addresses of the ports, in the order in which they were opened. */
    List<InetSocketAddress> addresses() {
      return open.stream().map(Door.Open::address).toList();
    }

    /** Lets load balancers notice the shutdown, unless interrupted; then closes the ports. */
    @Override
    public void close() {
      if (open.isEmpty()) {
        return;
      }
      open.forEach(door -> door.unready().run());
      try {
        TimeUnit.NANOSECONDS.sleep(UNREADY_PERIOD.toNanos());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      open.forEach(Door.Open::close);
    }
  }

  /** The HTTP port, also for {@code /metrics} and Envoy's rate limit protocol. */
  record HttpDoor(Http settings, Settings rls, MetricsPart metrics, StatsPart stats)
      implements Door {

    @Override
    public String protocol() {
      return "http";
    }

    @Override
    public Open open(DoorContext room) {
      SluiceServer.Builder server =
          SluiceServer.builder(settings.address(), room.traffic())
              .tls(room.tls())
              .requestLog(settings.requestLog());
      parts(room).forEach(server::part);
      settings.hosts().forEach(server::host);
      settings.origins().forEach(server::origin);
      return Open.of(server.start());
    }

    /** Returns the parts of the port; access control must be the first part. */
    List<Part> parts(DoorContext room) {
      RlsPart part = GrpcDoor.part(room, rls);
      return List.of(
          new AccessPart(room.access()),
          new HttpPart(
              room.limiter(),
              room.store(),
              room.reservations(),
              room.ready(),
              room.access().audit(),
              room.generations(),
              room.denials()),
          new AdminPart(room.runtime(), room.access().audit()),
          part,
          part.json(),
          new ForwardAuthPart(
              room.limiter(), settings.clientAddress(), room.meters(), room.denials()),
          new ExplainPart(room.limiter(), room.runtime(), room.denials()),
          stats,
          metrics,
          room.traces());
    }
  }

  /** A separate port for Envoy's rate limit protocol. Immutable. */
  record GrpcDoor(InetSocketAddress address, Settings rls) implements Door {

    /**
     * How long a connection may be silent. The time-out is long, so that a proxy without traffic
     * keeps its connection: a new connection can take longer than the proxy's time-out.
     */
    private static final Duration IDLE_TIMEOUT = Duration.ofMinutes(5);

    /** How long startup waits for the gRPC services: ten times the usual on an idle machine. */
    private static final long PREPARATION_SECONDS = 5;

    private static final AtomicBoolean CALLED = new AtomicBoolean();

    @Override
    public String protocol() {
      return "grpc";
    }

    @Override
    public Open open(DoorContext room) {
      RlsPart part = part(room, rls);
      SluiceServer server =
          SluiceServer.builder(address, room.traffic())
              .part(new ProblemsPart())
              .part(new AccessPart(room.access()))
              .part(part)
              .part(room.traces())
              .tls(room.tls())
              .idleTimeout(IDLE_TIMEOUT)
              .start();
      awaitPrepared(part);
      return Open.of(server);
    }

    /** Makes the gRPC services and calls them, since a proxy can time out after 20 ms. */
    private static void awaitPrepared(RlsPart rls) {
      CompletableFuture<Void> called =
          CompletableFuture.runAsync(GrpcDoor::callFirst, GrpcDoor::aside);
      Future<Void> prepared =
          CompletableFuture.allOf(rls.prepare(GrpcDoor::aside).toCompletableFuture(), called);
      try {
        prepared.get(PREPARATION_SECONDS, TimeUnit.SECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (ExecutionException | TimeoutException e) {
        // A request waits for the gRPC services, and fails if they could not be made.
      }
    }

    private static void callFirst() {
      if (CALLED.getAndSet(true)) {
        return;
      }
      try {
        var unused = FirstCalls.make();
      } catch (IOException | RuntimeException e) {
        // If the first calls fail, the server still works, but clients' first requests take longer.
      }
    }

    private static void aside(Runnable task) {
      new DaemonThread(task, "sluice-grpc-services").start();
    }

    /** Returns the part that serves Envoy's protocol, on the gRPC port or the HTTP port. */
    static RlsPart part(DoorContext room, Settings settings) {
      Runnable ready =
          () -> {
            if (!room.traffic().isOpen()) {
              throw new NotReadyException("the server is stopping");
            }
            room.ready().run();
          };
      return new RlsPart(
          room.limiter(),
          settings,
          ready,
          room.access().audit(),
          room.denials(),
          room.meters(),
          room.calls());
    }
  }

  /** The port for Redis clients. Immutable. */
  record RespDoor(InetSocketAddress address) implements Door {

    @Override
    public String protocol() {
      return "redis";
    }

    @Override
    public Open open(DoorContext room) {
      RespServer server =
          RespServer.start(
              address,
              room.limiter(),
              room.reservations(),
              room.access(),
              room.denials(),
              room.tls(),
              room.meters(),
              room.traffic());
      return new Open(server.address(), room.traffic()::unready, server::close);
    }
  }
}
