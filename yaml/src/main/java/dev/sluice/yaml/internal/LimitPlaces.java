// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.yaml.LimitFiles;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The file and line of each limit's default and of each override. Limits that were read with {@link
 * LimitFiles.Builder#places} have a {@code LimitPlaces} as companion. Immutable and thread-safe.
 *
 * @param byLimit file and line, such as {@code limits.yml:4}, by the names of the limits
 * @param overridesFile the file of the overrides; empty if there is no such file
 * @param overrideLines the line of each override in the file of overrides
 */
public record LimitPlaces(
    Map<String, String> byLimit, String overridesFile, Map<LimitOverride, Integer> overrideLines) {

  /**
   * Makes the companion.
   *
   * @param byLimit file and line by the names of the limits; copied
   * @param overridesFile the file of the overrides; empty if there is no such file
   * @param overrideLines the line of each override in the file of overrides; copied
   */
  public LimitPlaces {
    byLimit = Map.copyOf(byLimit);
    overrideLines = Map.copyOf(overrideLines);
  }

  /**
   * Makes the {@code LimitPlaces} of limits that have no overrides.
   *
   * @param byLimit file and line by the names of the limits; copied
   */
  public LimitPlaces(Map<String, String> byLimit) {
    this(byLimit, "", Map.of());
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

  /**
   * Returns the file and line of an override.
   *
   * @param limits the limits in force
   * @param override the override, which can also come from a table
   * @return file and line; null if no equal override is in a file
   */
  public static @Nullable String of(Limits limits, LimitOverride override) {
    LimitPlaces places = limits.companion(LimitPlaces.class);
    Integer line = places == null ? null : places.overrideLines.get(override);
    return places == null || line == null ? null : places.overridesFile + ":" + line;
  }
}
