// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Limits;
import java.time.Duration;
import java.util.Map;

/**
 * How long a reservation that a server hands out may last at most, for the limits that declare it
 * ({@code longestReservation}). It is a companion of the limits, because core has no reservations
 * that outlive a process. Immutable and thread-safe.
 *
 * @param byLimit the longest durations, by the names of the limits
 */
public record LongestReservations(Map<String, Duration> byLimit) {

  /** The longest duration if a limit declares none, and the smallest that a limit may declare. */
  public static final Duration USUAL = Duration.ofMinutes(10);

  /** The largest duration that a limit may declare. */
  public static final Duration MOST = Duration.ofHours(24);

  /**
   * Makes the companion.
   *
   * @param byLimit the longest durations, by the names of the limits; copied
   */
  public LongestReservations {
    byLimit = Map.copyOf(byLimit);
  }

  /**
   * Returns how long a reservation of a limit may last at most.
   *
   * @param limits the limits in force
   * @param limit the limit's name
   * @return the duration that the limit declares; {@link #USUAL} if it declares none
   */
  public static Duration of(Limits limits, String limit) {
    LongestReservations declared = limits.companion(LongestReservations.class);
    return declared == null ? USUAL : declared.byLimit.getOrDefault(limit, USUAL);
  }
}
