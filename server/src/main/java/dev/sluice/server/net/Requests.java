// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.ClosedSessionException;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseCompleteException;
import com.linecorp.armeria.common.stream.AbortedStreamException;
import com.linecorp.armeria.common.stream.ClosedStreamException;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceConfig;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.async.Stages;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Methods that read HTTP requests, used by all packages of the server. */
public final class Requests {

  public static final String GRPC = "application/grpc";

  private Requests() {}

  /** Whether a client disconnected before it had its response; such a failure is not logged. */
  public static boolean isClients(Throwable failure) {
    return failure instanceof ClosedSessionException
        || failure instanceof ClosedStreamException
        || failure instanceof AbortedStreamException
        || failure instanceof ResponseCompleteException;
  }

  /**
   * Whether a request is for a gRPC service, or is gRPC's POST over HTTP/2 for a path that nothing
   * serves. For other paths, the content type alone says nothing: a proxy that asks for a decision
   * sends its client's headers, and a gRPC answer would have the status 200.
   */
  public static boolean isGrpc(ServiceRequestContext context, RequestHeaders headers) {
    ServiceConfig config = context.config();
    if (!headers.get(HttpHeaderNames.CONTENT_TYPE, "").startsWith(GRPC)) {
      return false;
    }
    return config.route().isFallback()
        ? context.method() == HttpMethod.POST && context.sessionProtocol().isMultiplex()
        : config.service().as(GrpcEndpoint.class) != null;
  }

  /**
   * Returns the whole body of a request without copying it; an empty array if the request has no
   * body. Must not be called for a {@link StreamingService}, which reads its bodies itself.
   */
  public static byte[] body(ServiceRequestContext context) {
    return Exchange.of(context).body();
  }

  /**
   * Whether the header {@code Content-Type} allows UTF-8: true without a charset, false if the
   * header is malformed or repeated. JSON is always UTF-8.
   */
  public static boolean isUtf8(RequestHeaders headers) {
    List<String> types = headers.getAll(HttpHeaderNames.CONTENT_TYPE);
    return types.size() <= 1 && types.stream().allMatch(Requests::isUtf8);
  }

  /** Returns all values of the header {@code Content-Type}, for messages; empty without one. */
  public static String contentTypes(RequestHeaders headers) {
    return String.join(", ", headers.getAll(HttpHeaderNames.CONTENT_TYPE));
  }

  private static boolean isUtf8(String contentType) {
    try {
      return MediaType.parse(contentType).parameters().getOrDefault("charset", List.of()).stream()
          .allMatch(set -> set.equalsIgnoreCase("utf-8") || set.equalsIgnoreCase("utf8"));
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  /** Returns the header {@code Content-Encoding} or null; this server decompresses no bodies. */
  public static @Nullable String compression(RequestHeaders headers) {
    return headers.getAll(HttpHeaderNames.CONTENT_ENCODING).stream()
        .filter(encoding -> !encoding.equalsIgnoreCase("identity"))
        .findFirst()
        .orElse(null);
  }

  /** Receives a body while it arrives, on the event loop of its request. */
  public interface BodyReader {

    /** Receives more of the body. */
    void more(byte[] bytes, int size);
  }

  /**
   * Reads the body of a request to a {@link StreamingService} while the body arrives. The size
   * limit and the charge to the memory budget are the same as for a body that the server collects.
   *
   * @param context the context of the request; the caller must be on the event loop of this context
   * @param request a request whose body nobody has read yet
   * @return a future that completes on the event loop at the end of the body, or fails. If the
   *     future fails, or if the caller completes it on the event loop, the server reads and drops
   *     the rest of the body
   */
  public static CompletableFuture<?> readAsItArrives(
      ServiceRequestContext context, HttpRequest request, BodyReader reader) {
    Exchange exchange = Exchange.of(context);
    exchange.readsAsItArrives();
    CompletableFuture<?> body = Body.read(request, context, SluiceServer.MAX_BODY, reader);
    Stages.onEnd(body, (nothing, failure) -> exchange.arrived()); // arrived, or failed
    return body;
  }

  /**
   * Charges the responses of a stream to the memory budget: unread responses and future responses.
   * A stream whose responses have at most 4 KiB is not charged to the memory budget. Only the
   * request's event loop may call the methods of this interface.
   */
  public interface HeldAnswers {

    /**
     * Charges {@code bytes} for responses before the service makes them; returns false if the
     * budget has no room now.
     */
    boolean hold(long bytes);

    /**
     * Gives bytes of responses back to the memory budget: bytes that the client has read, or that
     * were charged too much.
     *
     * @param bytes how many bytes to give back; negative if responses were longer than charged: the
     *     next call of {@link #hold} charges the missing bytes as well
     */
    void drop(long bytes);
  }

  /** Returns the object that charges a request's streamed responses to the memory budget. */
  public static HeldAnswers heldAnswers(ServiceRequestContext context) {
    return Exchange.of(context);
  }

  /**
   * Returns the nanoseconds that the client still has to read the response of a request. Soon after
   * a request has timed out, the server closes the connection, with all other requests on it.
   */
  public static long nanosLeft(ServiceRequestContext context) {
    return Exchange.of(context).nanosLeft();
  }

  /** Passes a request to a service; an exception becomes a failed response. */
  public static HttpResponse pass(
      HttpService next, ServiceRequestContext context, HttpRequest request) {
    try {
      return next.serve(context, request);
    } catch (Exception e) {
      return HttpResponse.ofFailure(e);
    }
  }

  /** A service for requests of gRPC. */
  public interface GrpcEndpoint extends HttpService {}

  /**
   * A service that can answer the first part of a request before the client sends the next part.
   * The server calls this service before the whole body has arrived. The service keeps only one
   * part of a body in memory, or reads the body with {@link Requests#readAsItArrives}, which
   * charges the body to the memory budget.
   */
  public interface StreamingService extends HttpService {}
}
