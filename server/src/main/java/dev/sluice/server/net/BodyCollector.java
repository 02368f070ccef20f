// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.netty.channel.EventLoop;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * Collects a body within its bound, after all that may refuse the request by its headers. The
 * service finds it by {@link Requests#body}: the request that it is given has been read. A {@link
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
    exchange.read();
    CompletableFuture<byte[]> body = Body.collected(request, context, SluiceServer.MAX_BODY);
    Function<byte[], HttpResponse> answer =
        whole -> {
          exchange.arrived(whole);
          return Requests.pass(next, context, request);
        };
    EventLoop loop = context.eventLoop().withoutContext();
    return context.exchangeType().isResponseStreaming()
        ? HttpResponse.of(body.thenApply(answer))
        : WholeResponse.of(body.thenCompose(whole -> answer.apply(whole).aggregate(loop)), context);
  }
}
