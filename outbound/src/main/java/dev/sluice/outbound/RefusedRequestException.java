// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import java.io.IOException;
import java.time.Duration;

/** Thrown if a request would have to wait for too long; the request was not sent. */
public final class RefusedRequestException extends IOException {

  private static final long serialVersionUID = 1;

  private final Duration retryIn;

  RefusedRequestException(String id, Duration retryIn, Duration maxWait) {
    super(
        "no request to %s may leave for %s, which is longer than the longest wait (%s)"
            .formatted(id, retryIn, maxWait));
    this.retryIn = retryIn;
  }

  /**
   * Returns the wait that would have been needed.
   *
   * @return a positive duration
   */
  public Duration retryIn() {
    return retryIn;
  }
}
