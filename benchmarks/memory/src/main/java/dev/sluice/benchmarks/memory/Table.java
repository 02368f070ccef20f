// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import dev.sluice.benchmarks.memory.Row.Cost;
import dev.sluice.benchmarks.report.Figure;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Formats the figures as rows of a table in Markdown. */
final class Table {

  private Table() {}

  static List<String> lines(Map<Row, Cost> figures) {
    List<String> lines = new ArrayList<>();
    byScene(figures)
        .forEach(
            (scene, rows) -> {
              Cost none = new Cost(Double.NaN, Double.NaN);
              Cost ours =
                  rows.entrySet().stream()
                      .filter(e -> e.getKey().subject() == Subjects.SLUICE)
                      .map(Map.Entry::getValue)
                      .findFirst()
                      .orElse(none);
              rows.forEach(
                  (row, figure) ->
                      lines.add(
                          "| %-46s | %-17s | %s | %s to %s | %s | %s%s |"
                              .formatted(
                                  scene,
                                  row.subject().title(),
                                  number("%8.1f", figure.nanos()),
                                  number("%6.1f", figure.rounds().lowest()),
                                  number("%6.1f", figure.rounds().highest()),
                                  number("%6.1f", figure.bytes()),
                                  number("%6.2f", figure.nanos() / ours.nanos()),
                                  mark(figure, ours))));
            });
    return lines;
  }

  private static String mark(Cost figure, Cost ours) {
    boolean isKnown = figure.equals(ours) || !figure.rounds().overlaps(ours.rounds());
    return isKnown ? " " : Figure.NO_DIFFERENCE;
  }

  static Map<String, Map<Row, Cost>> byScene(Map<Row, Cost> figures) {
    Map<String, Map<Row, Cost>> scenes = new LinkedHashMap<>();
    figures.forEach(
        (row, figure) ->
            scenes.computeIfAbsent(row.scene(), s -> new LinkedHashMap<>()).put(row, figure));
    return scenes;
  }

  private static String number(String format, double value) {
    return Double.isNaN(value) ? "–" : String.format(Locale.ROOT, format, value);
  }
}
