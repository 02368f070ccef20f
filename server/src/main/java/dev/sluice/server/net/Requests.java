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

/** Helpers for requests, which several parts of the server share. Stateless. */
public final class Requests {

  /** The media type of gRPC. */
  public static final String GRPC = "application/grpc";

  private Requests() {}

  /**
   * Returns whether a request is one of gRPC, by its content type.
   *
   * @param headers of the request
   * @return whether it expects an answer of gRPC
   */
  public static boolean isGrpc(RequestHeaders headers) {
    return headers.get(HttpHeaderNames.CONTENT_TYPE, "").startsWith(GRPC);
  }

  /**
   * Returns the body of a request. The server has collected it within its bounds before it asked
   * the service; a {@link StreamingService} one reads its bodies itself.
   *
   * @param context the request's
   * @return all of its body, not copied; empty without one
   */
  public static byte[] body(ServiceRequestContext context) {
    return Exchange.of(context).body();
  }

  /**
   * Returns whether a body is text in UTF-8, as far as the header {@code Content-Type} says so.
   * JSON has no other charset.
   *
   * @param headers of the request
   * @return true without the header, or without a charset in it; false if it is malformed
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

  /**
   * Returns how a body is compressed, which this server does not undo.
   *
   * @param headers of the request
   * @return the value of the header {@code Content-Encoding}; null if the body is sent as it is
   */
  public static @Nullable String compression(RequestHeaders headers) {
    return headers.getAll(HttpHeaderNames.CONTENT_ENCODING).stream()
        .filter(encoding -> !encoding.equalsIgnoreCase("identity"))
        .findFirst()
        .orElse(null);
  }

  /** Is told of a body while it arrives, on the event loop of its request. */
  public interface BodyReader {

    /**
     * More of the body is here.
     *
     * @param bytes begins with all that is here; not copied, and another array once it has grown
     * @param size how many bytes are here
     */
    void more(byte[] bytes, int size);
  }

  /**
   * Reads the body of a request to a {@link StreamingService} service as it arrives. It is bounded
   * and charged like a body that the server collects.
   *
   * @param context the request's; the call must come from its event loop
   * @param request has not been read
   * @param reader is told of each piece
   * @return completed on the event loop at the end of the body, or with what went wrong: the rest
   *     is read and dropped then. A caller that completes it, on the event loop too, has the rest
   *     dropped
   */
  public static CompletableFuture<?> readAsItArrives(
      ServiceRequestContext context, HttpRequest request, BodyReader reader) {
    Exchange exchange = Exchange.of(context);
    exchange.readsAsItArrives();
    CompletableFuture<?> body = Body.read(request, context, SluiceServer.MAX_BODY, reader);
    Stages.onEnd(body, (nothing, failure) -> exchange.arrived()); // or nothing more is waited for
    return body;
  }

  /**
   * What the answers of a stream hold: those that are to come, and those that are unread. It is
   * charged to the budget of bytes in flight, but for the first 4 KiB. Belongs to the event loop of
   * its request.
   */
  public interface HeldAnswers {

    /**
     * Charges answers before they are there.
     *
     * @param bytes how long they may become
     * @return false if the budget has no room for them now
     */
    boolean hold(long bytes);

    /**
     * Gives back what was charged for answers that were read, or are shorter than they might be.
     *
     * @param bytes how many; below zero for answers that are longer, which are charged with the
     *     next ones
     */
    void drop(long bytes);
  }

  /**
   * Returns what the answers to a request hold, where they are sent one after another.
   *
   * @param context the request's
   * @return nothing so far
   */
  public static HeldAnswers heldAnswers(ServiceRequestContext context) {
    return Exchange.of(context);
  }

  /**
   * Returns how long a request may be in flight from now on, until its answer was read. Soon after
   * that its connection is closed, with the other requests on it.
   *
   * @param context the request's
   * @return in nanoseconds
   */
  public static long nanosLeft(ServiceRequestContext context) {
    return Exchange.of(context).nanosLeft();
  }

  /**
   * Hands a request on.
   *
   * @param next answers it
   * @param context the request's
   * @param request as the service shall see it
   * @return the answer; one that has failed where the service throws an exception
   */
  public static HttpResponse pass(
      HttpService next, ServiceRequestContext context, HttpRequest request) {
    try {
      return next.serve(context, request);
    } catch (Exception e) {
      return HttpResponse.ofFailure(e);
    }
  }

  /**
   * A service that answers a piece of a request before the next one is sent, so that nobody may
   * wait for the whole. It holds no more of a body than a piece at a time, or reads it by {@link
   * Requests#readAsItArrives}, which charges it.
   */
  public interface StreamingService extends HttpService {}
}
