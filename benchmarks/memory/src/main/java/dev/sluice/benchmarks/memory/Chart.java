// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import dev.sluice.benchmarks.memory.Row.Cost;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Draws a bar chart of the nanoseconds per decision as SVG. All limiters that were measured under
 * the same conditions form one group of bars. The chart is readable on light and dark backgrounds.
 */
final class Chart {

  private static final int WIDTH = 760;
  private static final int LABEL = 150;
  private static final int BAR = 18;
  private static final int GAP = 6;
  private static final int HEADING = 34;

  private Chart() {}

  static String svg(Map<Row, Cost> figures) {
    List<String> parts = new ArrayList<>();
    int y = 12;
    for (var scene : Table.byScene(figures).entrySet()) {
      double most = scene.getValue().values().stream().mapToDouble(Cost::nanos).max().orElse(1);
      y += HEADING;
      parts.add(text(8, y - 8, "h", scene.getKey() + " – ns per decision, less is better"));
      for (var row : scene.getValue().entrySet()) {
        double nanos = row.getValue().nanos();
        double width = Math.max(2, (WIDTH - LABEL - 90) * nanos / most);
        boolean ours = row.getKey().subject().title().startsWith("sluice");
        parts.add(text(8, y + 13, "", row.getKey().subject().title()));
        parts.add(
            String.format(
                Locale.ROOT,
                "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" class=\"%s\"/>",
                LABEL,
                y,
                width,
                BAR,
                ours ? "ours" : "peer"));
        parts.add(
            text((int) (LABEL + width + 6), y + 13, "", String.format(Locale.ROOT, "%.0f", nanos)));
        y += BAR + GAP;
      }
    }
    return """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" \
        aria-label="Nanoseconds per decision of Sluice and its peers">
        <style>
        text { font: 13px system-ui, sans-serif; fill: #24292f }
        .h { font-weight: 600 }
        .ours { fill: #1a7f64 }
        .peer { fill: #8c959f }
        </style>
        <rect width="100%%" height="100%%" fill="#fff"/>
        %s
        </svg>
        """
        .formatted(WIDTH, y + 10, String.join("\n", parts));
  }

  private static String text(int x, int y, String style, String text) {
    return "<text x=\"%s\" y=\"%s\" class=\"%s\">%s</text>".formatted(x, y, style, text);
  }
}
