// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Limits;
import java.time.Duration;
import java.util.Map;

/**
 * How long a reservation over the wire may last at most, for the limits whose default says so
 * ({@code longestReservation}). A companion of the limits, as core has no reservations that outlive
 * a process. Immutable and thread-safe.
 *
 * @param byLimit the durations, by the names of the limits
 */
public record LongestReservations(Map<String, Duration> byLimit) {

  /** The bound of a limit that declares none, and the shortest that one may declare. */
  public static final Duration USUAL = Duration.ofMinutes(10);

  /** The longest that a limit may declare. */
  public static final Duration MOST = Duration.ofHours(24);

  /**
   * Makes the durations.
   *
   * @param byLimit copied
   */
  public LongestReservations {
    byLimit = Map.copyOf(byLimit);
  }

  /**
   * Returns how long a reservation of a limit may last.
   *
   * @param limits the limits in force
   * @param limit the limit's name
   * @return what the limit declares, {@link #USUAL} if it declares nothing
   */
  public static Duration of(Limits limits, String limit) {
    LongestReservations declared = limits.companion(LongestReservations.class);
    return declared == null ? USUAL : declared.byLimit.getOrDefault(limit, USUAL);
  }
}
