// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.wire.Acts;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * {@code POST /v1/decisions}: a stream of acts, one JSON object a line, and a line of answer for
 * each, in their order.
 */
final class DecisionsResource extends MethodService {

  private final Acts acts;

  DecisionsResource(Acts acts) {
    super(HttpMethod.POST);
    this.acts = acts;
  }

  @Override
  HttpResponse respond(ServiceRequestContext context, HttpRequest request) {
    CompletableFuture<HttpResponse> response =
        request
            .aggregate()
            .thenApply(
                body -> {
                  Fault fault = Bodies.unreadable(request, Answers.NDJSON);
                  return fault == null
                      ? stream(context, body.content().array())
                      : Answers.fault(fault).toHttpResponse();
                });
    return HttpResponse.of(
        response.exceptionally(failure -> Failures.answer(failure).toHttpResponse()));
  }

  private HttpResponse stream(ServiceRequestContext context, byte[] lines) {
    Queries.require(context, List.of());
    HttpResponseWriter response = HttpResponse.streaming();
    response.write(Answers.stream());
    DecisionStream stream =
        new DecisionStream(acts, AccessPart.caller(context), lines, response, context.eventLoop());
    context.eventLoop().execute(stream::advance);
    return response;
  }
}
