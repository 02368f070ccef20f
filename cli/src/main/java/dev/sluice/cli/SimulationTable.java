package dev.sluice.cli;

import dev.sluice.lab.Conclusion;
import dev.sluice.lab.Labels;
import dev.sluice.lab.Measure;
import dev.sluice.lab.Numbers;
import dev.sluice.lab.Outcome;
import dev.sluice.lab.QuotaText;
import dev.sluice.lab.Scenario;
import dev.sluice.lab.Spans;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** A comparison for a terminal: a line for each measure, a column for each subject. Pure. */
final class SimulationTable {

  private static final String GAP = "  ";

  private SimulationTable() {}

  static List<String> lines(Scenario scenario, List<Outcome> outcomes) {
    List<String> lines = new ArrayList<>();
    lines.add(
        "%s: %s %s, limit %s, %s in steps of %s, seed %s"
            .formatted(
                scenario.traffic().stream().map(Object::toString).collect(Collectors.joining("; ")),
                Numbers.whole(outcomes.get(0).clients()),
                outcomes.get(0).clients() == 1 ? "client" : "clients",
                outcomes.stream()
                    .map(outcome -> QuotaText.format(outcome.subject().quota()))
                    .distinct()
                    .collect(Collectors.joining("; ")),
                Spans.exact(scenario.length().toNanos()),
                Spans.exact(scenario.bin().toNanos()),
                Long.toString(scenario.seed())));
    lines.add("");
    List<List<String>> rows = new ArrayList<>();
    List<String> head = new ArrayList<>(List.of(""));
    head.addAll(Labels.of(outcomes.stream().map(Outcome::subject).toList()));
    rows.add(head);
    for (Measure measure : Measure.values()) {
      List<String> row = new ArrayList<>(List.of(measure.label(scenario.bin().toNanos())));
      outcomes.forEach(outcome -> row.add(measure.of(outcome)));
      rows.add(row);
    }
    int[] widths = new int[head.size()];
    rows.forEach(row -> Arrays.setAll(widths, i -> Math.max(widths[i], row.get(i).length())));
    rows.forEach(row -> lines.add(line(row, widths)));
    lines.add("");
    lines.add("Verdict: " + Conclusion.of(outcomes));
    return lines;
  }

  private static String line(List<String> row, int[] widths) {
    StringBuilder line = new StringBuilder(row.get(0));
    line.append(" ".repeat(widths[0] - row.get(0).length()));
    for (int i = 1; i < widths.length; i++) {
      line.append(GAP).append(" ".repeat(widths[i] - row.get(i).length())).append(row.get(i));
    }
    return line.toString();
  }
}
