// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServerBuilder;
import java.util.function.UnaryOperator;

/**
 * Something that answers on the server's port, or lives as long as the server does.
 *
 * <p>A part that has something to start and stop adds a server listener; one that only answers adds
 * routes. Parts don't know each other.
 */
@FunctionalInterface
public interface Part {

  /**
   * Adds the part to a server that is being built. Must not block.
   *
   * @param server takes routes and listeners
   */
  void addTo(ServerBuilder server);

  /**
   * Adds what a request meets after the server's own checks, and before its body is read. Must not
   * block.
   *
   * @param decorators takes them
   */
  default void addLast(Decorators decorators) {}

  /**
   * Adds what a request meets first, before the server's own checks and bounds: how a part's
   * protocol tells what the server refuses. Must not block.
   *
   * @param decorators takes them
   */
  default void addFirst(Decorators decorators) {}

  /*
   * The library takes decorators one by one, each with a route of its own, and looks for those that a
   * request matches each time. All of ours match every request; so the library is given one.
   */

  /** The decorators that every request passes on its way to its service. Built for one server. */
  final class Decorators {

    private UnaryOperator<HttpService> all = service -> service;

    Decorators() {}

    /**
     * Adds what a request meets before all that was added earlier.
     *
     * @param next asks the service, or answers in its place
     */
    public void add(DecoratingHttpServiceFunction next) {
      UnaryOperator<HttpService> inner = all;
      all = service -> inner.apply(service).decorate(next);
    }

    /** Returns a service behind all that was added. */
    HttpService decorate(HttpService service) {
      return all.apply(service);
    }
  }
}
