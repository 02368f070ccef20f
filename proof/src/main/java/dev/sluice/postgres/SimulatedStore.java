// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.remote.RemoteStore;
import dev.sluice.remote.Timing;

/**
 * Opens a PostgreSQL store for the simulator. This class calls a package-private method of {@link
 * PostgresStoreBuilder}.
 */
public final class SimulatedStore {

  private SimulatedStore() {}

  /** Opens a store with simulated time and threads. */
  public static RemoteStore open(PostgresStoreBuilder builder, Timing timing) {
    return builder.open(timing);
  }
}
