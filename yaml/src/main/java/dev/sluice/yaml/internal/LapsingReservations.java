// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import dev.sluice.limit.Limits;
import java.util.Set;

/**
 * The limits with {@code lapse: give-back}. If a client neither settles nor cancels a server's
 * reservation, a limit of this set gets the reserved tokens back when the reservation expires. A
 * reload replaces the set of names together with the limits. Immutable and thread-safe.
 *
 * @param limits the names of the limits
 */
public record LapsingReservations(Set<String> limits) {

  /**
   * Makes the set.
   *
   * @param limits copied
   */
  public LapsingReservations {
    limits = Set.copyOf(limits);
  }

  /**
   * Returns whether the tokens of a limit are refunded when a reservation expires.
   *
   * @param limits the limits in force
   * @param limit the limit's name
   * @return whether the limit declares {@code lapse: give-back}
   */
  public static boolean giveBack(Limits limits, String limit) {
    LapsingReservations declared = limits.companion(LapsingReservations.class);
    return declared != null && declared.limits.contains(limit);
  }
}
