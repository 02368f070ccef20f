// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.async.Stages;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Methods to read requests, shared by several parts of the server. */
public final class Requests {

  public static final String GRPC = "application/grpc";

  private Requests() {}

  public static boolean isGrpc(RequestHeaders headers) {
    return headers.get(HttpHeaderNames.CONTENT_TYPE, "").startsWith(GRPC);
  }

  /**
   * Returns the whole body of a request, not copied; empty if there is none. The server collects
   * the body before it calls the service. A {@link StreamingService} reads its bodies itself.
   */
  public static byte[] body(ServiceRequestContext context) {
    return Exchange.of(context).body();
  }

  /**
   * Whether the header {@code Content-Type} allows UTF-8: true without a charset, false if the
   * header is malformed. JSON is always UTF-8.
   */
  public static boolean isUtf8(RequestHeaders headers) {
    return headers.getAll(HttpHeaderNames.CONTENT_TYPE).stream().allMatch(Requests::isUtf8);
  }

  private static boolean isUtf8(String contentType) {
    try {
      return MediaType.parse(contentType).parameters().getOrDefault("charset", List.of()).stream()
          .allMatch(set -> set.equalsIgnoreCase("utf-8") || set.equalsIgnoreCase("utf8"));
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  /** Returns {@code Content-Encoding}, null without; this server does not decompress bodies. */
  public static @Nullable String compression(RequestHeaders headers) {
    return headers.getAll(HttpHeaderNames.CONTENT_ENCODING).stream()
        .filter(encoding -> !encoding.equalsIgnoreCase("identity"))
        .findFirst()
        .orElse(null);
  }

  /** Receives a body while it arrives, on the event loop of its request. */
  public interface BodyReader {

    /** Receives more of the body: {@code bytes} begins with all received so far. */
    void more(byte[] bytes, int size);
  }

  /**
   * Reads the body of a request to a {@link StreamingService} as it arrives. The body is bounded
   * and charged like a body that the server collects.
   *
   * @param context the context of the request; the call must come from its event loop
   * @param request the request, not yet read
   * @return a future that completes on the event loop at the end of the body, or fails. After a
   *     failure, the rest of the body is read and dropped. The caller can also complete the future
   *     on the event loop; then the rest is dropped too
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
   * Charges the responses of a stream to the budget: the responses that the client has not read,
   * and future responses. The first 4 KiB are free. Belongs to the event loop of its request.
   */
  public interface HeldAnswers {

    /** Charges responses before they are made; returns false if the budget has no room. */
    boolean hold(long bytes);

    /**
     * Releases the charge for responses that the client has read, or that are shorter than charged.
     *
     * @param bytes how many bytes to release; negative for responses that are longer than charged:
     *     the missing bytes are charged with the next responses
     */
    void drop(long bytes);
  }

  /** Returns the charges of a request whose response is a stream; at first nothing is charged. */
  public static HeldAnswers heldAnswers(ServiceRequestContext context) {
    return Exchange.of(context);
  }

  /**
   * Returns how long the client still has to read the response of a request. Soon after this time,
   * the server closes the connection, with all other requests on it.
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

  /** A service that answers parts of a request, and reads its body itself. */
  public interface StreamingService extends HttpService {}
}
