// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.Requests;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.wire.Acts;
import java.util.List;

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
    Fault fault = Bodies.unreadable(request, Answers.NDJSON);
    try {
      return fault == null
          ? stream(context, Requests.body(context))
          : Answers.fault(fault).toHttpResponse();
    } catch (RuntimeException e) {
      return Failures.answer(e).toHttpResponse();
    }
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
