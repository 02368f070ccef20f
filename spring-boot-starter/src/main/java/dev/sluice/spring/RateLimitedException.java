// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Decision;

/**
 * Thrown when a limit denies a call of a {@link RateLimited} method. Spring MVC and WebFlux answer
 * it as the filter does: with a 429 and its headers, or a 503 where a failure rule denied in place
 * of the store.
 */
public final class RateLimitedException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final transient Decision decision;

  RateLimitedException(Decision decision) {
    super(decision.message(), null, false, false);
    this.decision = decision;
  }

  /**
   * Returns the denial.
   *
   * @return the strictest decision, with how long to wait
   */
  public Decision decision() {
    return decision;
  }
}
