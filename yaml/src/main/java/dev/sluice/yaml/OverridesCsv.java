// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import java.io.IOException;

/**
 * Writes overrides as CSV: {@code name,id,count,burst,period,comment}, lines that end with LF,
 * quoted as RFC 4180 has it. Pure and thread-safe; blocks as its target does.
 *
 * <p>Texts are written as they are, also those that a spreadsheet would take for a formula. The
 * file is data for programs, and a mark in front would make another id of an id.
 */
public final class OverridesCsv {

  private OverridesCsv() {}

  /**
   * Writes a header and all overrides, by name ascending, count and burst descending, then period,
   * comment and id ascending.
   *
   * @param limits the limits
   * @param target where the lines go
   * @throws IOException if the target throws it
   */
  public static void write(Limits limits, Appendable target) throws IOException {
    target.append("name,id,count,burst,period,comment\n");
    for (LimitOverride override : OverrideOrder.sorted(limits)) {
      target
          .append(quoted(override.name().name()))
          .append(',')
          .append(quoted(override.id()))
          .append(',')
          .append(Long.toString(override.quota().count()))
          .append(',')
          .append(Long.toString(override.quota().burst()))
          .append(',')
          .append(GoDuration.format(override.quota().period()))
          .append(',')
          .append(quoted(override.comment()))
          .append('\n');
    }
  }

  private static String quoted(String text) {
    boolean plain = text.chars().noneMatch(c -> c == ',' || c == '"' || c == '\n' || c == '\r');
    return plain ? text : '"' + text.replace("\"", "\"\"") + '"';
  }
}
