// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.async.Stages;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RateLimitServiceGrpc;
import dev.sluice.server.access.AccessPart;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** {@code ShouldRateLimit} over gRPC. Thread-safe; runs on event loops, so nothing in it blocks. */
final class RateLimitService extends RateLimitServiceGrpc.RateLimitServiceImplBase {

  /** The name of gRPC in the audit log. */
  static final String DOOR = "grpc";

  private final RateLimitRequests requests;
  private final RlsMeters meters;

  RateLimitService(RateLimitRequests requests, RlsMeters meters) {
    this.requests = requests;
    this.meters = meters;
  }

  /** Returns the service, whose messages {@link RequestMessages} read. */
  ServerServiceDefinition definition() {
    MethodDescriptor<RateLimitRequest, RateLimitResponse> generated =
        RateLimitServiceGrpc.getShouldRateLimitMethod();
    MethodDescriptor<RateLimitRequest, RateLimitResponse> method =
        generated.toBuilder(RequestMessages.INSTANCE, generated.getResponseMarshaller()).build();
    ServiceDescriptor service =
        ServiceDescriptor.newBuilder(RateLimitServiceGrpc.SERVICE_NAME)
            .setSchemaDescriptor(RateLimitServiceGrpc.getServiceDescriptor().getSchemaDescriptor())
            .addMethod(method)
            .build();
    return ServerServiceDefinition.builder(service)
        .addMethod(method, ServerCalls.asyncUnaryCall(this::shouldRateLimit))
        .build();
  }

  @Override
  public void shouldRateLimit(
      RateLimitRequest request, StreamObserver<RateLimitResponse> observer) {
    long start = System.nanoTime();
    CompletionStage<RateLimitResponse> decided;
    try {
      ServiceRequestContext context = ServiceRequestContext.current();
      decided =
          requests.decide(
              request, AccessPart.caller(context), DOOR, context.whenRequestCancelling());
    } catch (RuntimeException e) {
      answer(null, e, observer, start);
      return;
    }
    Stages.onEnd(decided, (response, failure) -> answer(response, failure, observer, start));
  }

  private void answer(
      @Nullable RateLimitResponse response,
      @Nullable Throwable failure,
      StreamObserver<RateLimitResponse> observer,
      long start) {
    if (response != null) {
      meters.answered(response, start);
      observer.onNext(response);
      observer.onCompleted();
    } else if (failure != null) {
      Status status = Failures.status(failure);
      meters.failed(status, start);
      observer.onError(status.asRuntimeException());
    }
  }
}
