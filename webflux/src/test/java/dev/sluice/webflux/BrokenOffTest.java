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
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;

/** The contract of clients that break off, on Reactor Netty. */
@Tag("slow")
@ParameterizedClass
@CsvSource({"HTTP_1_1, true", "HTTP_1_1, false", "HTTP_2, true", "HTTP_2, false"})
class BrokenOffTest extends BrokenOffContract {

  private final boolean isNative;

  /** Starts Netty with its native transport, or with Java's own sockets, as on other platforms. */
  BrokenOffTest(FilterProtocol protocol, boolean isNative) {
    super(protocol);
    this.isNative = isNative;
  }

  @Override
  protected FilteredSite start(FilterSetup setup, HeldRequests requests) {
    return NettySite.start(
        isNative,
        NettySite.handler(
            setup,
            RouterFunctions.route(
                    path("/check").or(path("/attack")), request -> HeldWork.on(request, requests))
                .andRoute(all(), request -> ServerResponse.ok().build())));
  }
}
