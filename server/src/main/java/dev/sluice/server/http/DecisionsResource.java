// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.stream.ClosedStreamException;
import com.linecorp.armeria.common.util.Exceptions;
import com.linecorp.armeria.server.RequestTimeoutException;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.async.Stages;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.LimiterCalls;
import dev.sluice.server.http.HttpFailures.Bodies;
import dev.sluice.server.http.MethodService.Queries;
import dev.sluice.server.net.Requests;
import dev.sluice.server.net.Requests.StreamingService;
import dev.sluice.server.net.SluiceServer;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * {@code POST /v1/decisions}: a stream of operations, one JSON object on each line. Each line is
 * answered by one line, in the same order, even before later lines arrive.
 */
final class DecisionsResource extends MethodService implements StreamingService {

  /** The longest time that the server reserves to end a stream properly. */
  private static final long MOST_SPARE_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final LimiterCalls acts;

  DecisionsResource(LimiterCalls acts) {
    super(HttpMethod.POST);
    this.acts = acts;
  }

  @Override
  HttpResponse respond(ServiceRequestContext context, HttpRequest request) {
    Fault fault = Bodies.unreadable(request, Answers.NDJSON);
    if (fault == null && request.headers().contentLength() > SluiceServer.MAX_BODY) {
      fault = Fault.tooLarge(SluiceServer.MAX_BODY);
    }
    try {
      return fault == null ? stream(context, request) : Answers.fault(fault).toHttpResponse();
    } catch (RuntimeException e) {
      return HttpFailures.answer(e).toHttpResponse();
    }
  }

  /** Reports a time-out in the stream: Armeria's time-out would cut off the response. */
  private HttpResponse stream(ServiceRequestContext context, HttpRequest request) {
    Queries.require(context, List.of());
    long mostMillis = context.requestTimeoutMillis();
    context.clearRequestTimeout();
    EventLoop loop = context.eventLoop();
    HttpResponseWriter response = HttpResponse.streaming();
    DecisionStream stream =
        new DecisionStream(
            acts, AccessPart.caller(context), response, loop, Requests.heldAnswers(context));
    CompletableFuture<?> body = Requests.readAsItArrives(context, request, stream::more);
    ScheduledFuture<?> tooLate =
        loop.schedule(
            () -> body.completeExceptionally(RequestTimeoutException.get()),
            mostMillis,
            TimeUnit.MILLISECONDS);
    Stages.onEnd(
        body,
        (nothing, failure) -> {
          tooLate.cancel(false);
          if (failure == null) {
            stream.ended();
          } else if (response.isOpen()) { // otherwise the client is gone
            stream.failed(
                Exceptions.peel(failure) instanceof RequestTimeoutException
                    ? DecisionStream.tooLate()
                    : HttpFailures.fault(failure));
          }
        });
    endInTime(context, stream, response);
    Stages.onEnd(
        response.whenComplete(),
        (done, failure) -> {
          if (!body.isDone()) { // drops the rest of the body
            loop.execute(() -> body.completeExceptionally(ClosedStreamException.get()));
          }
        });
    return response;
  }

  /**
   * Ends the stream before its time is over, and aborts the response if the client does not read
   * it. Otherwise the server would close the connection, with all other requests on it. Over
   * HTTP/1.1 the server still closes the connection, since an unread response cannot end in another
   * way.
   */
  private static void endInTime(
      ServiceRequestContext context, DecisionStream stream, HttpResponseWriter response) {
    EventLoop loop = context.eventLoop();
    long leftNanos = Requests.nanosLeft(context);
    long spareNanos = Math.min(MOST_SPARE_NANOS, leftNanos / 4);
    ScheduledFuture<?> late =
        loop.schedule(
            () -> {
              stream.late();
              if (context.sessionProtocol().isMultiplex()) {
                var unused =
                    loop.schedule(() -> response.abort(), spareNanos / 2, TimeUnit.NANOSECONDS);
              }
            },
            leftNanos - spareNanos,
            TimeUnit.NANOSECONDS);
    Stages.onEnd(response.whenComplete(), (done, failure) -> late.cancel(false));
  }
}
