// SPDX-License-Identifier: Apache-2.0
package dev.sluice.webflux;

import static org.springframework.web.reactive.function.server.RequestPredicates.all;
import static org.springframework.web.reactive.function.server.RequestPredicates.path;

import dev.sluice.testkit.web.FilterContract;
import dev.sluice.testkit.web.FilterSetup;
import dev.sluice.testkit.web.FilteredSite;
import java.security.Principal;
import java.util.Optional;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;

/** The contract of filters, on Reactor Netty. */
class FilterContractTest extends FilterContract {

  @Override
  protected FilteredSite start(FilterSetup setup) {
    return NettySite.start(setup, routes(), authentication());
  }

  private static RouterFunction<ServerResponse> routes() {
    return RouterFunctions.route(
            path("/crash"),
            request -> Mono.error(new IllegalStateException("crashed, as the test wants")))
        .andRoute(all(), FilterContractTest::page);
  }

  private static Mono<ServerResponse> page(ServerRequest request) {
    Optional<String> asked = request.queryParam("status");
    Mono<String> status =
        asked
            .map(Mono::just)
            .orElseGet(
                () ->
                    request
                        .formData()
                        .mapNotNull(form -> form.getFirst("status"))
                        .defaultIfEmpty("200"));
    return status.flatMap(
        value -> ServerResponse.status(Integer.parseInt(value)).bodyValue("page"));
  }

  private static WebFilter authentication() {
    return (exchange, chain) -> {
      String user = exchange.getRequest().getHeaders().getFirst("X-Test-User");
      Mono<Principal> principal = user == null ? Mono.empty() : Mono.just(() -> user);
      return chain.filter(exchange.mutate().principal(principal).build());
    };
  }
}
