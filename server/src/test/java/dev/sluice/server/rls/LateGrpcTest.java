// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.linecorp.armeria.client.grpc.GrpcClients;
import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.grpc.GrpcService;
import dev.sluice.server.access.Permission;
import dev.sluice.server.rls.RlsPart.HealthService;
import dev.sluice.server.rls.RlsPart.LateGrpc;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.health.v1.HealthGrpc.HealthBlockingStub;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Services that are made by the first requests for them. */
@Tag("slow")
class LateGrpcTest {

  private static final int THREADS = 5;

  private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
  private final AtomicInteger made = new AtomicInteger();
  private Server server;

  private HealthBlockingStub start(Supplier<GrpcService> maker) {
    return start(
        new LateGrpc(maker, Map.of(HealthGrpc.SERVICE_NAME + "/Check", Permission.NOTHING)));
  }

  private HealthBlockingStub start(LateGrpc late) {
    server = Server.builder().http(0).service(late).build();
    server.start().join();
    return GrpcClients.newClient(
        "gproto+http://127.0.0.1:" + server.activeLocalPort(), HealthBlockingStub.class);
  }

  private static ServingStatus status(HealthBlockingStub client) {
    return client.check(HealthCheckRequest.getDefaultInstance()).getStatus();
  }

  private GrpcService health() {
    made.incrementAndGet();
    return GrpcService.builder().addService(new HealthService(() -> {})).build();
  }

  @AfterEach
  void stop() {
    threads.shutdownNow();
    server.stop().join();
  }

  @Test
  void firstRequests_waitForTheService_whichIsMadeOnce() {
    HealthBlockingStub client = start(this::health);
    assertThat(made).hasValue(0);

    List<CompletableFuture<ServingStatus>> answers =
        Stream.generate(() -> CompletableFuture.supplyAsync(() -> status(client), threads))
            .limit(THREADS)
            .toList();

    assertThat(answers).extracting(CompletableFuture::join).containsOnly(ServingStatus.SERVING);
    assertThat(made).hasValue(1);
  }

  @Test
  void serviceThatCannotBeMade_isAnError() {
    HealthBlockingStub client =
        start(
            () -> {
              throw new IllegalStateException("as the test wants");
            });

    assertThatThrownBy(() -> status(client)).isInstanceOf(StatusRuntimeException.class);
  }

  /** The common pool has one thread on two processors, and any code of the process may hold it. */
  @Test
  void firstRequest_doesNotWaitForAPreparationThatHasNotBegun() {
    List<Runnable> waiting = new ArrayList<>();
    LateGrpc late =
        new LateGrpc(this::health, Map.of(HealthGrpc.SERVICE_NAME + "/Check", Permission.NOTHING));
    late.make(waiting::add);
    HealthBlockingStub client = start(late);

    assertThat(status(client)).isEqualTo(ServingStatus.SERVING);
    assertThat(waiting).hasSize(1);
    waiting.forEach(Runnable::run);
    assertThat(made).hasValue(1);
  }
}
