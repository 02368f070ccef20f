// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import dev.sluice.limit.Limits;
import java.time.Duration;
import java.util.Map;

/**
 * The longest duration of a server's reservations, for each limit that declares one ({@code
 * longestReservation}). The durations are stored beside the limits, since only a server has
 * reservations that outlive a process. Immutable and thread-safe.
 *
 * @param byLimit the longest durations, by the names of the limits
 */
public record LongestReservations(Map<String, Duration> byLimit) {

  /**
   * The longest duration for a limit that does not declare one, and the shortest duration that a
   * limit can declare.
   */
  public static final Duration USUAL = Duration.ofMinutes(10);

  /** The largest duration that a limit can declare. */
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
   * Returns the longest duration of a limit's reservations.
   *
   * @param limits the limits in force
   * @param limit the limit's name
   * @return the duration that the limit declares; {@link #USUAL} if the limit declares none
   */
  public static Duration of(Limits limits, String limit) {
    LongestReservations declared = limits.companion(LongestReservations.class);
    return declared == null ? USUAL : declared.byLimit.getOrDefault(limit, USUAL);
  }
}
