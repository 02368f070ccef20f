// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Writes a comparison as text for a terminal, with one line per measure and one column per subject.
 * Columns that do not fit on a line follow in a second block of lines.
 */
public final class ComparisonTable {

  private static final String GAP = "  ";

  private ComparisonTable() {}

  /** Returns the lines of the table, each at most {@code width} characters long. */
  public static List<String> lines(Scenario scenario, List<RunResult> results, int width) {
    String title =
        "%s: %s %s, limit %s, %s in steps of %s, seed %s"
            .formatted(
                scenario.traffic().stream().map(Object::toString).collect(Collectors.joining("; ")),
                Format.whole(results.get(0).clients()),
                results.get(0).clients() == 1 ? "client" : "clients",
                results.stream()
                    .map(result -> Format.quota(result.subject().quota()))
                    .distinct()
                    .collect(Collectors.joining("; ")),
                Format.duration(scenario.length().toNanos()),
                Format.duration(scenario.bin().toNanos()),
                Long.toString(scenario.seed()));
    List<String> lines = new ArrayList<>(wrapped(title, width));
    List<List<String>> rows = new ArrayList<>();
    List<String> head = new ArrayList<>(List.of(""));
    head.addAll(Subject.labels(results.stream().map(RunResult::subject).toList()));
    rows.add(head);
    for (Measure measure : Measure.values()) {
      List<String> row = new ArrayList<>(List.of(measure.label(scenario.bin().toNanos())));
      results.forEach(result -> row.add(measure.of(result)));
      rows.add(row);
    }
    int[] widths = new int[head.size()];
    rows.forEach(row -> Arrays.setAll(widths, i -> Math.max(widths[i], row.get(i).length())));
    for (int from = 1; from < widths.length; ) {
      int to = firstThatDoesNotFit(widths, from, width);
      lines.add("");
      for (List<String> row : rows) {
        lines.add(line(row, widths, from, to));
      }
      from = to;
    }
    lines.add("");
    lines.addAll(wrapped("Verdict: " + Conclusion.of(results), width));
    return lines;
  }

  /**
   * Returns the index of the first column that does not fit on a line. Every line has at least one
   * column.
   */
  private static int firstThatDoesNotFit(int[] widths, int from, int width) {
    int length = widths[0];
    int to = from;
    do {
      length += GAP.length() + widths[to++];
    } while (to < widths.length && length + GAP.length() + widths[to] <= width);
    return to;
  }

  private static String line(List<String> row, int[] widths, int from, int to) {
    StringBuilder line = new StringBuilder(row.get(0));
    line.append(" ".repeat(widths[0] - row.get(0).length()));
    for (int i = from; i < to; i++) {
      line.append(GAP).append(" ".repeat(widths[i] - row.get(i).length())).append(row.get(i));
    }
    return line.toString();
  }

  private static List<String> wrapped(String text, int width) {
    List<String> lines = new ArrayList<>();
    StringBuilder line = new StringBuilder();
    for (String word : text.split(" ", -1)) {
      if (line.length() > 0 && line.length() + 1 + word.length() > width) {
        lines.add(line.toString());
        line.setLength(0);
        line.append(GAP);
      } else if (line.length() > 0) {
        line.append(' ');
      }
      line.append(word);
    }
    lines.add(line.toString());
    return lines;
  }
}
