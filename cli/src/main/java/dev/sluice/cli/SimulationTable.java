// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.lab.Conclusion;
import dev.sluice.lab.Format;
import dev.sluice.lab.Measure;
import dev.sluice.lab.QuotaText;
import dev.sluice.lab.RunResult;
import dev.sluice.lab.Scenario;
import dev.sluice.lab.Subject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A comparison for a terminal: a line for each measure, a column for each subject; columns that do
 * not fit beside each other follow below. Pure.
 */
final class SimulationTable {

  private static final String GAP = "  ";

  private SimulationTable() {}

  static List<String> lines(Scenario scenario, List<RunResult> outcomes, int width) {
    String title =
        "%s: %s %s, limit %s, %s in steps of %s, seed %s"
            .formatted(
                scenario.traffic().stream().map(Object::toString).collect(Collectors.joining("; ")),
                Format.whole(outcomes.get(0).clients()),
                outcomes.get(0).clients() == 1 ? "client" : "clients",
                outcomes.stream()
                    .map(outcome -> QuotaText.format(outcome.subject().quota()))
                    .distinct()
                    .collect(Collectors.joining("; ")),
                Format.duration(scenario.length().toNanos()),
                Format.duration(scenario.bin().toNanos()),
                Long.toString(scenario.seed()));
    List<String> lines = new ArrayList<>(wrapped(title, width));
    List<List<String>> rows = new ArrayList<>();
    List<String> head = new ArrayList<>(List.of(""));
    head.addAll(Subject.labels(outcomes.stream().map(RunResult::subject).toList()));
    rows.add(head);
    for (Measure measure : Measure.values()) {
      List<String> row = new ArrayList<>(List.of(measure.label(scenario.bin().toNanos())));
      outcomes.forEach(outcome -> row.add(measure.of(outcome)));
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
    lines.addAll(wrapped("Verdict: " + Conclusion.of(outcomes), width));
    return lines;
  }

  /** At least one column is on a line, however wide it is. */
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
