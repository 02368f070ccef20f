// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.StoreUri.Host;
import java.util.concurrent.CompletionStage;

/** A connector that a test makes a part of; the rest must not be asked for. */
abstract class UnusedConnector implements Connector {

  @Override
  public CompletionStage<Host> askForMaster() {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletionStage<? extends ClusterConnection> connectToCluster() {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletionStage<?> refreshCluster() {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {}
}
