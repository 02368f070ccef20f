// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import dev.sluice.testkit.web.BrokenOffContract;
import dev.sluice.testkit.web.FilterProtocol;
import dev.sluice.testkit.web.FilterSetup;
import dev.sluice.testkit.web.FilteredSite;
import dev.sluice.testkit.web.HeldRequests;
import dev.sluice.web.Rule;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The contract of clients that break off, in each container. */
@Tag("slow")
@ParameterizedClass
@MethodSource("containersAndProtocols")
class BrokenOffTest extends BrokenOffContract {

  private final Container container;

  BrokenOffTest(Container container, FilterProtocol protocol) {
    super(protocol);
    this.container = container;
  }

  /** Not Undertow: how it reports a client that breaks off has not been looked into. */
  static Stream<Arguments> containersAndProtocols() {
    return EndingsTest.containersAndProtocols()
        .filter(arguments -> arguments.get()[0] != Container.UNDERTOW);
  }

  @Override
  protected FilteredSite start(FilterSetup setup, HeldRequests requests) throws Exception {
    WebServer web = container.server();
    Filter outermost =
        (request, response, chain) -> {
          try {
            chain.doFilter(request, response);
          } finally {
            if (HeldPages.PATHS.contains(((HttpServletRequest) request).getServletPath())) {
              web.whenThreadHasLeft(requests::left);
            }
          }
        };
    HeldPages pages = new HeldPages(requests);
    web.servlet("/other", Pages.status());
    HeldPages.PATHS.forEach(path -> web.servlet(path, pages));
    return web.filter(outermost)
        .filter(RateLimitFilter.builder(setup.limiter()), setup.rules().toArray(Rule[]::new))
        .start();
  }
}
