// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Finds the warnings about an override, which can come from a file or from a table. Stateless and
 * thread-safe.
 */
public final class OverrideDoubts {

  private static final Pattern RANGE = Pattern.compile("[^:]*/(?!32$).*|.*:.*/(?!64$|128$).*");

  private OverrideDoubts() {}

  /**
   * Returns whether an id is written as a range of addresses. An IPv6 /64 does not count as a
   * range, since rules count the requests of each /64 together.
   *
   * @param written the id, not in its canonical form
   * @param format the format of the id
   * @return whether the id is written as a range
   */
  public static boolean isRange(String written, IdFormat format) {
    return format.equals(IdFormat.ipAddress()) && RANGE.matcher(written).matches();
  }

  /**
   * Returns a warning about an override whose id is written as a range, since the override applies
   * to one address only.
   *
   * @param written the override's id, not in its canonical form
   * @param name the override's limit
   * @return the warning; null if the id is not written as a range
   */
  public static @Nullable String ofWritten(String written, LimitName name) {
    return isRange(written, name.overrideId())
        ? "an override applies to one id, here %1$s, and not to each address of %2$s; for this id, write %1$s"
            .formatted(name.overrideId().canonical(written, Strictness.LENIENT), written)
        : null;
  }

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

  public static String equalsDefault(LimitName name) {
    return "found an override that equals the default of " + name;
  }

  public static String noDefault(LimitName name) {
    String others =
        name.disabledWithoutDefault()
            ? "other ids are not limited"
            : "requests for other ids are rejected, unless missing defaults are allowed";
    return "found overrides of %s, which has no default: %s".formatted(name, others);
  }
}
