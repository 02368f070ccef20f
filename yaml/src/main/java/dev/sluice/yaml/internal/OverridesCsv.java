// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.EndTime;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Overrides as CSV with the columns {@code name,id,count,burst,period,comment} and, optionally,
 * {@code author,until,enabled}. Lines end with LF, and quotes follow RFC 4180. An override with
 * several quotas has a line for each quota, the longest period first. Stateless and thread-safe;
 * blocks while the target blocks.
 *
 * <p>Texts are not changed, even if a spreadsheet would read a text as a formula. The file is read
 * by programs: a prefix that protects spreadsheets would change the id.
 */
public final class OverridesCsv {

  private static final String SIX = "name,id,count,burst,period,comment";
  private static final String NINE = SIX + ",author,until,enabled";
  private static final int MOST_TOLD = 10;

  private OverridesCsv() {}

  /**
   * One line.
   *
   * @param override the override
   * @param enabled whether the override is in force; null if the file does not have this column
   * @param written the id as it is written, not in its canonical form
   */
  public record Line(LimitOverride override, @Nullable Boolean enabled, String written) {

    /**
     * A line whose id is written in its canonical form.
     *
     * @param override the override
     * @param enabled whether the override is in force; null if the file does not have this column
     */
    public Line(LimitOverride override, @Nullable Boolean enabled) {
      this(override, enabled, override.id());
    }
  }

  /**
   * Writes a header and all overrides. The overrides are sorted by name ascending, count and burst
   * descending, then period, comment and id ascending.
   *
   * @param limits the limits
   * @param target receives the lines
   * @throws IOException if {@code target} throws an exception
   */
  public static void write(Limits limits, Appendable target) throws IOException {
    target.append(SIX).append('\n');
    for (LimitOverride override : OverrideOrder.sorted(limits)) {
      for (Quota quota : override.quotas()) {
        writeSix(override, quota, target);
        target.append('\n');
      }
    }
  }

  /**
   * Writes a header and all overrides with all nine columns, in the order of {@link #write}.
   *
   * @param lines the overrides; a line without a value for {@code enabled} is written as enabled
   * @param target receives the lines
   * @throws IOException if {@code target} throws an exception
   */
  public static void writeAll(List<Line> lines, Appendable target) throws IOException {
    target.append(NINE).append('\n');
    for (Line line : OverrideOrder.sorted(lines, Line::override)) {
      LimitOverride override = line.override();
      for (Quota quota : override.quotas()) {
        writeSix(override, quota, target);
        target
            .append(',')
            .append(quoted(override.author()))
            .append(',')
            .append(override.until() == null ? "" : override.until().toString())
            .append(',')
            .append(Boolean.FALSE.equals(line.enabled()) ? "false" : "true")
            .append('\n');
      }
    }
  }

  private static void writeSix(LimitOverride override, Quota quota, Appendable target)
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
        .append(quoted(override.comment()));
  }

  private static String quoted(String text) {
    boolean plain = text.chars().noneMatch(c -> c == ',' || c == '"' || c == '\n' || c == '\r');
    return plain ? text : '"' + text.replace("\"", "\"\"") + '"';
  }

  /**
   * Reads overrides with six or nine columns. Successive rows of an id that differ only in the
   * quota and its period are one override with several quotas.
   *
   * @param text the file's content, with its header
   * @param names the limits
   * @param strictness how strictly ids are checked
   * @return the overrides, in the order of the file
   * @throws IllegalArgumentException if the text has mistakes; the message lists up to ten
   *     mistakes, one per line, each with its line number
   */
  public static List<Line> read(String text, Catalogue names, Strictness strictness) {
    // Spreadsheets write a byte-order mark.
    List<Row> rows = rows(text.startsWith("\uFEFF") ? text.substring(1) : text);
    String header = rows.isEmpty() ? "" : String.join(",", rows.get(0).cells());
    if (!header.equals(SIX) && !header.equals(NINE)) {
      throw new IllegalArgumentException(
          "line 1: found %s, expected the header %s, or this header with author,until,enabled"
              .formatted(SafeText.quote(header), SIX));
    }
    int columns = rows.get(0).cells().size();
    List<Line> lines = new ArrayList<>();
    List<String> mistakes = new ArrayList<>();
    Map<String, Integer> first = new HashMap<>();
    for (Row row : rows.subList(1, rows.size())) {
      try {
        if (row.cells().size() != columns) {
          throw new IllegalArgumentException(
              "found %s columns, expected %s".formatted(row.cells().size(), columns));
        }
        Line line = line(row.cells(), names, strictness);
        LimitOverride override = line.override();
        Integer before = first.putIfAbsent(override.name().bucketKey(override.id()), row.number());
        int last = lines.size() - 1;
        if (before == null) {
          lines.add(line);
        } else if (isFurtherQuota(line, lines.get(last))) {
          List<Quota> quotas = new ArrayList<>(lines.get(last).override().quotas());
          quotas.addAll(override.quotas());
          lines.set(last, withQuotas(line, quotas, line.written()));
        } else {
          throw new IllegalArgumentException(
              "found %s again, expected each id of a limit once, or in successive rows that differ only in the quota and its period; it is on line %s too"
                  .formatted(SafeText.quote(override.id()), before));
        }
      } catch (IllegalArgumentException e) {
        mistakes.add("line %s: %s".formatted(row.number(), e.getMessage()));
      }
    }
    if (!mistakes.isEmpty()) {
      int more = mistakes.size() - MOST_TOLD;
      throw new IllegalArgumentException(
          String.join("\n", mistakes.subList(0, Math.min(mistakes.size(), MOST_TOLD)))
              + (more > 0 ? "\nand %s more".formatted(more) : ""));
    }
    return lines;
  }

  /** Whether a row only adds a quota to the previous row's override: all other cells are equal. */
  private static boolean isFurtherQuota(Line row, Line before) {
    List<Quota> quotas = before.override().quotas();
    LimitOverride own = row.override();
    return withQuotas(row, quotas, before.written()).equals(before)
        && quotas.stream().noneMatch(one -> one.period().equals(own.quota().period()));
  }

  private static Line withQuotas(Line line, List<Quota> quotas, String written) {
    LimitOverride override = line.override();
    return new Line(
        new LimitOverride(
            override.name(),
            override.id(),
            quotas,
            override.comment(),
            override.author(),
            override.until()),
        line.enabled(),
        written);
  }

  private static Line line(List<String> cells, Catalogue names, Strictness strictness) {
    LimitName name = names.get(cells.get(0));
    String id = name.overrideId().canonical(cells.get(1), strictness);
    Quota quota =
        Quota.burst(number("burst", cells.get(3)))
            .refill(number("count", cells.get(2)), GoDuration.parse(cells.get(4)));
    boolean all = cells.size() > 6;
    Instant until = all && !cells.get(7).isEmpty() ? EndTime.parse(cells.get(7)) : null;
    return new Line(
        new LimitOverride(name, id, quota, cells.get(5), all ? cells.get(6) : "", until),
        all ? bool(cells.get(8)) : null,
        cells.get(1));
  }

  private static long number(String column, String text) {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "%s: found %s, expected a whole number".formatted(column, SafeText.quote(text)), e);
    }
  }

  private static boolean bool(String text) {
    return switch (text) {
      case "true" -> true;
      case "false" -> false;
      default ->
          throw new IllegalArgumentException(
              "enabled: found %s, expected true or false".formatted(SafeText.quote(text)));
    };
  }

  /** A row with the number of the line where it starts. */
  private record Row(int number, List<String> cells) {}

  /** Splits a text into rows as in RFC 4180; LF alone also ends a row; skips empty lines. */
  private static List<Row> rows(String text) {
    List<Row> rows = new ArrayList<>();
    List<String> cells = new ArrayList<>();
    StringBuilder cell = new StringBuilder();
    boolean quoted = false;
    int number = 1;
    int start = 1;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      number += c == '\n' ? 1 : 0;
      if (quoted) {
        if (c != '"') {
          cell.append(c);
        } else if (text.startsWith("\"", i + 1)) {
          cell.append(c);
          i++;
        } else {
          quoted = false;
        }
      } else if (c == '"') {
        quoted = true;
      } else if (c == ',') {
        cells.add(cell.toString());
        cell.setLength(0);
      } else if (c == '\n') {
        end(start, cells, cell, rows);
        cells = new ArrayList<>();
        start = number;
      } else if (c != '\r' || !text.startsWith("\n", i + 1)) {
        cell.append(c);
      }
    }
    if (quoted) {
      throw new IllegalArgumentException(
          "line %s: a text in quotes does not end; write a quote in a text twice".formatted(start));
    }
    end(start, cells, cell, rows);
    return rows;
  }

  private static void end(int number, List<String> cells, StringBuilder cell, List<Row> rows) {
    if (!cells.isEmpty() || cell.length() > 0) {
      cells.add(cell.toString());
      rows.add(new Row(number, cells));
    }
    cell.setLength(0);
  }
}
