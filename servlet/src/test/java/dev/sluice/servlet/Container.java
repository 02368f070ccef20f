// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

/** The containers that the filter is tested in. */
enum Container {
  JETTY {
    @Override
    WebServer server() {
      return new JettyServer();
    }
  },
  TOMCAT {
    @Override
    WebServer server() {
      return new TomcatServer();
    }
  },
  UNDERTOW {
    @Override
    WebServer server() {
      return new UndertowServer();
    }
  };

  /** A new one, not yet started. */
  abstract WebServer server();
}
