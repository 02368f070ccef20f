// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import dev.sluice.server.net.Traffic;
import dev.sluice.server.stats.RateHistory;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.function.Supplier;

/**
 * Where the figures of {@code GET /v1/stats} come from. Thread-safe as its parts are.
 *
 * @param history the decisions of the last minute
 * @param meters those of the store's breakers
 * @param traffic all connections
 * @param doors where the server listens; asked for each answer
 * @param store what the limiter decides by
 * @param storeName {@code memory}, or the store's address without password; its scheme alone where
 *     everybody may read it
 * @param ready throws if the server cannot decide now; may block
 */
public record ServerState(
    RateHistory history,
    MeterRegistry meters,
    Traffic traffic,
    Supplier<List<OpenDoor>> doors,
    BucketStore store,
    String storeName,
    Runnable ready) {

  /**
   * A way in.
   *
   * @param protocol {@code http}, {@code redis} or {@code grpc}
   * @param address host and port
   */
  public record OpenDoor(String protocol, String address) {}
}
