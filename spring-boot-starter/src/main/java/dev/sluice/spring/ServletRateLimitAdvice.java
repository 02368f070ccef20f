// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Decision.DeniedException;
import dev.sluice.servlet.RateLimitFilter;
import dev.sluice.store.StoreException;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.QuotaFailedException;
import dev.sluice.web.RefusalHook;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.core.annotation.Order;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;

/**
 * Responds to a denial in the same way as the filter. This advice runs before all advices without
 * an order, since such an advice can handle every exception. To replace this class, write an advice
 * with a negative order.
 */
@ControllerAdvice
@Order(0)
class ServletRateLimitAdvice {

  private final HeaderProfile profile;
  private final RefusalHook hook;

  ServletRateLimitAdvice(HeaderProfile profile, RefusalHook hook) {
    this.profile = profile;
    this.hook = hook.guarded();
  }

  @ExceptionHandler({
    RateLimitedException.class,
    DeniedException.class,
    UnusableIdException.class,
    QuotaFailedException.class,
    StoreException.class
  })
  void refuse(RuntimeException failure, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    if (response.isCommitted()) {
      throw failure; // the container logs the failure, and breaks off the response
    }
    RateLimitFilter.refuse(
        response,
        RateLimitedException.refusal(failure, profile, RateLimitFilter.webRequest(request), hook));
  }
}
