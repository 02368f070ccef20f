// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import java.util.EnumSet;
import org.eclipse.jetty.ee10.servlet.DefaultServlet;
import org.eclipse.jetty.ee10.servlet.ErrorPageErrorHandler;
import org.eclipse.jetty.ee10.servlet.FilterHolder;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;

/** A Jetty with HTTP/1.1 and HTTP/2 on one port. */
final class JettyServer extends WebServer {

  private final Server server = new Server();
  private final HttpConfiguration http = new HttpConfiguration();
  private final ServerConnector connector =
      new ServerConnector(
          server, new HttpConnectionFactory(http), new HTTP2CServerConnectionFactory(http));
  private final ServletContextHandler context = new ServletContextHandler(CONTEXT);
  private final ErrorPageErrorHandler errors = new NoPageOfJetty();

  JettyServer() {
    connector.setHost("127.0.0.1");
    server.addConnector(connector);
    context.setErrorHandler(errors);
    server.setHandler(context);
  }

  @Override
  @CanIgnoreReturnValue
  WebServer filter(Filter filter) {
    FilterHolder holder = new FilterHolder(filter);
    holder.setAsyncSupported(true);
    context.addFilter(holder, "/*", EnumSet.allOf(DispatcherType.class));
    return this;
  }

  @Override
  @CanIgnoreReturnValue
  WebServer servlet(String path, HttpServlet servlet) {
    ServletHolder holder = new ServletHolder(servlet);
    holder.setAsyncSupported(true);
    context.addServlet(holder, path);
    return this;
  }

  @Override
  @CanIgnoreReturnValue
  WebServer errorPage(int status, String path) {
    errors.addErrorPage(status, path);
    return this;
  }

  @Override
  @CanIgnoreReturnValue
  WebServer welcome(String file) {
    context.setBaseResourceAsString(emptyFolder().toString());
    context.setWelcomeFiles(new String[] {file});
    ServletHolder files = new ServletHolder(new DefaultServlet());
    files.setInitParameter("welcomeServlets", "true");
    context.addServlet(files, "/");
    return this;
  }

  @Override
  @CanIgnoreReturnValue
  WebServer lenient() {
    http.setUriCompliance(UriCompliance.UNSAFE);
    context.getServletHandler().setDecodeAmbiguousURIs(true);
    return this;
  }

  @Override
  @CanIgnoreReturnValue
  WebServer start() throws Exception {
    server.start();
    return this;
  }

  @Override
  public int port() {
    return connector.getLocalPort();
  }

  @Override
  public void close() throws Exception {
    server.stop();
  }

  /**
   * Answers an error with its status alone, unless a test has set a page for it.
   *
   * <p>Jetty 12.1 writes its own page for an error, and at once a second time, to end the response
   * (ErrorHandler.generateAcceptableResponse of ee10). If another thread still sends the first
   * write, the second write fails with a WritePendingException, and Jetty resets the HTTP/2 stream.
   */
  private static final class NoPageOfJetty extends ErrorPageErrorHandler {
    @Override
    protected void generateResponse(
        Request request,
        Response response,
        int code,
        String message,
        Throwable cause,
        Callback callback) {}
  }
}
