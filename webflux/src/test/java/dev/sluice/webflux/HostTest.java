// SPDX-License-Identifier: Apache-2.0
package dev.sluice.webflux;

import static org.springframework.web.reactive.function.server.RequestPredicates.all;

import dev.sluice.testkit.web.FilterSetup;
import dev.sluice.testkit.web.FilteredSite;
import dev.sluice.testkit.web.HostContract;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.IntSupplier;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.http2.Http2Protocol;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.http.server.reactive.HttpHandler;
import org.springframework.http.server.reactive.JettyCoreHttpHandlerAdapter;
import org.springframework.http.server.reactive.TomcatHttpHandlerAdapter;
import org.springframework.util.FileSystemUtils;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;

/** The contract of hosts, on each server on which WebFlux runs. */
@ParameterizedClass
@EnumSource
class HostTest extends HostContract {

  private final Kind kind;

  HostTest(Kind kind) {
    this.kind = kind;
  }

  @Override
  protected FilteredSite start(FilterSetup setup) throws Exception {
    return kind.start(setup);
  }

  private enum Kind {
    NETTY {
      @Override
      FilteredSite start(FilterSetup setup) {
        return NettySite.start(setup, routes());
      }
    },
    JETTY {
      @Override
      FilteredSite start(FilterSetup setup) throws Exception {
        Server server = new Server();
        ServerConnector connector =
            new ServerConnector(server, new HTTP2CServerConnectionFactory(new HttpConfiguration()));
        connector.setHost("127.0.0.1");
        server.addConnector(connector);
        server.setHandler(new JettyCoreHttpHandlerAdapter(handler(setup)));
        server.start();
        return new Site(connector::getLocalPort, server::stop);
      }
    },
    TOMCAT {
      @Override
      FilteredSite start(FilterSetup setup) throws Exception {
        Path folder = Files.createTempDirectory("tomcat-");
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(folder.toString());
        Connector connector = new Connector();
        connector.setPort(0);
        var unused = connector.setProperty("address", "127.0.0.1");
        connector.addUpgradeProtocol(new Http2Protocol());
        tomcat.setConnector(connector);
        Context context = tomcat.addContext("", folder.toString());
        Tomcat.addServlet(context, "app", new TomcatHttpHandlerAdapter(handler(setup)))
            .setAsyncSupported(true);
        context.addServletMappingDecoded("/", "app");
        tomcat.start();
        return new Site(
            connector::getLocalPort,
            () -> {
              tomcat.stop();
              tomcat.destroy();
              FileSystemUtils.deleteRecursively(folder);
            });
      }
    };

    abstract FilteredSite start(FilterSetup setup) throws Exception;

    private static HttpHandler handler(FilterSetup setup) {
      return NettySite.handler(setup, routes());
    }

    private static RouterFunction<ServerResponse> routes() {
      return RouterFunctions.route(all(), request -> ServerResponse.ok().build());
    }
  }

  private interface Stop {
    void stop() throws Exception;
  }

  private record Site(IntSupplier itsPort, Stop stop) implements FilteredSite {
    @Override
    public int port() {
      return itsPort.getAsInt();
    }

    @Override
    public String prefix() {
      return "";
    }

    @Override
    public void close() throws Exception {
      stop.stop();
    }
  }
}
