// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.web.FilterSetup;
import dev.sluice.testkit.web.FilteredSite;
import dev.sluice.testkit.web.HostContract;
import dev.sluice.web.RequestWord;
import dev.sluice.web.Rule;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
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

  /** Some adapters of serverless platforms make such requests. */
  @Test
  void hostOfARequestWithoutProtocol_isItsHostHeader() throws Exception {
    Limiter limiter = Limiters.on(new ManualTime());
    Rule eachHost = Rule.on("/**").limit("PerKey", RequestWord.parse("host")).build();
    try (WebServer web =
        container
            .server()
            .servlet("/other", Pages.status())
            .filter(withoutProtocol())
            .filter(RateLimitFilter.builder(limiter), eachHost)
            .start()) {
      assertThat(web.get("/other").statusCode()).isEqualTo(200);
      assertThat(Limiters.remaining(limiter, "PerKey", "127.0.0.1")).isEqualTo(1);
    }
  }

  private static Filter withoutProtocol() {
    return (request, response, chain) ->
        chain.doFilter(
            new HttpServletRequestWrapper((HttpServletRequest) request) {
              @Override
              public @Nullable String getProtocol() {
                return null;
              }
            },
            response);
  }
}
