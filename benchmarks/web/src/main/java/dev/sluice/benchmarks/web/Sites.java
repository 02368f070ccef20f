// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.web;

import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumSet;
import java.util.function.UnaryOperator;
import org.eclipse.jetty.ee10.servlet.FilterHolder;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.function.server.HandlerStrategies;
import org.springframework.web.reactive.function.server.RequestPredicates;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.server.WebFilter;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/** Starts a separate server for each subject. Closing this object closes all servers. */
final class Sites implements AutoCloseable {

  /** The idle time-out of connections, which are idle while other subjects are measured. */
  private static final long IDLE_MILLIS = 600_000;

  private final Deque<AutoCloseable> open = new ArrayDeque<>();

  /** Starts Jetty with a filter and a page that calls a function of the application. */
  Connection servlet(Filter filter, UnaryOperator<String> page) throws Exception {
    Server server = new Server();
    ServerConnector connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    connector.setIdleTimeout(IDLE_MILLIS);
    server.addConnector(connector);
    ServletContextHandler context = new ServletContextHandler();
    context.addFilter(new FilterHolder(filter), "/*", EnumSet.of(DispatcherType.REQUEST));
    context.addServlet(new ServletHolder(new Page(page)), "/page");
    server.setHandler(context);
    server.start();
    open.push(server::stop);
    return connected(connector.getLocalPort());
  }

  /** Starts WebFlux on Reactor Netty with a filter and a page. */
  Connection webFlux(WebFilter filter) throws IOException {
    DisposableServer server =
        HttpServer.create()
            .host("127.0.0.1")
            .port(0)
            .handle(
                new ReactorHttpHandlerAdapter(
                    RouterFunctions.toHttpHandler(
                        RouterFunctions.route(
                            RequestPredicates.GET("/page"),
                            request -> ServerResponse.ok().bodyValue(Connection.BODY)),
                        HandlerStrategies.builder().webFilter(filter).build())))
            .bindNow();
    open.push(server::disposeNow);
    return connected(server.port());
  }

  private Connection connected(int port) throws IOException {
    Connection connection = new Connection(port);
    open.push(connection);
    return connection;
  }

  @Override
  public void close() throws Exception {
    while (!open.isEmpty()) {
      open.pop().close();
    }
  }

  /** A servlet that responds with the result of a function. */
  private static final class Page extends HttpServlet {

    private static final long serialVersionUID = 1;

    private final transient UnaryOperator<String> page;

    Page(UnaryOperator<String> page) {
      this.page = page;
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
        throws IOException {
      response.setContentType("text/plain");
      response.getWriter().write(page.apply(request.getHeader("X-Api-Key")));
    }
  }
}
