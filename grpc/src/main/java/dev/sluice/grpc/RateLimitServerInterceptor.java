// SPDX-License-Identifier: Apache-2.0
package dev.sluice.grpc;

import dev.sluice.Decision;
import dev.sluice.web.Admission;
import dev.sluice.web.Refusal;
import dev.sluice.web.RequestLimiter;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A gRPC server interceptor that admits calls within their limits, and denies all other calls. The
 * interceptor uses the same rules as the HTTP filters. For a rule, a call is a POST request to
 * {@code /package.Service/Method}, whose headers are the call's metadata.
 *
 * <p>A denial has the status {@code RESOURCE_EXHAUSTED}. The denial contains the wait with jitter
 * ({@link Decision#retryAfterNanos}) in a {@code google.rpc.RetryInfo}, and in milliseconds for the
 * retries of gRPC's own channels. If the store fails, the limiter's {@link dev.sluice.FailureRule}
 * decides; a call that the failure rule denies gets {@code UNAVAILABLE}. A call without a value
 * that a rule needs gets {@code INVALID_ARGUMENT}. If the application could not supply the quota of
 * a call, the call gets {@code INTERNAL}. A stream is one call, which is charged at its beginning.
 *
 * <p>A {@link dev.sluice.web.RefusalHook} only changes the status, and only if no decision could be
 * made: the HTTP status 401 becomes {@code UNAUTHENTICATED}, 403 becomes {@code PERMISSION_DENIED}.
 *
 * <p>A conditional rule ({@link dev.sluice.web.Rule.Builder#countOnly}) is settled by an HTTP
 * status: the HTTP status that {@code google.rpc.Code} lists for the status of the call, such as
 * 401 for {@code UNAUTHENTICATED}. If the handler throws an exception, the call ends with {@code
 * UNKNOWN}, which counts as HTTP status 500. If the client cancels a call, the tokens stay spent.
 *
 * <p>If a rule {@linkplain dev.sluice.web.Rule.Builder#estimate estimates} the cost, {@link #cost}
 * sets the true cost, which is charged when the call ends. If the cost was estimated, the trailers
 * contain the rate limit headers with the numbers after the charge.
 *
 * <p>Thread-safe. Blocks the thread of the call while the limiter's store decides. gRPC's default
 * threads can block; with a {@code directExecutor}, use a store in memory.
 */
public final class RateLimitServerInterceptor implements ServerInterceptor {

  /**
   * The decision that admitted the current call, the strictest if several interceptors decided;
   * absent if no rule matched the call.
   */
  public static final Context.Key<Decision> DECISION = Context.key("dev.sluice.grpc.decision");

  private static final Context.Key<LongConsumer> COST = Context.key("dev.sluice.grpc.cost");

  private static final String NOT_ASKED = "the rate limiter could not decide";

  private final RequestLimiter limiter;

  private RateLimitServerInterceptor(RequestLimiter limiter) {
    this.limiter = Objects.requireNonNull(limiter, "limiter");
  }

  /**
   * Makes an interceptor.
   *
   * @param limiter the limiter with the rules; the caller closes it after the server
   * @return the interceptor, for {@code ServerBuilder.intercept} or {@code
   *     ServerInterceptors.intercept}
   */
  public static RateLimitServerInterceptor of(RequestLimiter limiter) {
    return new RateLimitServerInterceptor(limiter);
  }

  /**
   * Sets the true cost of the current call, for the rules that {@linkplain
   * dev.sluice.web.Rule.Builder#estimate estimated} the cost; does nothing if no rule estimated the
   * cost. Set the cost in the call's {@link Context}: in a method of the handler, or in another
   * thread through {@link Context#wrap(Runnable)}. If the handler sets several costs, the last cost
   * before the end of the gRPC call counts. If the handler sets the first cost after the end of the
   * gRPC call, only the first cost counts.
   *
   * @param tokens the number of tokens to charge for the call
   * @throws IllegalArgumentException if the cost is below 1
   */
  public static void cost(long tokens) {
    LongConsumer cost = COST.get();
    if (cost != null) {
      cost.accept(tokens);
    }
  }

  /**
   * Returns a context in which {@link #cost} sets the cost for this admission, and for the
   * admissions of earlier interceptors.
   */
  private static Context expectingCost(Context context, Admission admission) {
    LongConsumer before = COST.get(context);
    LongConsumer own = admission::cost;
    return context.withValue(COST, before == null ? own : before.andThen(own));
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next) {
    Admission admission = limiter.admit(new CallRequest(call, metadata));
    Refusal refusal = admission.refusal();
    if (refusal != null) {
      refuse(call, refusal, admission);
      return new ServerCall.Listener<>() {};
    }
    Decision decision = admission.decision();
    Context context = Context.current();
    if (decision != null) {
      Decision before = DECISION.get(context); // of an earlier interceptor
      decision = before == null ? decision : before.stricter(decision);
      context = context.withValue(DECISION, decision);
    }
    if (admission.isEstimated()) {
      context = expectingCost(context, admission);
    }
    ServerCall<Q, A> admitted = new Admitted<>(call, admission, decision);
    if (!admission.isConditional()) {
      return Contexts.interceptCall(context, admitted, metadata, next);
    }
    try {
      return new Ending<>(Contexts.interceptCall(context, admitted, metadata, next), admission);
    } catch (RuntimeException | Error e) {
      admission.settle(Statuses.http(Status.UNKNOWN));
      throw e;
    }
  }

  private static void refuse(ServerCall<?, ?> call, Refusal refusal, Admission admission) {
    Decision decision = admission.decision();
    Status status = decision == null ? status(refusal, admission.unusable()) : status(decision);
    if (decision == null) {
      call.close(status, new Metadata());
      return;
    }
    call.close(status, Statuses.waitFor(Duration.ofNanos(decision.retryAfterNanos()), status));
  }

  private static Status status(Decision denial) {
    return denial.decidedBy().knowsBucket()
        ? Status.RESOURCE_EXHAUSTED.withDescription(denial.message())
        : Status.UNAVAILABLE.withDescription(NOT_ASKED);
  }

  private static Status status(Refusal refusal, @Nullable String unusable) {
    return switch (refusal.status()) {
      case 401 -> Status.UNAUTHENTICATED;
      case 403 -> Status.PERMISSION_DENIED;
      case 429 -> Status.RESOURCE_EXHAUSTED;
      case 500 -> Status.INTERNAL.withDescription("the quota of the call is unknown");
      case 503 -> Status.UNAVAILABLE.withDescription(NOT_ASKED);
      default ->
          refusal.status() < 500
              ? Status.INVALID_ARGUMENT.withDescription(unusable)
              : Status.INTERNAL;
    };
  }

  /** Adds rate limit headers and trailers to the response, and ends the admission with the call. */
  private final class Admitted<Q, A> extends SimpleForwardingServerCall<Q, A> {
    private final Admission admission;
    private final @Nullable Decision decision;

    Admitted(ServerCall<Q, A> call, Admission admission, @Nullable Decision decision) {
      super(call);
      this.admission = admission;
      this.decision = decision;
    }

    @Override
    public void sendHeaders(Metadata headers) {
      if (decision != null) {
        put(limiter.headers(decision), headers);
      }
      super.sendHeaders(headers);
    }

    /**
     * Adds the fields that are missing. The last of several interceptors puts its fields first. In
     * headers, these are the fields of the strictest decision. In trailers, each interceptor knows
     * only its own buckets, so a bucket of an earlier interceptor can be emptier.
     */
    private void put(Map<String, String> fields, Metadata metadata) {
      fields.forEach(
          (name, value) -> {
            Metadata.Key<String> key =
                Metadata.Key.of(name.toLowerCase(Locale.ROOT), Metadata.ASCII_STRING_MARSHALLER);
            if (!metadata.containsKey(key)) {
              metadata.put(key, value);
            }
          });
    }

    @Override
    public void close(Status status, Metadata trailers) {
      try {
        admission.settle(Statuses.http(status));
        if (admission.isEstimated()) {
          put(limiter.trailers(admission), trailers);
        }
      } finally {
        super.close(status, trailers); // otherwise the client would wait for ever
      }
    }
  }

  /**
   * Settles a call that its handler does not close. If the client cancels the call, the result of
   * the work is unknown. If the handler throws an exception, gRPC turns the exception into {@code
   * UNKNOWN}.
   */
  private static final class Ending<Q> extends SimpleForwardingServerCallListener<Q> {
    private final Admission admission;

    Ending(ServerCall.Listener<Q> listener, Admission admission) {
      super(listener);
      this.admission = admission;
    }

    @Override
    public void onMessage(Q message) {
      perform(() -> super.onMessage(message));
    }

    @Override
    public void onHalfClose() {
      perform(super::onHalfClose);
    }

    @Override
    public void onReady() {
      perform(super::onReady);
    }

    private void perform(Runnable handler) {
      try {
        handler.run();
      } catch (RuntimeException | Error e) {
        admission.settle(Statuses.http(Status.UNKNOWN));
        throw e;
      }
    }

    @Override
    public void onCancel() {
      admission.leaveSpent();
      super.onCancel();
    }
  }
}
