// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServerBuilder;
import java.util.function.UnaryOperator;

/**
 * A component of a server, such as a group of routes or a background task. A part can add routes,
 * and listeners for the server's start and stop. The parts of a server do not depend on each other.
 */
@FunctionalInterface
public interface Part {

  /** Adds the part to a server that is being built. Must not block. */
  void addTo(ServerBuilder server);

  /**
   * Adds request decorators that run after the server's own checks, and before the server reads the
   * body of the request. Must not block.
   */
  default void addLast(Decorators decorators) {}

  /**
   * Adds request decorators that run before the server's own checks. For example, a decorator can
   * convert the server's refusals to the part's protocol. Must not block.
   */
  default void addFirst(Decorators decorators) {}

  /*
   * Armeria gives each decorator a route of its own, and matches all routes for each request. All
   * decorators of this server apply to every request, so this class combines them to a single
   * decorator.
   */

  /** The request decorators of one server. Every request passes through all decorators. */
  final class Decorators {

    private UnaryOperator<HttpService> all = service -> service;

    Decorators() {}

    /**
     * Adds a decorator, which runs before all decorators that were added earlier. A decorator
     * passes the request on to the next service, or answers the request itself.
     */
    public void add(DecoratingHttpServiceFunction next) {
      UnaryOperator<HttpService> inner = all;
      all = service -> inner.apply(service).decorate(next);
    }

    HttpService decorate(HttpService service) {
      return all.apply(service);
    }
  }
}
