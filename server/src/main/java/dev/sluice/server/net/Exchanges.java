// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.async.Stages;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.net.Traffic.Stage;
import io.netty.channel.Channel;
import java.util.Objects;

/**
 * Charges each request to the budget before its body is read, and accounts for the response until
 * it was read. Stateless and thread-safe.
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
    Stages.onSuccess(context.log().whenComplete(), log -> inLoop(channel, exchange::ended));
    context.setAttr(Exchange.KEY, exchange);
    boolean bodiless = !request.isEmpty() && isAskedByProxies(context);
    HttpResponse response =
        bodiless ? servedWithoutBody(next, context, request) : next.serve(context, request);
    return response.mapHeaders(
        headers -> answered(context, connection, exchange, headers, bodiless));
  }

  private static boolean isAskedByProxies(ServiceRequestContext context) {
    return context.config().service().as(AskedByProxies.class) != null;
  }

  /** The promised body may never come: a connection of HTTP/1.1 ends after the answer. */
  private static HttpResponse servedWithoutBody(
      HttpService next, ServiceRequestContext context, HttpRequest request) {
    HttpResponse response = Requests.pass(next, context, HttpRequest.of(request.headers()));
    if (context.sessionProtocol().isMultiplex()) {
      LateBodies.drop(request);
    } else {
      request.abort();
    }
    return response;
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
    traffic.answered();
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
