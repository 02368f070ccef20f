// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import java.util.stream.Stream;

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

  /** All of them, or the one that {@code -Dsluice.container} names. */
  static Stream<Container> tested() {
    String one = System.getProperty("sluice.container");
    return Stream.of(values()).filter(container -> one == null || container.name().equals(one));
  }

  /** A new one, not yet started. */
  abstract WebServer server();
}
