// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Limits;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where the default of each limit stands in the files: a companion of limits that were read with
 * {@link LimitFiles.Builder#places}. Immutable and thread-safe.
 *
 * @param byLimit file and line, such as {@code limits.yml:4}, by the names of the limits
 */
public record LimitPlaces(Map<String, String> byLimit) {

  /**
   * Makes the companion.
   *
   * @param byLimit file and line by the names of the limits; copied
   */
  public LimitPlaces {
    byLimit = Map.copyOf(byLimit);
  }

  /**
   * Returns where the default of a limit stands.
   *
   * @param limits the limits in force
   * @param limit the limit's name
   * @return file and line; null if they are unknown
   */
  public static @Nullable String of(Limits limits, String limit) {
    LimitPlaces places = limits.companion(LimitPlaces.class);
    return places == null ? null : places.byLimit.get(limit);
  }
}
