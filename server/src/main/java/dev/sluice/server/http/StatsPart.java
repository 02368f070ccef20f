// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.server.ServerBuilder;
import dev.sluice.server.net.Part;
import dev.sluice.server.stats.TopDenied;
import org.jspecify.annotations.Nullable;

/**
 * The figures that the page shows of a running server, for programs too: {@code GET /v1/stats} and
 * {@code GET /v1/admin/top-denied}. Immutable and thread-safe.
 */
public final class StatsPart implements Part {

  private final ServerState state;
  private final @Nullable TopDenied topDenied;

  /**
   * Makes the part.
   *
   * @param state the figures
   * @param topDenied the ids that are denied most, null where they are not kept
   */
  public StatsPart(ServerState state, @Nullable TopDenied topDenied) {
    this.state = state;
    this.topDenied = topDenied;
  }

  @Override
  public void addTo(ServerBuilder server) {
    server
        .service("/v1/stats", new StatsResource(state, topDenied != null))
        .service("/v1/admin/top-denied", new TopDeniedResource(topDenied));
  }
}
