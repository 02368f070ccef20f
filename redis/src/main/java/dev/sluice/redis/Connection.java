// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A connection that runs the script of {@link ChargeScript}. One implementation uses Lettuce, and
 * the simulator has another implementation. Thread-safe; no method blocks.
 */
interface Connection {

  /**
   * Returns whether a call can be sent. Just after the connection broke, this method can still
   * return true.
   */
  boolean isOpen();

  /**
   * Prepares a call of the script.
   *
   * @param whole whether to send the text of the script instead of its digest
   * @param keys the keys, all on one server
   */
  Exchange exchange(boolean whole, byte[][] keys, byte[] argument);

  CompletionStage<String> ping();

  /** Runs the script of {@link Roll}. The simulator does not implement this method. */
  default CompletionStage<List<String>> announce(byte[] key, String process, Duration time) {
    return CompletableFuture.failedFuture(new UnsupportedOperationException());
  }

  /** Closes the connection. The connection's calls in flight fail. */
  @CanIgnoreReturnValue
  CompletionStage<Void> closeAsync();
}
