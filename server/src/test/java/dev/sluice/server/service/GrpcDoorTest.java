// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.UInt64Value;
import com.linecorp.armeria.client.grpc.GrpcClients;
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
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.Part;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.rls.OpenCalls;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.Door.GrpcDoor;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.service.ServerConfig.SampleLimits;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc.RateLimitServiceBlockingStub;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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

  @Test
  void requestThatBeginsAtOneDoor_isSettledAtAnother(@TempDir Path folder) throws IOException {
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"),
            "ApiCallsPerKey: {burst: 1000, count: 1000, period: 24h, debt: 1}\n");
    Path rules =
        Files.writeString(
            folder.resolve("rules.yml"),
            """
            rules:
              - {entries: [call, key], limit: ApiCallsPerKey, id: "{key}", by: "{call}"}
              - {entries: [used, call, key], settles: ApiCallsPerKey, id: "{key}", by: "{call}"}
            """);
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    Doors doors =
        new Doors(Http.on(any), null, any, Settings.of(OverridePolicy.ALLOW), null, false, false);
    ServerConfig config =
        new ServerConfig(
            doors,
            Sources.of(new ServerConfig.Files(limits, null, null, rules)),
            Configs.inMemory(),
            Control.NONE,
            Telemetry.NONE);
    try (Service service = Service.start(config)) {
      assertThat(left(service, 1, 600, "call", "c", "key", "k")).isEqualTo(400);
      assertThat(left(service, 0, 10, "used", "1", "call", "c", "key", "k")).isEqualTo(990);
    }
  }

  private static long left(Service service, int door, long hits, String... entries) {
    RateLimitDescriptor.Builder descriptor =
        RateLimitDescriptor.newBuilder().setHitsAddend(UInt64Value.of(hits));
    for (int i = 0; i < entries.length; i += 2) {
      descriptor.addEntries(Entry.newBuilder().setKey(entries[i]).setValue(entries[i + 1]));
    }
    String uri = "gproto+h2c://" + HostPort.format(service.addresses().get(door)) + "/";
    return GrpcClients.newClient(uri, RateLimitServiceBlockingStub.class)
        .shouldRateLimit(
            RateLimitRequest.newBuilder().setDomain("edge").addDescriptors(descriptor).build())
        .getStatuses(0)
        .getLimitRemaining();
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
        new OpenCalls(meters),
        traces);
  }
}
