// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.server.NotReadyException;
import dev.sluice.server.SluiceServer;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.http.ProblemsPart;
import dev.sluice.server.rls.OverridePolicy;
import dev.sluice.server.rls.RlsPart;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.ForkJoinPool;

/** Envoy's rate limit service on a port of its own. Immutable. */
final class GrpcDoor implements Door {

  /** A proxy without traffic keeps its connection: a new one may cost it more than it waits. */
  private static final Duration IDLE_TIMEOUT = Duration.ofMinutes(5);

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
    rls.prepare(ForkJoinPool.commonPool());
    return new OpenServer(server);
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
        .onMissing(room.onMissing())
        .build();
  }
}
