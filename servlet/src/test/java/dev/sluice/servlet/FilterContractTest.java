// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import dev.sluice.testkit.web.FilterContract;
import dev.sluice.testkit.web.FilterSetup;
import dev.sluice.testkit.web.FilteredSite;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import java.security.Principal;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** The contract of filters, in each container. */
@ParameterizedClass
@MethodSource("dev.sluice.servlet.Container#tested")
class FilterContractTest extends FilterContract {

  private final Container container;

  FilterContractTest(Container container) {
    this.container = container;
  }

  @Override
  protected FilteredSite start(FilterSetup setup) throws Exception {
    RateLimitFilter.Builder filter =
        RateLimitFilter.builder(setup.limiter())
            .clientAddress(setup.clientAddress())
            .headers(setup.headers());
    setup.rules().forEach(filter::rule);
    return container
        .server()
        .servlet("/", Pages.status())
        .servlet("/crash", Pages.crash())
        .filter(authentication())
        .filter(filter.build())
        .start();
  }

  private static Filter authentication() {
    return (request, response, chain) ->
        chain.doFilter(
            new HttpServletRequestWrapper((HttpServletRequest) request) {
              @Override
              public Principal getUserPrincipal() {
                String user = getHeader("X-Test-User");
                return user == null ? null : () -> user;
              }
            },
            response);
  }
}
