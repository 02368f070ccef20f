// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.Traffic.Stage;
import io.netty.channel.Channel;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/**
 * Charges each request to the budget before its body is read, collects the body within its bound,
 * and accounts for the response until it was read. A {@link Piecewise} service reads its bodies
 * itself. Stateless and thread-safe.
 */
final class Exchanges implements DecoratingHttpServiceFunction {

  private static final String CLOSE = "close";

  private final Traffic traffic;

  Exchanges(Traffic traffic) {
    this.traffic = traffic;
  }

  @Override
  public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
      throws Exception {
    Channel channel =
        Objects.requireNonNull(context.log().partial().channel(), "a request has a channel");
    Connection connection = Connection.of(channel);
    Exchange exchange = connection.begin(context.sessionProtocol().isMultiplex());
    if (exchange == null) {
      throw RefusedException.overloaded("too much is in flight; try again in a second");
    }
    var unused = context.log().whenComplete().thenRun(() -> inLoop(channel, exchange::ended));
    boolean bodiless = !request.isEmpty() && isAskedByProxies(context);
    HttpResponse response =
        bodiless
            ? servedWithoutBody(next, context, request, exchange)
            : served(next, context, request, exchange);
    return response.mapHeaders(
        headers -> answered(context, connection, exchange, headers, bodiless));
  }

  private static boolean isAskedByProxies(ServiceRequestContext context) {
    return context.config().service().as(AskedByProxies.class) != null;
  }

  /** The promised body may never come: the connection ends after the answer. */
  private static HttpResponse servedWithoutBody(
      HttpService next, ServiceRequestContext context, HttpRequest request, Exchange exchange) {
    exchange.arrived();
    HttpResponse response = next(next, context, HttpRequest.of(request.headers()));
    request.abort();
    return response;
  }

  private HttpResponse served(
      HttpService next, ServiceRequestContext context, HttpRequest request, Exchange exchange)
      throws Exception {
    RequestHeaders headers = request.headers();
    if (request.isEmpty()) {
      exchange.arrived();
      return next.serve(context, request);
    }
    if (context.config().service().as(Piecewise.class) != null) {
      return next.serve(context, request);
    }
    CompletableFuture<HttpResponse> response =
        Body.of(request, exchange, SluiceServer.MAX_BODY)
            .thenApply(
                body -> {
                  exchange.arrived();
                  return next(next, context, HttpRequest.of(headers, HttpData.wrap(body)));
                });
    return HttpResponse.of(response);
  }

  private static HttpResponse next(
      HttpService next, ServiceRequestContext context, HttpRequest request) {
    try {
      return next.serve(context, request);
    } catch (Exception e) {
      return HttpResponse.ofFailure(e);
    }
  }

  private ResponseHeaders answered(
      ServiceRequestContext context,
      Connection connection,
      Exchange exchange,
      ResponseHeaders headers,
      boolean bodiless) {
    if (headers.status().isInformational()) {
      return headers;
    }
    if (!exchange.answered(Math.max(0, headers.contentLength()))) {
      traffic.close(connection, "no room for its responses; it held %s bytes");
    }
    boolean ends =
        !context.sessionProtocol().isMultiplex()
            && (bodiless || (traffic.stage() == Stage.CLOSING && exchange.isLast()));
    return ends ? headers.withMutations(h -> h.set(HttpHeaderNames.CONNECTION, CLOSE)) : headers;
  }

  private static void inLoop(Channel channel, Runnable task) {
    if (channel.eventLoop().inEventLoop()) {
      task.run();
    } else {
      channel.eventLoop().execute(task);
    }
  }
}
