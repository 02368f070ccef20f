// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.remote.RemoteCall;
import java.util.List;
import java.util.concurrent.CompletionStage;

/** One command and its answer. Thread-safe; no method blocks. */
interface Exchange extends RemoteCall.Attempt {

  /** Sends the command, once; whatever goes wrong arrives in {@link #answer}. */
  void send();

  /** Returns what the script answers, or the server's refusal, or the connection's failure. */
  CompletionStage<List<Object>> answer();

  /** Returns, of an exchange that has ended, whether a byte of the command may have left. */
  boolean wasSent();
}
