// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.envoy.RateLimitServiceGrpc;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.stub.StreamObserver;
import java.util.Set;

/**
 * gRPC's health check, which follows the readiness of the server. {@code Watch} is not implemented,
 * as the protocol allows: endless streams of many clients could not be bounded. Thread-safe.
 */
final class HealthService extends HealthGrpc.HealthImplBase {

  /**
   * The known names: the empty name of the whole server, the reference server's name, and this
   * service's own name.
   */
  private static final Set<String> SERVICES =
      Set.of("", "ratelimit", RateLimitServiceGrpc.SERVICE_NAME);

  private final Runnable ready;

  /** Makes the service. {@code ready} throws if the server cannot decide now; it may block. */
  HealthService(Runnable ready) {
    this.ready = ready;
  }

  @Override
  public void check(HealthCheckRequest request, StreamObserver<HealthCheckResponse> observer) {
    if (!SERVICES.contains(request.getService())) {
      observer.onError(
          Status.NOT_FOUND
              .withDescription("no service has this name; ratelimit has, and the empty one")
              .asRuntimeException());
      return;
    }
    // A ping must not block an event loop.
    ServiceRequestContext.current()
        .blockingTaskExecutor()
        .execute(
            () -> {
              observer.onNext(HealthCheckResponse.newBuilder().setStatus(status()).build());
              observer.onCompleted();
            });
  }

  private ServingStatus status() {
    try {
      ready.run();
      return ServingStatus.SERVING;
    } catch (RuntimeException e) {
      return ServingStatus.NOT_SERVING;
    }
  }
}
