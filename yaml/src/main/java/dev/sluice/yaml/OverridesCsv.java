// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import java.io.IOException;

/**
 * Writes overrides as CSV, {@code name,id,count,burst,period,comment}, with lines that end with LF
 * and quotes as in RFC 4180. An override with several quotas has a line for each, the longest
 * period first. Stateless and thread-safe; blocks if the target blocks.
 *
 * <p>Texts are not changed, even if a spreadsheet would read them as formulas: the file is data for
 * programs, and a prefix would change an id to another id.
 */
public final class OverridesCsv {

  private OverridesCsv() {}

  /**
   * Writes a header and all overrides, by name ascending, count and burst descending, then period,
   * comment and id ascending.
   *
   * @param limits the limits
   * @param target receives the lines
   * @throws IOException if the target throws it
   */
  public static void write(Limits limits, Appendable target) throws IOException {
    target.append("name,id,count,burst,period,comment\n");
    for (LimitOverride override : OverrideOrder.sorted(limits)) {
      for (Quota quota : override.quotas()) {
        write(override, quota, target);
      }
    }
  }

  private static void write(LimitOverride override, Quota quota, Appendable target)
      throws IOException {
    target
        .append(quoted(override.name().name()))
        .append(',')
        .append(quoted(override.id()))
        .append(',')
        .append(Long.toString(quota.count()))
        .append(',')
        .append(Long.toString(quota.burst()))
        .append(',')
        .append(GoDuration.format(quota.period()))
        .append(',')
        .append(quoted(override.comment()))
        .append('\n');
  }

  private static String quoted(String text) {
    boolean plain = text.chars().noneMatch(c -> c == ',' || c == '"' || c == '\n' || c == '\r');
    return plain ? text : '"' + text.replace("\"", "\"\"") + '"';
  }
}
