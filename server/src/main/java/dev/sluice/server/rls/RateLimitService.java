// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.async.Stages;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RateLimitServiceGrpc;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Caller;
import dev.sluice.server.access.Needs;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.rls.Charging.Charged;
import dev.sluice.server.rls.Lines.Found;
import dev.sluice.server.rls.Lines.Line;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
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
      Status status = GrpcStatuses.status(failure);
      meters.failed(status, start);
      observer.onError(status.asRuntimeException());
    }
  }

  /**
   * Envoy's question, put to the limiter: all descriptors are one batch, all or nothing; those on
   * trial are asked apart, and refuse nobody. Thread-safe; never blocks.
   */
  static final class RateLimitRequests {

    /** The most descriptors in a request. */
    static final int MOST_DESCRIPTORS = 1000;

    private final Limiter limiter;
    private final Charging charging;
    private final Mapping mapping;
    private final OverridePolicy overrides;
    private final RlsMeters meters;
    private final AuditLog audit;

    RateLimitRequests(
        Limiter limiter,
        Mapping mapping,
        OverridePolicy overrides,
        RlsMeters meters,
        AuditLog audit) {
      this.audit = audit;
      this.limiter = limiter;
      this.charging = new Charging(limiter.async());
      this.mapping = mapping;
      this.overrides = overrides;
      this.meters = meters;
    }

    /**
     * Decides on a request.
     *
     * @param request as it was sent
     * @param caller who sent it
     * @param door how it came, for the audit log: grpc or http
     * @param givenUp completed if nobody waits for the answer any more
     * @return the answer
     * @throws BadRequest if the request lacks something, or says what is out of its range
     * @throws dev.sluice.server.base.RefusedException if the caller may not use one of the limits
     */
    CompletionStage<RateLimitResponse> decide(
        RateLimitRequest request, Caller caller, String door, CompletableFuture<?> givenUp) {
      validate(request);
      requireMayRefund(request, caller);
      Lines lines = Lines.of(request, mapping, overrides, limiter.limits().get());
      List<Line> enforced = new ArrayList<>(lines.all().size());
      List<Line> trials = new ArrayList<>(0);
      for (Line line : lines.all()) {
        if (line.closedWhy() == null) {
          caller.requireLimit(line.limit().name());
        }
        (line.isShadow() ? trials : enforced).add(line);
      }
      List<Line> refunds = lines.refunds();
      for (Line line : refunds) {
        caller.requireLimit(line.limit().name());
      }
      countUnmatched(request.getDomain(), lines);
      CompletionStage<Charged> charged;
      if (refunds.isEmpty()) {
        charged = charging.charge(enforced, givenUp);
      } else {
        // First, so that nothing has been charged where it fails.
        charged =
            audit
                .following(
                    charging.refund(refunds, givenUp),
                    caller,
                    door,
                    Act.REFUND,
                    refunds.stream().map(Line::givenBack).toList())
                .thenCompose(
                    back ->
                        charging.charge(enforced, givenUp).thenApply(all -> all.withRefunds(back)));
      }
      for (Line line : trials) {
        charged = charged.thenCombine(tried(line, givenUp), Charged::with);
      }
      return charged.thenApply(all -> EnvoyAnswers.of(lines.found(), all));
    }

    /** A refund undoes what the limits did, at this door as at the others. */
    private static void requireMayRefund(RateLimitRequest request, Caller caller) {
      for (int i = 0; i < request.getDescriptorsCount(); i++) {
        if (request.getDescriptors(i).getIsNegativeHits()) {
          try {
            caller
                .about(List.of(Noted.of(Act.REFUND, null, null)))
                .require(Needs.ofAct(Act.REFUND));
          } catch (RefusedException e) {
            throw new BadRequest(
                "descriptors[%s].is_negative_hits: hits are given back for callers alone that may refund: %s"
                    .formatted(i, e.detail()));
          }
          return;
        }
      }
    }

    private static void validate(RateLimitRequest request) {
      if (request.getDomain().isEmpty()) {
        throw new BadRequest("the domain is missing, expected the name of a set of limits");
      }
      int descriptors = request.getDescriptorsCount();
      if (descriptors == 0) {
        throw new BadRequest("the descriptors are missing, expected at least one");
      }
      if (descriptors > MOST_DESCRIPTORS) {
        throw new BadRequest(
            "descriptors: found %s, expected at most %s".formatted(descriptors, MOST_DESCRIPTORS));
      }
      RequestMessages.requireKnownFields(request);
    }

    private void countUnmatched(String domain, Lines lines) {
      for (Found found : lines.found()) {
        if (!found.matched()) {
          meters.unmatched(domain);
        }
      }
    }

    /** A charge in shadow that fails is ignored: it must not keep a request from its answer. */
    private CompletionStage<Charged> tried(Line line, CompletableFuture<?> givenUp) {
      return charging.charge(List.of(line), givenUp).exceptionally(failure -> Charged.NOTHING);
    }
  }

  /** Thrown for a request that its sender must change. */
  static final class BadRequest extends RuntimeException {

    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param message which field, what was found and what was expected
     */
    BadRequest(String message) {
      super(message, null, false, false); // no stack trace: clients cause these
    }
  }
}
