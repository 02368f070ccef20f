// SPDX-License-Identifier: Apache-2.0
package login;

import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.time.Duration;
import org.springframework.stereotype.Component;
import org.springframework.web.filter.OncePerRequestFilter;

@Component
class RateLimitFilter extends OncePerRequestFilter {

  private static final Duration PERIOD = Duration.ofMinutes(1);

  private final RateLimiterRegistry limiters =
      RateLimiterRegistry.of(
          RateLimiterConfig.custom()
              .limitForPeriod(5)
              .limitRefreshPeriod(PERIOD)
              .timeoutDuration(Duration.ZERO)
              .build());

  @Override
  protected boolean shouldNotFilter(HttpServletRequest request) {
    return !request.getMethod().equals("POST") || !request.getServletPath().equals("/login");
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    if (limiters.rateLimiter(request.getRemoteAddr()).acquirePermission()) {
      chain.doFilter(request, response);
    } else {
      // Resilience4j does not say how long a denied caller must wait: a whole period is enough.
      response.setHeader("Retry-After", Long.toString(PERIOD.toSeconds()));
      response.setStatus(429);
    }
  }
}
