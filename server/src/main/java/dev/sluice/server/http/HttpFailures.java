// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.ContentTooLargeException;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.util.Exceptions;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpResponseException;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.HttpStatusException;
import com.linecorp.armeria.server.RequestTimeoutException;
import com.linecorp.armeria.server.ServerErrorHandler;
import com.linecorp.armeria.server.ServiceConfig;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitOverride.LoweredException;
import dev.sluice.server.admin.RuntimeLimits.KeepException;
import dev.sluice.server.base.FailureLog;
import dev.sluice.server.base.Json;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.base.RefusedException.NotReadyException;
import dev.sluice.server.net.AnyMethod.AskedByProxies;
import dev.sluice.server.net.Requests;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.reservation.Reservations.TokenException;
import dev.sluice.store.StoreException;
import dev.sluice.wire.WireException;
import io.netty.handler.codec.http.ContentLengthNotAllowedException;
import io.netty.handler.codec.http.InvalidLineSeparatorException;
import java.io.IOException;
import java.net.URISyntaxException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Turns failures in resources, or before a resource was found, into problem details. */
final class HttpFailures implements ServerErrorHandler {

  /** The HTTP methods that the server supports. */
  private static final String METHODS = "GET, HEAD, POST, PUT, DELETE, OPTIONS";

  static AggregatedHttpResponse answer(Throwable failure) {
    return Answers.fault(fault(failure));
  }

  /**
   * Returns the response to a failed request. If the request was read-only, the response says that
   * nothing was charged.
   */
  static AggregatedHttpResponse answer(ServiceRequestContext context, Throwable failure) {
    return Answers.fault(fault(failure, onlyReads(context)));
  }

  /** Returns a failed request's problem details; a read-only request has charged nothing. */
  static Fault fault(Throwable failure, boolean onlyReads) {
    return onlyReads && Exceptions.peel(failure) instanceof StoreException store
        ? unread(store)
        : fault(failure);
  }

  /** Whether a request only reads data; a forward-auth request does so if its query says so. */
  private static boolean onlyReads(ServiceRequestContext context) {
    if (AskedByProxies.serves(context)) {
      return ForwardAuthResource.isDry(context);
    }
    HttpMethod method = context.method();
    return context.path().equals(HttpPart.CHECK)
        || context.path().equals(HttpPart.EXPLAIN)
        || method == HttpMethod.GET
        || method == HttpMethod.HEAD;
  }

  private static Fault unread(StoreException failure) {
    return Fault.storeUnreachable("nothing was charged", FailureLog.undecided(failure));
  }

  static Fault fault(Throwable failure) {
    Throwable cause = Exceptions.peel(failure);
    if (cause instanceof ContentTooLargeException) {
      return Fault.tooLarge(SluiceServer.MAX_BODY);
    }
    if (cause instanceof HttpStatusException refused) {
      return Fault.ofStatus(refused.httpStatus(), null);
    }
    if (cause instanceof RefusedException refused) {
      return Fault.refused(refused);
    }
    if (Requests.isClients(cause) || cause instanceof RequestTimeoutException) {
      return Fault.ofStatus(
          HttpStatus.REQUEST_TIMEOUT, "the request was incomplete; send it again");
    }
    if (cause instanceof LoweredException lowered) {
      return Fault.lowered(lowered);
    }
    if (cause instanceof WireException wire) {
      return Fault.of(wire);
    }
    if (cause instanceof InvalidRequestException invalid) {
      return Fault.of(WireException.of(invalid, ""));
    }
    if (cause instanceof TokenException token) {
      return Fault.ofToken(token);
    }
    if (cause instanceof StoreException store) {
      return undecided(store);
    }
    if (cause instanceof KeepException) {
      return Fault.notKept(FailureLog.notKept(String.valueOf(cause.getMessage())));
    }
    if (cause instanceof NotReadyException && cause.getCause() instanceof StoreException store) {
      return Fault.notReady(String.valueOf(cause.getMessage()))
          .withIncident(FailureLog.undecided(store));
    }
    if (cause instanceof NotReadyException) {
      return Fault.notReady(String.valueOf(cause.getMessage()));
    }
    return Fault.internal(FailureLog.internal(cause));
  }

  /** Logs a store failure. Only the log contains the store's name. */
  private static Fault undecided(StoreException failure) {
    return Fault.storeUnreachable(FailureLog.charged(failure), FailureLog.undecided(failure));
  }

  @Override
  public @Nullable HttpResponse onServiceException(ServiceRequestContext context, Throwable cause) {
    if (cause instanceof HttpStatusException || cause instanceof HttpResponseException) {
      return null; // the method below renders Armeria's own failures
    }
    if (cause instanceof RequestTimeoutException) {
      return ForwardAuthResource.inTheFormAskedFor(context, Answers.fault(timedOut(context)))
          .toHttpResponse();
    }
    return ForwardAuthResource.inTheFormAskedFor(context, answer(context, cause)).toHttpResponse();
  }

  /**
   * Returns the problem details for a time-out: of the request's arrival, a change or the store.
   */
  private static Fault timedOut(ServiceRequestContext context) {
    if (!isHere(context)) {
      return Fault.ofStatus(HttpStatus.REQUEST_TIMEOUT, "the request took too long to arrive");
    }
    boolean onlyReads = onlyReads(context);
    if (onlyReads || !context.path().startsWith(HttpPart.ADMIN_PATHS)) {
      return fault(storeIsLate(), onlyReads);
    }
    return "true".equals(context.queryParam(ReloadResource.DRY_RUN))
        ? Fault.notReady("the dry run did not end in time; nothing was changed")
        : Fault.notInTime(FailureLog.notInTime());
  }

  /** Whether a request has arrived, with its body if the server reads the body. */
  private static boolean isHere(ServiceRequestContext context) {
    HttpRequest request = context.request();
    CompletableFuture<Void> arrival = request.whenComplete();
    return request.isEmpty() // such a request never completes, since nobody reads it
        || AskedByProxies.serves(context)
        || (arrival.isDone() && !arrival.isCompletedExceptionally());
  }

  /** Returns the exception for a store that did not answer before the request timed out. */
  static StoreException storeIsLate() {
    return new StoreException("the store did not answer before the request timed out");
  }

  @Override
  public AggregatedHttpResponse renderStatus(
      @Nullable ServiceRequestContext context,
      ServiceConfig config,
      @Nullable RequestHeaders headers,
      HttpStatus status,
      @Nullable String description,
      @Nullable Throwable cause) {
    if (status.equals(HttpStatus.REQUEST_ENTITY_TOO_LARGE)) {
      return Answers.fault(Fault.tooLarge(SluiceServer.MAX_BODY));
    }
    if (status.equals(HttpStatus.NOT_FOUND) && headers != null) {
      return Answers.fault(Fault.notFound(headers.path()));
    }
    if (status.equals(HttpStatus.METHOD_NOT_ALLOWED)
        && headers != null
        && headers.method() == HttpMethod.CONNECT) {
      return Answers.fault(Fault.tunnel());
    }
    if (status.equals(HttpStatus.METHOD_NOT_ALLOWED)) {
      return Answers.wrongMethod("an unknown method", METHODS);
    }
    return Answers.fault(Fault.ofStatus(status, description));
  }

  @Override
  public AggregatedHttpResponse onProtocolViolation(
      ServiceConfig config,
      @Nullable RequestHeaders headers,
      HttpStatus status,
      @Nullable String description,
      @Nullable Throwable cause) {
    String detail =
        status.equals(HttpStatus.BAD_REQUEST) && cause != null
            ? MalformedRequests.detail(cause)
            : description;
    return renderStatus(null, config, headers, status, detail, cause);
  }

  /** Answers failures before Armeria resets the HTTP/2 stream. Ignores gRPC requests. */
  record EarlyAnswers(HttpFailures failures) implements DecoratingHttpServiceFunction {

    @Override
    public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
        throws Exception {
      return Requests.isGrpc(context, request.headers())
          ? next.serve(context, request)
          : Requests.pass(next, context, request).recover(cause -> answer(context, request, cause));
    }

    private HttpResponse answer(
        ServiceRequestContext context, HttpRequest request, Throwable cause) {
      if (cause instanceof HttpStatusException status) {
        return failures
            .renderStatus(
                context, context.config(), request.headers(), status.httpStatus(), null, cause)
            .toHttpResponse();
      }
      HttpResponse answer = failures.onServiceException(context, cause);
      return answer == null ? HttpResponse.ofFailure(cause) : answer;
    }
  }

  /** Describes malformed HTTP/1.1 requests for their clients, based on Armeria's exceptions. */
  private static final class MalformedRequests {

    private MalformedRequests() {}

    /** Describes a mistake that Armeria's parser found, and what to do. */
    static String detail(Throwable cause) {
      if (cause instanceof InvalidLineSeparatorException) { // such as most TLS client hellos
        return "found a line that does not end in CR LF; if the client speaks TLS, give this server"
            + " a certificate, or ask it with http://";
      }
      if (cause instanceof ContentLengthNotAllowedException) {
        return "found Content-Length and Transfer-Encoding, expected only one of these headers";
      }
      if (cause instanceof URISyntaxException) { // such as http://localhost/healthz
        return "found a target that is not a path, expected a path such as /healthz: this server is"
            + " no proxy";
      }
      String message = String.valueOf(cause.getMessage());
      if (message.startsWith("Content-Length value")) {
        return "found a Content-Length that is not a whole number >= 0";
      }
      if (message.startsWith("Multiple Content-Length")) {
        return "found several values of Content-Length, expected one value";
      }
      if (message.startsWith("text is empty") || message.startsWith("invalid version format")) {
        return "found a first line that is not METHOD PATH HTTP/1.1; a client of Redis needs the"
            + " port of --resp";
      }
      return "found bytes that are not HTTP/1.1, expected METHOD PATH HTTP/1.1, headers as"
          + " NAME: VALUE, then a body";
    }
  }

  /** Reads bodies, and checks their media type and encoding. */
  static final class Bodies {

    private Bodies() {}

    /** Returns the problem details for a wrong media type or encoding; null if both are right. */
    static @Nullable Fault unreadable(HttpRequest request, MediaType expected) {
      MediaType type = request.contentType();
      if (type == null
          || !type.is(expected.withoutParameters())
          || !Requests.isUtf8(request.headers())) {
        return Fault.wrongMediaType(
            Requests.contentTypes(request.headers()), expected.withoutParameters());
      }
      String encoding = Requests.compression(request.headers());
      return encoding == null ? null : Fault.wrongEncoding(encoding);
    }

    /** Reads a body that is a JSON object; see {@link Json#read}. */
    static Map<?, ?> object(byte[] body) {
      try {
        if (Json.read(body) instanceof Map<?, ?> fields) {
          return fields;
        }
      } catch (IOException e) {
        // The exception below reports that the body is not JSON.
      }
      throw new WireException(null, "the body must be a JSON object, and nothing else");
    }
  }
}
