// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Decision.DeniedException;
import dev.sluice.store.StoreException;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.QuotaFailedException;
import dev.sluice.web.RefusalHook;
import dev.sluice.webflux.RateLimitWebFilter;
import org.springframework.core.annotation.Order;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebExceptionHandler;
import reactor.core.publisher.Mono;

/**
 * Responds to a denial in the same way as the filter. For controllers, this class is an advice that
 * runs before all advices without an order, since an advice without an order can handle every
 * exception. For routes and filters, this class is an exception handler that runs before Spring
 * Boot's handler (order -1).
 */
@ControllerAdvice
@Order(-2)
class ReactiveRateLimitAdvice implements WebExceptionHandler {

  private final HeaderProfile profile;
  private final RefusalHook hook;

  ReactiveRateLimitAdvice(HeaderProfile profile, RefusalHook hook) {
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
  Mono<Void> refuse(RuntimeException failure, ServerWebExchange exchange) {
    return exchange.getResponse().isCommitted()
        ? Mono.error(failure) // the server logs the failure, and breaks off the response
        : RateLimitWebFilter.refuse(
            exchange,
            RateLimitedException.refusal(
                failure, profile, RateLimitWebFilter.webRequest(exchange), hook));
  }

  @Override
  public Mono<Void> handle(ServerWebExchange exchange, Throwable failure) {
    return failure instanceof RateLimitedException
            || failure instanceof DeniedException
            || failure instanceof UnusableIdException
            || failure instanceof QuotaFailedException
            || failure instanceof StoreException
        ? refuse((RuntimeException) failure, exchange)
        : Mono.error(failure);
  }
}
