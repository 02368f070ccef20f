// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.StoreUri.Host;
import java.util.concurrent.CompletionStage;

/** Makes the connections of one store. Thread-safe; no method blocks but {@link #close}. */
interface Connector {

  /** Connects to a server. */
  CompletionStage<? extends Connection> connect(Host server);

  /**
   * Asks a Sentinel for the address of the master. Fails if that Sentinel does not answer; the next
   * call asks another one.
   */
  CompletionStage<Host> askForMaster();

  /** Looks at the Cluster's map, and connects. */
  CompletionStage<? extends ClusterConnection> connectToCluster();

  /** Refreshes the Cluster's map. */
  CompletionStage<?> refreshCluster();

  /** Closes all connections, in bounded time. */
  void close();
}
