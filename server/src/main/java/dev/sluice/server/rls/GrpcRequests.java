// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.google.protobuf.InvalidProtocolBufferException;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.ContentTooLargeException;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import com.linecorp.armeria.common.util.Exceptions;
import com.linecorp.armeria.common.util.TimeoutMode;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.HttpStatusException;
import com.linecorp.armeria.server.RequestTimeoutException;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.server.base.FailureLog;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.base.RefusedException.NotReadyException;
import dev.sluice.server.net.Requests;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.rls.RateLimitService.BadRequest;
import dev.sluice.server.rls.RateLimitService.RateLimitRequests;
import dev.sluice.store.StoreException;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.netty.util.AttributeKey;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/*
 * A client chooses how long the values in its proxy's message are. With failure_mode_deny: false, an
 * error for a message that is too large would open all limits, so such a message is over its limit.
 */
/** Handles all gRPC requests, even for unknown methods. */
record GrpcRequests(RateLimitRequests requests, RlsMeters meters)
    implements DecoratingHttpServiceFunction {

  private static final Pattern TIMEOUT = Pattern.compile("([0-9]{1,8})([HMSmun])");
  private static final AttributeKey<Boolean> HAS_WRONG_TIMEOUT =
      AttributeKey.valueOf(GrpcRequests.class, "HAS_WRONG_TIMEOUT");
  private static final String UNITS = "HMSmun";
  private static final TimeUnit[] SIZES = {
    TimeUnit.HOURS,
    TimeUnit.MINUTES,
    TimeUnit.SECONDS,
    TimeUnit.MILLISECONDS,
    TimeUnit.MICROSECONDS,
    TimeUnit.NANOSECONDS
  };

  @Override
  public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request) {
    if (!Requests.isGrpc(context, request.headers())) {
      return Requests.pass(next, context, request);
    }
    long start = System.nanoTime();
    setDeadline(context, request.headers().get("grpc-timeout"));
    HttpResponse answer =
        Requests.pass(next, context, request).recover(failure -> failed(failure, context, start));
    return context.config().route().isFallback()
        ? HttpResponse.of(answer.aggregate().thenApply(whole -> unserved(whole, context.path())))
        : answer;
  }

  /** Returns the answer for a path that no service has, unless the call was refused before. */
  private static HttpResponse unserved(AggregatedHttpResponse answer, String path) {
    return answer.status().equals(HttpStatus.OK)
        ? answer.toHttpResponse()
        : HttpResponse.of(
            trailers(Status.UNIMPLEMENTED.withDescription("no service has the method " + path)));
  }

  private static void setDeadline(ServiceRequestContext context, @Nullable String header) {
    if (header == null) {
      return;
    }
    Matcher timeout = TIMEOUT.matcher(header);
    if (!timeout.matches()) {
      context.setAttr(HAS_WRONG_TIMEOUT, true); // refused after the request was counted
      return;
    }
    long nanos = SIZES[UNITS.indexOf(timeout.group(2))].toNanos(Long.parseLong(timeout.group(1)));
    if (TimeUnit.NANOSECONDS.toMillis(nanos) < context.requestTimeoutMillis()) {
      context.setRequestTimeout(TimeoutMode.SET_FROM_START, Duration.ofNanos(Math.max(1, nanos)));
    }
  }

  /** Throws if the request's deadline is malformed. */
  static void requireDeadline(ServiceRequestContext context) {
    if (context.hasAttr(HAS_WRONG_TIMEOUT)) {
      throw new BadRequest("grpc-timeout: expected up to eight digits and one of H, M, S, m, u, n");
    }
  }

  /** Answers and counts a request that failed before a service answered and counted it. */
  private HttpResponse failed(Throwable failure, ServiceRequestContext context, long start) {
    boolean isDecision = context.path().equals(PlainCalls.PATH);
    if (isDecision && GrpcStatuses.isTooLarge(failure)) {
      RateLimitResponse answer = requests.tooLarge();
      meters.answered(answer, start);
      return PlainCalls.answer(answer).toHttpResponse();
    }
    Status status = GrpcStatuses.status(failure);
    if (isDecision) {
      meters.failed(status, start);
    }
    return HttpResponse.of(trailers(status));
  }

  /** Returns the headers of a gRPC response without a message; they contain the gRPC status. */
  static ResponseHeaders trailers(Status status) {
    ResponseHeadersBuilder headers =
        ResponseHeaders.builder(HttpStatus.OK)
            .set(HttpHeaderNames.CONTENT_TYPE, Requests.GRPC)
            .set("grpc-status", Integer.toString(status.getCode().value()));
    String description = status.getDescription();
    if (description != null) {
      headers.set("grpc-message", encoded(description));
    }
    return headers.build();
  }

  /**
   * Percent-encodes an error message as gRPC requires: encodes the percent sign, and all characters
   * except printable ASCII. Some clients show an error message without decoding it.
   */
  private static String encoded(String text) {
    StringBuilder encoded = new StringBuilder(text.length());
    for (byte one : text.getBytes(StandardCharsets.UTF_8)) {
      if (one >= ' ' && one <= '~' && one != '%') {
        encoded.append((char) one);
      } else {
        encoded.append('%').append(HexFormat.of().withUpperCase().toHexDigits(one));
      }
    }
    return encoded.toString();
  }

  /**
   * Converts failures to gRPC statuses. If Envoy gets an error status, Envoy assumes that the rate
   * limit service failed, and applies its own failure rule.
   */
  static final class GrpcStatuses {

    /** Finds the name of a Java class, which some libraries write into error messages. */
    private static final Pattern CLASS =
        Pattern.compile("\\b(com\\.(linecorp|google)|io\\.(grpc|netty)|java)\\.[A-Za-z]");

    /** The error of a body that is too large. */
    static final String TOO_LARGE =
        "the body has more than %1$s bytes, %1$s are allowed".formatted(SluiceServer.MAX_BODY);

    private static final String NO_FRAMES = "found a body that is not in gRPC's frames";

    private GrpcStatuses() {}

    static Status status(Throwable failure) {
      Throwable cause = Exceptions.peel(failure);
      if (cause instanceof StatusRuntimeException known) {
        return known.getStatus();
      }
      if (cause instanceof StatusException known) {
        return known.getStatus();
      }
      if (cause instanceof BadRequest || cause instanceof InvalidRequestException) {
        return Status.INVALID_ARGUMENT.withDescription(cause.getMessage());
      }
      if (cause instanceof StoreException store) {
        return undecided(store);
      }
      if (cause instanceof RefusedException refused) {
        return status(refused).withDescription(refused.detail());
      }
      if (cause instanceof NotReadyException) {
        return Status.UNAVAILABLE.withDescription(cause.getMessage());
      }
      if (isTooLarge(cause)) {
        return Status.RESOURCE_EXHAUSTED.withDescription(TOO_LARGE);
      }
      if (cause instanceof RequestTimeoutException || cause instanceof CancellationException) {
        return late();
      }
      if (cause instanceof HttpStatusException refused) {
        return Status.UNKNOWN.withDescription("HTTP " + refused.httpStatus());
      }
      if (Requests.isClients(cause)) {
        return Status.CANCELLED.withDescription("the client went away");
      }
      return Status.INTERNAL.withDescription(
          "the request was not decided; the server's log has the cause, under incident "
              + FailureLog.internal(cause));
    }

    private static Status status(RefusedException refused) {
      return switch (refused.status().code()) {
        case 401 -> Status.UNAUTHENTICATED;
        case 429 -> Status.RESOURCE_EXHAUSTED;
        case 503 -> Status.UNAVAILABLE;
        default -> Status.PERMISSION_DENIED;
      };
    }

    static Status late() {
      return Status.DEADLINE_EXCEEDED.withDescription("no answer within the request's deadline");
    }

    static boolean isTooLarge(Throwable failure) {
      Throwable cause = Exceptions.peel(failure);
      return cause instanceof ContentTooLargeException
          || (cause instanceof HttpStatusException refused
              && refused.httpStatus().equals(HttpStatus.REQUEST_ENTITY_TOO_LARGE));
    }

    /** Returns the status for a request that Armeria refused because its body is not valid gRPC. */
    static Status ofProtocol(Throwable failure) {
      Throwable cause = Exceptions.peel(failure);
      if (cause instanceof IndexOutOfBoundsException) {
        return Status.INTERNAL.withDescription("the request ends in the middle of a message");
      }
      if (cause.getCause() instanceof InvalidProtocolBufferException) {
        return Status.INVALID_ARGUMENT.withDescription(
            "found a protobuf message that this method does not accept");
      }
      if (cause.getCause() instanceof IOException) { // the message cannot be decompressed
        return Status.INTERNAL.withDescription(NO_FRAMES);
      }
      Status status = status(cause);
      String description = status.getDescription();
      if (description == null || !CLASS.matcher(description).find()) {
        return status;
      }
      return status.withDescription(
          switch (status.getCode()) {
            case UNIMPLEMENTED ->
                "found a message encoding that is not supported, expected gzip or identity";
            case RESOURCE_EXHAUSTED ->
                "found a message of more than %s bytes, expected fewer"
                    .formatted(SluiceServer.MAX_BODY);
            default -> NO_FRAMES;
          });
    }

    /** Logs a store failure. The returned status does not contain the store's name. */
    private static Status undecided(StoreException failure) {
      return Status.UNAVAILABLE.withDescription(
          "the store could not decide; %s (incident %s)"
              .formatted(FailureLog.charged(failure), FailureLog.undecided(failure)));
    }
  }
}
