// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.remote.RemoteCall;
import java.util.List;
import java.util.concurrent.CompletionStage;

/** One command and the server's response. Thread-safe; no method blocks. */
interface Exchange extends RemoteCall.Attempt {

  /** Sends the command once. Every failure is reported by {@link #answer}. */
  void send();

  /** Returns the script's result; fails with the server's error or the connection's failure. */
  CompletionStage<List<Object>> answer();

  /**
   * Returns whether a byte of the command may have been sent. Call this method only after the
   * exchange has ended.
   */
  boolean wasSent();
}
