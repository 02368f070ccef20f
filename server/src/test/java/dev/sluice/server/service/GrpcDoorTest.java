// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.ServerListener;
import com.linecorp.armeria.server.grpc.GrpcService;
import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.server.access.Access;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.base.Generations;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.Part;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.Door.GrpcDoor;
import dev.sluice.server.service.ServerConfig.SampleLimits;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** The port of gRPC when it says that it listens. */
final class GrpcDoorTest {

  private static final String METHOD =
      "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

  /** Envoy waits 20 ms for an answer, and then lets the request pass. */
  @Test
  void openDoor_hasItsServiceMade() {
    AtomicReference<Server> started = new AtomicReference<>();
    ServerListener listener = ServerListener.builder().whenStarted(started::set).build();
    GrpcDoor door =
        new GrpcDoor(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            Settings.of(OverridePolicy.ALLOW));
    try (BucketStore store = BucketStore.inMemory();
        Door.Open open = door.open(room(store, server -> server.serverListener(listener)))) {
      assertThat(open.address().getPort()).isPositive();
      assertThat(
              started.get().config().serviceConfigs().stream()
                  .filter(service -> service.route().toString().contains(METHOD))
                  .map(service -> service.service().as(GrpcService.class)))
          .isNotEmpty()
          .doesNotContainNull();
    }
  }

  private static Door.DoorContext room(BucketStore store, Part traces) {
    SimpleMeterRegistry meters = new SimpleMeterRegistry();
    CurrentLimits limits = new CurrentLimits(SampleLimits.make());
    Limiter limiter = Limiter.of(limits, store);
    return new Door.DoorContext(
        limiter,
        store,
        new Reservations(limiter, store, TokenKey.random()),
        meters,
        () -> {},
        ConnectionBudget.usual(),
        Access.open(AuditLog.none(), meters, null, true),
        RuntimeLimits.inMemory(limits, store),
        new Generations(),
        null,
        Denials.none(),
        traces);
  }
}
