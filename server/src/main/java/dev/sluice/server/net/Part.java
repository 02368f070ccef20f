// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServerBuilder;
import java.util.function.UnaryOperator;

/**
 * A component of a server, such as a group of routes or a background task.
 *
 * <p>A part adds routes to answer requests, and a server listener to be started and stopped. Parts
 * are independent of each other.
 */
@FunctionalInterface
public interface Part {

  /** Adds the part to a server that is being built. Must not block. */
  void addTo(ServerBuilder server);

  /**
   * Adds decorators that run after the server's own checks, before the body of a request is read.
   * Must not block.
   */
  default void addLast(Decorators decorators) {}

  /**
   * Adds decorators that run before the server's own checks and bounds, for example to answer
   * refusals in the part's protocol. Must not block.
   */
  default void addFirst(Decorators decorators) {}

  /*
   * The library gives each decorator a route of its own, and matches all routes for each request.
   * All decorators of this server match every request, so the library gets a single decorator.
   */

  /** Collects the decorators of one server, through which every request reaches its service. */
  final class Decorators {

    private UnaryOperator<HttpService> all = service -> service;

    Decorators() {}

    /**
     * Adds a decorator, which runs before the decorators that were added earlier. The decorator
     * calls the next service, or answers in its place.
     */
    public void add(DecoratingHttpServiceFunction next) {
      UnaryOperator<HttpService> inner = all;
      all = service -> inner.apply(service).decorate(next);
    }

    /** Returns a service with all decorators. */
    HttpService decorate(HttpService service) {
      return all.apply(service);
    }
  }
}
