// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.concurrent.CompletionStage;

/** Where the buckets are: which lane leads to a key. Thread-safe; no method blocks but close. */
interface Topology extends AutoCloseable {

  /** The lane of a key; a script call takes keys of one lane only. */
  Lane laneOf(byte[] key);

  /** Asks every server whether it is there; fails if one is not. */
  CompletionStage<Void> ping();

  /** Connects to every server and runs the script there once; fails if one does not. */
  CompletionStage<?> probe();

  @Override
  void close();
}
