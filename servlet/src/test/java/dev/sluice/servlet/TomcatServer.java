// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.apache.catalina.Context;
import org.apache.catalina.LifecycleState;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.servlets.DefaultServlet;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.http2.Http2Protocol;
import org.apache.tomcat.util.IntrospectionUtils;
import org.apache.tomcat.util.descriptor.web.ErrorPage;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;

/** A Tomcat with HTTP/1.1 and HTTP/2 on one port. */
final class TomcatServer extends WebServer {

  /*
   * A connection that breaks in another thread, while the thread that brought the request is still
   * inside, is closed by that one: Tomcat then tells nobody of the end of the asynchronous request.
   * So a test must know when that thread has left, which no filter and no valve sees.
   */
  private static final class Threads extends ThreadPoolExecutor {

    private static final ThreadLocal<List<Runnable>> AFTERWARDS =
        ThreadLocal.withInitial(ArrayList::new);

    Threads() {
      super(0, 200, 10, TimeUnit.SECONDS, new SynchronousQueue<>());
    }

    @Override
    protected void afterExecute(Runnable task, Throwable failure) {
      List<Runnable> afterwards = List.copyOf(AFTERWARDS.get());
      AFTERWARDS.remove();
      afterwards.forEach(Runnable::run);
    }
  }

  /** Held on to, as a logger that is forgotten forgets its level. */
  private static final Logger LOG = Logger.getLogger("org.apache");

  static {
    LOG.setLevel(Level.OFF); // the tests break servlets on purpose, and see what comes of it
  }

  private final Tomcat tomcat = new Tomcat();
  private final Connector connector = new Connector();
  private final Threads threads = new Threads();
  private final Path folder;
  private final Context context;
  private int names;

  TomcatServer() {
    try {
      folder = Files.createTempDirectory("tomcat-");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    tomcat.setBaseDir(folder.toString());
    connector.setPort(0);
    var unused = connector.setProperty("address", "127.0.0.1");
    Http2Protocol http2 = new Http2Protocol();
    // By default it reuses what belongs to a stream that was reset, although the application still
    // works on it, and then loses requests. Tomcat 10.0 has no such setting.
    unused = IntrospectionUtils.setProperty(http2, "discardRequestsAndResponses", "true");
    connector.addUpgradeProtocol(http2);
    connector.getProtocolHandler().setExecutor(threads);
    tomcat.setConnector(connector);
    context = tomcat.addContext(CONTEXT, folder.toString());
  }

  @Override
  @CanIgnoreReturnValue
  WebServer filter(Filter filter) {
    FilterDef definition = new FilterDef();
    definition.setFilterName(newName());
    definition.setFilter(filter);
    definition.setAsyncSupported("true");
    context.addFilterDef(definition);
    FilterMap map = new FilterMap();
    map.setFilterName(definition.getFilterName());
    map.addURLPattern("/*");
    for (DispatcherType type : DispatcherType.values()) {
      map.setDispatcher(type.name());
    }
    context.addFilterMap(map);
    return this;
  }

  @Override
  @CanIgnoreReturnValue
  WebServer servlet(String path, HttpServlet servlet) {
    String name = newName();
    Tomcat.addServlet(context, name, servlet).setAsyncSupported(true);
    context.addServletMappingDecoded(path, name);
    return this;
  }

  private String newName() {
    return "part-" + names++;
  }

  @Override
  @CanIgnoreReturnValue
  WebServer errorPage(int status, String path) {
    ErrorPage page = new ErrorPage();
    page.setErrorCode(status);
    page.setLocation(path);
    context.addErrorPage(page);
    return this;
  }

  @Override
  @CanIgnoreReturnValue
  WebServer welcome(String file) {
    context.addWelcomeFile(file);
    return servlet("/", new DefaultServlet());
  }

  @Override
  @CanIgnoreReturnValue
  WebServer lenient() {
    connector.setEncodedSolidusHandling("decode");
    connector.setAllowBackslash(true);
    var unused = connector.setProperty("relaxedPathChars", "\\\"<>[]^`{|}");
    unused = connector.setProperty("encodedReverseSolidusHandling", "decode");
    return this;
  }

  @Override
  @CanIgnoreReturnValue
  WebServer start() throws Exception {
    tomcat.start();
    return this;
  }

  @Override
  void whenThreadHasLeft(Runnable then) {
    Threads.AFTERWARDS.get().add(then);
  }

  @Override
  public int port() {
    return connector.getLocalPort();
  }

  @Override
  public void close() throws Exception {
    if (tomcat.getServer().getState() == LifecycleState.DESTROYED) {
      return;
    }
    tomcat.stop();
    tomcat.destroy();
    threads.shutdown();
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    }
  }
}
