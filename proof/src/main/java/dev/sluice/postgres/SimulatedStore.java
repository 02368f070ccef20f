// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.remote.RemoteStore;
import dev.sluice.remote.Timing;

/** Opens a store of this package in a simulator. */
public final class SimulatedStore {

  private SimulatedStore() {}

  /** Opens a store whose time and threads are simulated. */
  public static RemoteStore open(PostgresStoreBuilder builder, Timing timing) {
    return builder.open(timing);
  }
}
