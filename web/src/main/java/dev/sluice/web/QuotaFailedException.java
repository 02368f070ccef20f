// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.limit.LimitName;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if the application could not supply the quota of a request or a call. The request is
 * refused; a filter responds with a 500.
 */
public final class QuotaFailedException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final transient LimitName limit;

  /**
   * Makes an exception.
   *
   * @param limit the limit
   * @param reason the reason, for the log
   * @param cause the application's exception; null if there is none
   */
  public QuotaFailedException(LimitName limit, String reason, @Nullable Throwable cause) {
    super("the application supplied no quota for %s: %s".formatted(limit, reason), cause);
    this.limit = limit;
  }

  /**
   * Returns the limit.
   *
   * @return the limit's name
   */
  public LimitName limit() {
    return limit;
  }
}
