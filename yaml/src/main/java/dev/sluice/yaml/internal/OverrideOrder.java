// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;

/**
 * The order in which overrides are written: by name, then by quota with the most generous quota
 * first, then by comment and by id. Texts are compared by code point, which is the order of the
 * texts' UTF-8 bytes.
 */
final class OverrideOrder {

  private static final Comparator<LimitOverride> ORDER =
      Comparator.comparing((LimitOverride o) -> o.name().name(), OverrideOrder::byCodePoint)
          .thenComparing(LimitOverride::quota, OverrideOrder::byQuota)
          .thenComparing(LimitOverride::comment, OverrideOrder::byCodePoint)
          .thenComparing(LimitOverride::id, OverrideOrder::byCodePoint);

  private OverrideOrder() {}

  /** Returns all overrides of the limits, sorted. */
  static List<LimitOverride> sorted(Limits limits) {
    return limits.overrides().stream().sorted(ORDER).toList();
  }

  static <T> List<T> sorted(List<T> lines, Function<T, LimitOverride> override) {
    return lines.stream().sorted(Comparator.comparing(override, ORDER)).toList();
  }

  private static int byQuota(Quota a, Quota b) {
    int count = Long.compare(b.count(), a.count());
    int burst = Long.compare(b.burst(), a.burst());
    return count != 0 ? count : burst != 0 ? burst : a.period().compareTo(b.period());
  }

  /** Compares by code point; {@link String#compareTo} misplaces surrogates. */
  static int byCodePoint(String a, String b) {
    int end = Math.min(a.length(), b.length());
    for (int i = 0; i < end; i++) {
      char x = a.charAt(i);
      char y = b.charAt(i);
      if (x != y) {
        boolean surrogate = Character.isSurrogate(x);
        if (surrogate != Character.isSurrogate(y)) {
          return surrogate ? 1 : -1;
        }
        return Character.compare(x, y);
      }
    }
    return Integer.compare(a.length(), b.length());
  }
}
