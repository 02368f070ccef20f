// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.async.Stages;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RateLimitServiceGrpc;
import dev.sluice.server.access.AccessPart;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** {@code ShouldRateLimit} over gRPC. Thread-safe; runs on event loops, so nothing in it blocks. */
final class RateLimitService extends RateLimitServiceGrpc.RateLimitServiceImplBase {

  private final RateLimitRequests requests;
  private final RlsMeters meters;

  RateLimitService(RateLimitRequests requests, RlsMeters meters) {
    this.requests = requests;
    this.meters = meters;
  }

  @Override
  public void shouldRateLimit(
      RateLimitRequest request, StreamObserver<RateLimitResponse> observer) {
    long start = System.nanoTime();
    CompletionStage<RateLimitResponse> decided;
    try {
      ServiceRequestContext context = ServiceRequestContext.current();
      decided =
          requests.decide(request, AccessPart.caller(context), context.whenRequestCancelling());
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
