// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A connection that runs the script of {@link ChargeScript}; Lettuce has one implementation, the
 * simulator another. Thread-safe; no method blocks.
 */
interface Connection {

  /** Returns whether a call may be sent; may still be true just after the connection broke. */
  boolean isOpen();

  /**
   * Prepares a call of the script.
   *
   * @param whole whether to send the text of the script instead of its digest
   * @param keys all on one server
   */
  Exchange exchange(boolean whole, byte[][] keys, byte[] argument);

  /** Pings the server. */
  CompletionStage<String> ping();

  /** Runs the script of {@link Roll}. A simulated server has no such list. */
  default CompletionStage<List<String>> announce(byte[] key, String process, Duration time) {
    return CompletableFuture.failedFuture(new UnsupportedOperationException());
  }

  /** Closes the connection; its outstanding calls fail. */
  @CanIgnoreReturnValue
  CompletionStage<Void> closeAsync();
}
