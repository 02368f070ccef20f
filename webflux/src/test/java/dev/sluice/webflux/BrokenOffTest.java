// SPDX-License-Identifier: Apache-2.0
package dev.sluice.webflux;

import static org.springframework.web.reactive.function.server.RequestPredicates.all;
import static org.springframework.web.reactive.function.server.RequestPredicates.path;

import dev.sluice.testkit.web.BrokenOffContract;
import dev.sluice.testkit.web.FilterProtocol;
import dev.sluice.testkit.web.FilterSetup;
import dev.sluice.testkit.web.FilteredSite;
import dev.sluice.testkit.web.HeldRequests;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;

/** The contract of clients that break off, on Reactor Netty. */
@Tag("slow")
@ParameterizedClass
@EnumSource(FilterProtocol.class)
class BrokenOffTest extends BrokenOffContract {

  BrokenOffTest(FilterProtocol protocol) {
    super(protocol);
  }

  @Override
  protected FilteredSite start(FilterSetup setup, HeldRequests requests) {
    return NettySite.start(
        setup,
        RouterFunctions.route(
                path("/check").or(path("/attack")), request -> HeldWork.on(request, requests))
            .andRoute(all(), request -> ServerResponse.ok().build()));
  }
}
