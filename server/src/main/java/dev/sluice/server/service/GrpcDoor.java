// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.server.NotReadyException;
import dev.sluice.server.SluiceServer;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.http.ProblemsPart;
import dev.sluice.server.rls.OverridePolicy;
import dev.sluice.server.rls.RlsPart;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Envoy's rate limit service on a port of its own. Immutable. */
final class GrpcDoor implements Door {

  /** A proxy without traffic keeps its connection: a new one may cost it more than it waits. */
  private static final Duration IDLE_TIMEOUT = Duration.ofMinutes(5);

  /** Ten times what the services take on an idle machine; later the first requests wait. */
  private static final long PREPARATION_SECONDS = 5;

  private final InetSocketAddress address;
  private final OverridePolicy overrides;

  GrpcDoor(InetSocketAddress address, OverridePolicy overrides) {
    this.address = address;
    this.overrides = overrides;
  }

  @Override
  public String protocol() {
    return "grpc";
  }

  @Override
  public Open open(Room room) {
    RlsPart rls = part(room, overrides);
    SluiceServer server =
        SluiceServer.builder(address)
            .part(new ProblemsPart())
            .part(new AccessPart(room.access()))
            .part(rls)
            .part(room.traces())
            .traffic(room.traffic())
            .tls(room.tls())
            .idleTimeout(IDLE_TIMEOUT)
            .start();
    awaitPrepared(rls);
    return new OpenServer(server);
  }

  /**
   * Makes the services and a first call before the door says that it listens: a proxy may wait 20
   * ms only for its first answer too. On threads of their own, as any code of the process may hold
   * the common pool.
   */
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
      // The requests that need them wait for them, or are told that they could not be made.
    }
  }

  private static void callFirst() {
    try {
      FirstCall.make();
    } catch (IOException | RuntimeException e) {
      // Then the first call of a client takes longer.
    }
  }

  private static void aside(Runnable task) {
    Thread thread = new Thread(task, "sluice-grpc-services");
    thread.setDaemon(true);
    thread.start();
  }

  /** The service, for this port and for that of HTTP. */
  static RlsPart part(Room room, OverridePolicy overrides) {
    Runnable ready =
        () -> {
          if (!room.traffic().isOpen()) {
            throw new NotReadyException("the server is stopping");
          }
          room.ready().run();
        };
    return RlsPart.builder(room.limiter(), ready, room.meters())
        .overrides(overrides)
        .audit(room.access().audit())
        .build();
  }
}
