// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.limit.Limits;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * Receives the outcome of each refresh, for metrics. The refresher itself also logs problems.
 *
 * <p>The refresher calls a listener after it has replaced or kept the current limits, and holds no
 * lock during the call. Threads that call {@link OverridesRefresher#refreshNow} also call the
 * listener, so calls can overlap.
 */
public interface RefreshListener {

  /**
   * Called when the table was read and its overrides are in force.
   *
   * @param at when the table was read
   * @param limits the current limits
   * @param bad the invalid rows, which are ignored
   */
  default void refreshed(Instant at, Limits limits, List<BadRow> bad) {}

  /**
   * Called when the table has no valid override and the previous overrides stay in force.
   *
   * @param at when the table was read
   * @param bad the invalid rows, which are ignored
   */
  default void empty(Instant at, List<BadRow> bad) {}

  /**
   * Called when the table could not be read, or the limits with its overrides were refused, and the
   * previous overrides stay in force.
   *
   * @param at when the read failed
   * @param failure the database's error, or an exception whose cause says why the limits were
   *     refused
   * @param retryIn the time until the next read
   */
  default void failed(Instant at, SQLException failure, Duration retryIn) {}
}
