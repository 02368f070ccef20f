// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the warnings about an override, which can come from a file or from a table. Stateless and
 * thread-safe.
 */
public final class OverrideDoubts {

  private OverrideDoubts() {}

  /**
   * Returns the warnings that a file with the given override would get.
   *
   * @param override the override
   * @param limits the limits to which the override applies
   * @return the warnings, one line each; empty if there is no warning
   */
  public static List<String> of(LimitOverride override, Limits limits) {
    LimitName name = override.name();
    List<String> doubts = new ArrayList<>();
    add(name.overrideId().doubt(override.id()), doubts);
    override.quotas().forEach(quota -> add(Quotas.rounding(quota), doubts));
    if (!name.overridesOnly()) {
      List<Quota> usual = limits.defaultsFor(name);
      if (override.quotas().equals(usual)) {
        doubts.add(equalsDefault(name));
      } else if (usual.isEmpty() && limits.coverage(name) != Limits.Coverage.UNLIMITED) {
        doubts.add(noDefault(name));
      }
    }
    return List.copyOf(doubts);
  }

  private static void add(@Nullable String doubt, List<String> doubts) {
    if (doubt != null) {
      doubts.add(doubt);
    }
  }

  static String equalsDefault(LimitName name) {
    return "found an override that equals the default of " + name;
  }

  static String noDefault(LimitName name) {
    String others =
        name.disabledWithoutDefault()
            ? "other ids are not limited"
            : "requests for other ids are rejected, unless missing defaults are allowed";
    return "found overrides of %s, which has no default: %s".formatted(name, others);
  }
}
