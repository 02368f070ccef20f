// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.util.concurrent.CompletableFuture;

/**
 * Collects a body within its bound, after all that may refuse the request by its headers. A {@link
 * Piecewise} service reads its bodies itself. Stateless and thread-safe.
 */
final class BodyCollector implements DecoratingHttpServiceFunction {

  @Override
  public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
      throws Exception {
    Exchange exchange = Exchange.of(context);
    if (request.isEmpty()) {
      exchange.arrived();
      return next.serve(context, request);
    }
    if (context.config().service().as(Piecewise.class) != null) {
      return next.serve(context, request);
    }
    CompletableFuture<HttpResponse> answer =
        Body.of(request, context, SluiceServer.MAX_BODY)
            .thenApply(
                body -> {
                  exchange.arrived(body);
                  return Requests.pass(
                      next, context, HttpRequest.of(request.headers(), HttpData.wrap(body)));
                });
    return context.exchangeType().isResponseStreaming()
        ? HttpResponse.of(answer)
        : WholeResponse.of(
            answer.thenCompose(
                response -> response.aggregate(context.eventLoop().withoutContext())),
            context);
  }
}
