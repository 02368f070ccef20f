// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.limit.Limits;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * Is told how each refresh went, for metrics; the log is written anyway.
 *
 * <p>Called after the limits were replaced or kept, under no lock of the refresher. The thread is
 * that of the refresher or one that calls {@link OverridesRefresher#refreshNow}: calls may overlap.
 */
public interface RefreshListener {

  /**
   * The table was read, and its overrides hold now.
   *
   * @param at when
   * @param limits the limits that hold now
   * @param bad the rows that were left out
   */
  default void refreshed(Instant at, Limits limits, List<BadRow> bad) {}

  /**
   * The table was read and had no valid override; the previous ones stay in force.
   *
   * @param at when
   * @param bad the rows that were left out
   */
  default void empty(Instant at, List<BadRow> bad) {}

  /**
   * The table could not be read; the previous ones stay in force.
   *
   * @param at when
   * @param failure what the database said
   * @param retryIn when it is tried again
   */
  default void failed(Instant at, SQLException failure, Duration retryIn) {}
}
