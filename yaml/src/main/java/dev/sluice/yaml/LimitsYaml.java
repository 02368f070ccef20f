// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.scanner.StreamReader;

/**
 * Writes limits and names as files that {@link LimitFiles} can load again. Stateless and
 * thread-safe; blocks if the target blocks.
 */
public final class LimitsYaml {

  private LimitsYaml() {}

  /**
   * Writes a file of defaults, sorted by name.
   *
   * @param limits the limits
   * @param target receives the text
   * @throws IOException if the target throws it
   */
  public static void writeDefaults(Limits limits, Appendable target) throws IOException {
    boolean none = true;
    for (LimitName name : limits.catalogue().names()) {
      List<Quota> quotas = limits.defaultsFor(name);
      if (!quotas.isEmpty()) {
        none = false;
        target.append(name.name()).append(":\n");
        writeQuotas(quotas, "  ", target);
        int debt = limits.debtOf(name);
        if (debt > 0) {
          target.append("  debt: ").append(Integer.toString(debt)).append('\n');
        }
      } else if (limits.coverage(name) == Coverage.UNLIMITED) {
        none = false;
        target.append(name.name()).append(":\n  unlimited: true\n");
      }
    }
    if (none) {
      target.append("{}\n");
    }
  }

  /**
   * Writes a file of overrides, in the order of {@link OverridesCsv}. Overrides of one limit with
   * the same quota share one entry.
   *
   * @param limits the limits
   * @param target receives the text
   * @throws IOException if the target throws it
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
      if (override.comment().isEmpty()) {
        target.append("      - ").append(quoted(override.id())).append('\n');
      } else {
        target.append("      - id: ").append(quoted(override.id())).append('\n');
        target.append("        comment: ").append(quoted(override.comment())).append('\n');
      }
    }
    if (last == null) {
      target.append("[]\n");
    }
  }

  /**
   * Writes a file that declares names, in alphabetical order. Do not pass names that the program
   * that will load the file already knows. A custom id format is written by its name; to load the
   * file, add that format by {@link LimitFiles.Builder#idFormats}.
   *
   * @param names the names
   * @param target receives the text
   * @throws IOException if the target throws it
   */
  public static void writeNames(Catalogue names, Appendable target) throws IOException {
    target.append(names.names().isEmpty() ? "names: []\n" : "names:\n");
    for (LimitName name : names.names()) {
      target.append("  - name: ").append(quoted(name.name())).append('\n');
      if (name.number() != null) {
        writeField("number", name.number().toString(), target);
      }
      writeField("id", quoted(name.id().name()), target);
      if (!name.overrideId().name().equals(name.id().name())) {
        writeField("overrideId", quoted(name.overrideId().name()), target);
      }
      if (name.overridesOnly()) {
        writeField("overridesOnly", "true", target);
      }
      writeField("message", quoted(name.message()), target);
      String help = name.helpLink();
      if (help != null) {
        writeField("help", quoted(help), target);
      }
      writeField("jitter", new BigDecimal(Double.toString(name.jitter())).toPlainString(), target);
      if (!name.longestWait().isZero()) {
        writeField("longestWait", GoDuration.format(name.longestWait()), target);
      }
    }
  }

  private static void writeField(String field, String value, Appendable target) throws IOException {
    target.append("    ").append(field).append(": ").append(value).append('\n');
  }

  private static boolean sharesEntry(@Nullable LimitOverride last, LimitOverride next) {
    return last != null && last.name().equals(next.name()) && last.quotas().equals(next.quotas());
  }

  private static void writeQuotas(List<Quota> quotas, String indent, Appendable target)
      throws IOException {
    if (quotas.size() > 1) {
      target.append(indent).append(Quotas.LIST).append(":\n");
      for (Quota quota : quotas) {
        target.append(indent).append("  - ").append(Quotas.text(quota)).append('\n');
      }
      return;
    }
    Quota quota = quotas.get(0);
    target.append(indent).append("burst: ").append(Long.toString(quota.burst())).append('\n');
    target.append(indent).append("count: ").append(Long.toString(quota.count())).append('\n');
    target.append(indent).append("period: ").append(GoDuration.format(quota.period())).append('\n');
  }

  /** Whether a character needs no escape. Unusual spaces need one: YAML readers differ on them. */
  private static boolean isSafe(int c) {
    return c == ' '
        || (c > ' '
            && StreamReader.isPrintable(c)
            && !Character.isISOControl(c)
            && !Character.isSpaceChar(c)
            && Character.getType(c) != Character.FORMAT);
  }

  /**
   * Quotes a text, so that YAML cannot read it as a number, a null or a map.
   *
   * @param text any text
   * @return a double-quoted scalar of YAML
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
