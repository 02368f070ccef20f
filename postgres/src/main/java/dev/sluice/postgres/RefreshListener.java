// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.limit.Limits;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * Receives the outcome of each refresh, for metrics; the refresher also logs problems itself.
 *
 * <p>Called after the limits were replaced or kept, without a lock of the refresher, on its thread
 * or on one that calls {@link OverridesRefresher#refreshNow}: calls may overlap.
 */
public interface RefreshListener {

  /**
   * Called when the table was read and its overrides are in force.
   *
   * @param at when
   * @param limits the current limits
   * @param bad the rows that were left out
   */
  default void refreshed(Instant at, Limits limits, List<BadRow> bad) {}

  /**
   * Called when the table had no valid override; the previous overrides stay in force.
   *
   * @param at when
   * @param bad the rows that were left out
   */
  default void empty(Instant at, List<BadRow> bad) {}

  /**
   * Called when the table could not be read; the previous overrides stay in force.
   *
   * @param at when
   * @param failure the database's error
   * @param retryIn the time until the next try
   */
  default void failed(Instant at, SQLException failure, Duration retryIn) {}
}
