// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import java.util.concurrent.CompletionStage;

/**
 * The servers of a store: maps each key to the queue of its server. Thread-safe; only {@link
 * #close} can block.
 */
public interface Topology extends AutoCloseable {

  /** Returns the queue of a key; all keys of a script call share one queue. */
  RequestQueue queueOf(byte[] key);

  /** Pings every server. The stage fails if one of the servers does not respond. */
  CompletionStage<Void> ping();

  /**
   * Connects to every server and runs the script on each server once. The stage fails if one of the
   * servers fails.
   */
  CompletionStage<?> probe();

  @Override
  void close();
}
