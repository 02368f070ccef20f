// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.concurrent.CompletionStage;

/**
 * A connection to a server that knows the script of {@link ChargeScript}, or can be told it. The
 * client library has one, the simulator another. Thread-safe; no method blocks.
 */
interface Connection {

  /** Returns whether a call may be sent; a connection that broke may say so a moment too late. */
  boolean isOpen();

  /**
   * Prepares a call of the script.
   *
   * @param whole whether the text of the script is sent, and not only its digest
   * @param keys all on one server
   */
  Exchange exchange(boolean whole, byte[][] keys, byte[] argument);

  /** Asks the server whether it is there. */
  CompletionStage<String> ping();

  /** Closes the connection; what is outstanding on it fails. */
  @CanIgnoreReturnValue
  CompletionStage<Void> closeAsync();
}
