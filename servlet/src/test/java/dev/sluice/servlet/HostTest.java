// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import dev.sluice.testkit.web.FilterSetup;
import dev.sluice.testkit.web.FilteredSite;
import dev.sluice.testkit.web.HostContract;
import dev.sluice.web.Rule;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.web.filter.ForwardedHeaderFilter;

/** The contract of hosts in each container, behind Spring's filter for forwarded hosts. */
@ParameterizedClass
@MethodSource("dev.sluice.servlet.Container#tested")
class HostTest extends HostContract {

  private final Container container;

  HostTest(Container container) {
    this.container = container;
  }

  @Override
  protected FilteredSite start(FilterSetup setup) throws Exception {
    return container
        .server()
        .servlet("/other", Pages.status())
        .filter(new ForwardedHeaderFilter())
        .filter(RateLimitFilter.builder(setup.limiter()), setup.rules().toArray(Rule[]::new))
        .start();
  }
}
