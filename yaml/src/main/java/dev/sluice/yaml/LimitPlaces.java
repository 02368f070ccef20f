// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Limits;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The file and line of each limit's default. A companion of limits that were read with {@link
 * LimitFiles.Builder#places}. Immutable and thread-safe.
 *
 * @param byLimit the file and line of each default, such as {@code limits.yml:4}, by the limit's
 *     name
 */
public record LimitPlaces(Map<String, String> byLimit) {

  /**
   * Makes the companion.
   *
   * @param byLimit the file and line of each default, by the limit's name; copied
   */
  public LimitPlaces {
    byLimit = Map.copyOf(byLimit);
  }

  /**
   * Returns the file and line of a limit's default.
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
