// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import java.io.IOException;
import java.time.Duration;

/**
 * Thrown if the wait of a request would be too long, or if too many requests wait already. The
 * request was not sent.
 */
public final class RefusedRequestException extends IOException {

  private static final long serialVersionUID = 1;

  private final Duration retryIn;

  RefusedRequestException(String message, Duration retryIn) {
    super(message);
    this.retryIn = retryIn;
  }

  /**
   * Returns how long the request would have had to wait before it could be sent.
   *
   * @return a positive duration
   */
  public Duration retryIn() {
    return retryIn;
  }
}
