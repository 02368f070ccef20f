// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.server.handlers.resource.FileResourceManager;
import io.undertow.servlet.Servlets;
import io.undertow.servlet.api.DeploymentInfo;
import io.undertow.servlet.api.DeploymentManager;
import io.undertow.servlet.util.ImmediateInstanceFactory;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import java.net.InetSocketAddress;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** An Undertow with HTTP/1.1 and HTTP/2 on one port. */
final class UndertowServer extends WebServer {

  private final DeploymentInfo application =
      Servlets.deployment()
          .setClassLoader(UndertowServer.class.getClassLoader())
          .setContextPath(CONTEXT)
          .setDeploymentName("app");
  private final Undertow.Builder builder =
      Undertow.builder()
          .addHttpListener(0, "127.0.0.1")
          .setServerOption(UndertowOptions.ENABLE_HTTP2, true);
  private @Nullable DeploymentManager manager;
  private @Nullable Undertow server;
  private int names;

  @Override
  @CanIgnoreReturnValue
  WebServer filter(Filter filter) {
    String name = newName();
    application.addFilter(
        Servlets.filter(name, Filter.class, new ImmediateInstanceFactory<>(filter))
            .setAsyncSupported(true));
    for (DispatcherType type : DispatcherType.values()) {
      application.addFilterUrlMapping(name, "/*", type);
    }
    return this;
  }

  @Override
  @CanIgnoreReturnValue
  WebServer servlet(String path, HttpServlet servlet) {
    application.addServlet(
        Servlets.servlet(newName(), HttpServlet.class, new ImmediateInstanceFactory<>(servlet))
            .setAsyncSupported(true)
            .addMapping(path));
    return this;
  }

  private String newName() {
    return "part-" + names++;
  }

  @Override
  @CanIgnoreReturnValue
  WebServer errorPage(int status, String path) {
    application.addErrorPage(Servlets.errorPage(path, status));
    return this;
  }

  @Override
  @CanIgnoreReturnValue
  WebServer welcome(String file) {
    application.addWelcomePage(file).setResourceManager(new FileResourceManager(emptyFolder()));
    return this;
  }

  @Override
  @CanIgnoreReturnValue
  @SuppressWarnings("deprecation") // still there, and what old configurations have
  WebServer lenient() {
    builder
        .setServerOption(UndertowOptions.ALLOW_ENCODED_SLASH, true)
        .setServerOption(UndertowOptions.ALLOW_UNESCAPED_CHARACTERS_IN_URL, true);
    return this;
  }

  @Override
  @CanIgnoreReturnValue
  WebServer start() throws Exception {
    DeploymentManager deployed = Servlets.newContainer().addDeployment(application);
    deployed.deploy();
    manager = deployed;
    Undertow started =
        builder.setHandler(Handlers.path().addPrefixPath(CONTEXT, deployed.start())).build();
    started.start();
    server = started;
    return this;
  }

  @Override
  public int port() {
    return ((InetSocketAddress)
            Objects.requireNonNull(server).getListenerInfo().get(0).getAddress())
        .getPort();
  }

  @Override
  public void close() throws Exception {
    if (server != null) {
      server.stop();
      server = null;
    }
    if (manager != null) {
      manager.stop();
      manager.undeploy();
      manager = null;
    }
  }
}
