// SPDX-License-Identifier: Apache-2.0
package dev.sluice.webflux;

import dev.sluice.testkit.web.FilterSetup;
import dev.sluice.testkit.web.FilteredSite;
import java.time.Duration;
import java.util.List;
import org.springframework.http.server.reactive.HttpHandler;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.function.server.HandlerStrategies;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.server.WebFilter;
import reactor.netty.DisposableServer;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.HttpResources;
import reactor.netty.http.server.HttpServer;

/**
 * A real server on a free port of the loopback interface, with routes behind filters.
 *
 * <p>Each HTTP/1.1 connection serves one request. Reactor Netty 1.3.6 and 1.3.7 can stop reading a
 * kept connection (github.com/reactor/reactor-netty/issues/4361): if a request arrives before the
 * end of the request before it, which another thread answers, it waits in a queue, and if the
 * answer is then there at once, HttpTrafficHandler.run() never reads again. 1.3.8 reads on, but
 * needs Netty 4.2.19.
 */
final class NettySite implements FilteredSite {

  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final DisposableServer server;

  private NettySite(DisposableServer server) {
    this.server = server;
  }

  /** Starts a server whose routes stand behind some filters and the one under test. */
  static NettySite start(
      FilterSetup setup, RouterFunction<ServerResponse> routes, WebFilter... inFront) {
    return start(true, handler(setup, routes, inFront));
  }

  /** Starts a server on Netty's native transport, or on Java's own sockets. */
  static NettySite start(boolean isNative, HttpHandler handler) {
    return new NettySite(
        HttpServer.create()
            .runOn(HttpResources.get(), isNative)
            .host("127.0.0.1")
            .port(0)
            .maxKeepAliveRequests(1)
            .protocol(HttpProtocol.H2C, HttpProtocol.HTTP11)
            .handle(new ReactorHttpHandlerAdapter(handler))
            .bindNow(PATIENCE));
  }

  /** Returns the routes behind some filters and the one under test. */
  static HttpHandler handler(
      FilterSetup setup, RouterFunction<ServerResponse> routes, WebFilter... inFront) {
    RateLimitWebFilter.Builder filter =
        RateLimitWebFilter.builder(setup.limiter())
            .clientAddress(setup.clientAddress())
            .headers(setup.headers());
    setup.rules().forEach(filter::rule);
    HandlerStrategies.Builder strategies = HandlerStrategies.builder();
    List.of(inFront).forEach(strategies::webFilter);
    strategies.webFilter(filter.build());
    return RouterFunctions.toHttpHandler(routes, strategies.build());
  }

  @Override
  public int port() {
    return server.port();
  }

  @Override
  public String prefix() {
    return "";
  }

  @Override
  public void close() {
    server.disposeNow(PATIENCE);
  }
}
