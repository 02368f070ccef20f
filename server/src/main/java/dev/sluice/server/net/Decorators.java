// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import java.util.function.UnaryOperator;

/*
 * The library takes decorators one by one, each with a route of its own, and looks for those that a
 * request matches each time. All of ours match every request; so the library is given one.
 */

/** The decorators that every request passes on its way to its service. Built for one server. */
public final class Decorators {

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
