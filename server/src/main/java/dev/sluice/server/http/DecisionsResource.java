// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.async.Stages;
import dev.sluice.server.Piecewise;
import dev.sluice.server.Requests;
import dev.sluice.server.SluiceServer;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.wire.Acts;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * {@code POST /v1/decisions}: a stream of acts, one JSON object a line, and a line of answer for
 * each, in their order. A line is answered while the next ones are still to come.
 */
final class DecisionsResource extends MethodService implements Piecewise {

  private final Acts acts;

  DecisionsResource(Acts acts) {
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
      return Failures.answer(e).toHttpResponse();
    }
  }

  /** The library would break the answer off where the request is late; the stream says it. */
  private HttpResponse stream(ServiceRequestContext context, HttpRequest request) {
    Queries.require(context, List.of());
    long mostMillis = context.requestTimeoutMillis();
    context.clearRequestTimeout();
    HttpResponseWriter response = HttpResponse.streaming();
    DecisionStream stream =
        new DecisionStream(acts, AccessPart.caller(context), response, context.eventLoop());
    ScheduledFuture<?> late =
        context
            .eventLoop()
            .schedule(() -> stream.failed(tooLate()), mostMillis, TimeUnit.MILLISECONDS);
    CompletableFuture<byte[]> body = Requests.readAsItArrives(context, request, stream::more);
    Stages.onEnd(
        body,
        (whole, failure) -> {
          late.cancel(false);
          if (failure == null) {
            stream.ended();
          } else {
            stream.failed(Failures.fault(failure));
          }
        });
    return response;
  }

  private static Fault tooLate() {
    return Fault.ofStatus(HttpStatus.REQUEST_TIMEOUT, "the request took too long to arrive");
  }
}
