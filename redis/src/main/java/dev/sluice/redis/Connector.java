// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.StoreUri.Host;
import java.util.concurrent.CompletionStage;

/** Makes the connections of one store. Thread-safe; only {@link #close} blocks. */
interface Connector {

  CompletionStage<? extends Connection> connect(Host server);

  /**
   * Returns the address of the master according to a Sentinel. Fails if the Sentinel does not
   * respond; the next call asks another Sentinel.
   */
  CompletionStage<Host> askForMaster();

  /** Connects to the Cluster and loads the Cluster's map. */
  CompletionStage<? extends ClusterConnection> connectToCluster();

  CompletionStage<?> refreshCluster();

  /** Closes all connections, in bounded time. */
  void close();
}
