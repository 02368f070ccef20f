// SPDX-License-Identifier: Apache-2.0
package login;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.servlet.RateLimitFilter;
import dev.sluice.store.BucketStore;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.ProxyHeader;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.annotation.WebFilter;
import java.io.IOException;
import java.time.Duration;

@WebFilter(urlPatterns = "/*", asyncSupported = true)
public class RateLimits implements Filter {

  private final RateLimitFilter limits =
      RateLimitFilter.builder(
              Limiter.of(
                  Limits.builder(Catalogue.samples())
                      .limit("LoginsPerIPAddress", Quota.per(5, Duration.ofMinutes(1)))
                      .limit("FailedLoginsPerIPAddress", Quota.per(3, Duration.ofHours(1)))
                      .limit("LoginsPerUserPerIPAddress", Quota.per(1, Duration.ofHours(1)))
                      .build(),
                  BucketStore.inMemory()))
          .clientAddress(ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "127.0.0.1"))
          .rule(
              Rule.on("/login")
                  .methods("POST")
                  .limit("LoginsPerIPAddress", VaryBy.clientAddress())
                  .build())
          .rule(
              Rule.on("/login")
                  .methods("POST")
                  .limit("FailedLoginsPerIPAddress", VaryBy.clientAddress())
                  .countAllBut(200)
                  .build())
          .rule(
              Rule.on("/login")
                  .methods("POST")
                  .limit(
                      "LoginsPerUserPerIPAddress",
                      VaryBy.clientAddress(),
                      VaryBy.queryParameter("user"))
                  .shadow()
                  .build())
          .build();

  @Override
  public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    limits.doFilter(request, response, chain);
  }

  @Override
  public void destroy() {
    limits.destroy();
  }
}
