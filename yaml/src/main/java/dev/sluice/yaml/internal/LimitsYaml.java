// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.yaml.LimitFiles;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.scanner.StreamReader;

/**
 * Writes overrides as a file that {@link LimitFiles} can load again. Stateless and thread-safe;
 * blocks while {@code target} blocks.
 */
public final class LimitsYaml {

  private LimitsYaml() {}

  /**
   * Writes a file of overrides, in the order of {@link OverridesCsv}. Overrides of one limit with
   * the same quota share one entry.
   *
   * @param limits the limits
   * @param target receives the text
   * @throws IOException if {@code target} throws an exception
   */
  public static void writeOverrides(Limits limits, Appendable target) throws IOException {
    LimitOverride last = null;
    for (LimitOverride override : OverrideOrder.sorted(limits)) {
      if (!sharesEntry(last, override)) {
        target.append("- ").append(override.name().name()).append(":\n");
        writeQuotas(override.quotas(), "    ", target);
        target.append("    ids:\n");
      }
      last = override;
      boolean alone =
          override.comment().isEmpty() && override.author().isEmpty() && override.until() == null;
      target.append(alone ? "      - " : "      - id: ").append(quoted(override.id())).append('\n');
      writeNote("comment", override.comment(), target);
      writeNote("author", override.author(), target);
      if (override.until() != null) {
        target.append("        until: ").append(override.until().toString()).append('\n');
      }
    }
    if (last == null) {
      target.append("[]\n");
    }
  }

  private static void writeNote(String field, String text, Appendable target) throws IOException {
    if (!text.isEmpty()) {
      target.append("        ").append(field).append(": ").append(quoted(text)).append('\n');
    }
  }

  private static boolean sharesEntry(@Nullable LimitOverride last, LimitOverride next) {
    return last != null && last.name().equals(next.name()) && last.quotas().equals(next.quotas());
  }

  private static void writeQuotas(List<Quota> quotas, String indent, Appendable target)
      throws IOException {
    if (quotas.size() > 1) {
      target.append(indent).append(Quotas.LIST).append(":\n");
      for (Quota quota : quotas) {
        target.append(indent).append("  - ").append(QuotaText.of(quota)).append('\n');
      }
      return;
    }
    Quota quota = quotas.get(0);
    target.append(indent).append("burst: ").append(Long.toString(quota.burst())).append('\n');
    target.append(indent).append("count: ").append(Long.toString(quota.count())).append('\n');
    target.append(indent).append("period: ").append(GoDuration.format(quota.period())).append('\n');
  }

  /**
   * Whether a character needs no escape. Unusual spaces need one, since YAML readers treat them
   * differently.
   */
  private static boolean isSafe(int c) {
    return c == ' '
        || (c > ' '
            && StreamReader.isPrintable(c)
            && !Character.isISOControl(c)
            && !Character.isSpaceChar(c)
            && Character.getType(c) != Character.FORMAT);
  }

  /**
   * Quotes a text, so that YAML cannot read the text as a number, a null or a map.
   *
   * @param text any text
   * @return the text as a double-quoted YAML scalar
   */
  public static String quoted(String text) {
    StringBuilder quoted = new StringBuilder(text.length() + 2).append('"');
    text.codePoints()
        .forEach(
            c -> {
              if (c == '"' || c == '\\') {
                quoted.append('\\').appendCodePoint(c);
              } else if (isSafe(c)) {
                quoted.appendCodePoint(c);
              } else {
                quoted.append(
                    c > 0xffff
                        ? String.format(Locale.ROOT, "\\U%08x", c)
                        : String.format(Locale.ROOT, "\\u%04x", c));
              }
            });
    return quoted.append('"').toString();
  }
}
