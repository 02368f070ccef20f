// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/*
 * From top to bottom, a chart has the unit of the numbers, rows of panels, and the words "simulated
 * time". A panel has a heading (label and note), a plot, and times below the plot. All panels have
 * the same scales, so heights can be compared across panels.
 *
 * The SVG contains its own background and its own style (see StyleSheet), and no script. So a chart
 * looks the same in a page, in a file, and cut out of a page. Each chart is drawn in two sizes, and
 * the page shows the size that fits the screen.
 */

/**
 * A chart over time with one panel per subject, drawn as SVG.
 *
 * @param id the prefix of the element ids in the chart; must be unique in a page
 * @param text a description of the chart, for readers who cannot see it
 * @param unit the unit of the numbers on the vertical axis
 * @param highest the number at the highest tick
 * @param scale maps numbers to heights
 */
record Chart(
    String id,
    String title,
    String text,
    String unit,
    long lengthNanos,
    double highest,
    Scale scale,
    List<Panel> panels) {

  private static final int MARGIN = 10;
  private static final int RIGHT = 14;
  private static final int UNIT_HEIGHT = 28;
  private static final int HEADING = 29;
  private static final int WIDE_LETTER = 9; // the average width of a letter of a label
  private static final int NOTE_HEIGHT = 18;
  private static final int TIMES_HEIGHT = 32;
  private static final int LAST = 18;
  private static final int STALL_WORD = 86; // the width of the label "drip stalled" and a small gap
  private static final int FULL_WORD = 30;

  /**
   * The height of the plot divided by the height of the limit; leaves space for the word "full".
   */
  private static final double ROOM_ABOVE_LIMIT = 1.25;

  /** Maps a number to a share of the height. */
  enum Scale {
    LINEAR,
    /**
     * The height is the square root of the number, so that a small number is visible next to a
     * spike.
     */
    ROOT;

    /** Returns the positions of the ticks, as shares of the highest number. */
    private double[] ticks() {
      return this == ROOT ? new double[] {0, 0.01, 0.1, 1} : new double[] {0, 0.5, 1};
    }

    double height(double share) {
      return this == ROOT ? Math.sqrt(share) : share;
    }
  }

  /** The size of a chart, for wide screens and for phones. */
  enum Size {
    WIDE(880, 58, 150, 8),
    NARROW(360, 48, 110, 4);

    private static final int MOST_COLUMNS = 3;

    private final int width;
    private final int left;
    final int plotHeight;
    private final int mostTimeTicks;

    Size(int width, int left, int plotHeight, int mostTimeTicks) {
      this.width = width;
      this.left = left;
      this.plotHeight = plotHeight;
      this.mostTimeTicks = mostTimeTicks;
    }

    private int columns(int panels) {
      if (this == NARROW) {
        return 1;
      }
      return panels == 4 ? 2 : Math.min(panels, MOST_COLUMNS);
    }

    private int timeTicks(int columns) {
      return columns == 1 ? mostTimeTicks : columns == 2 ? 5 : 4;
    }

    String text() {
      return this == WIDE ? "wide" : "narrow";
    }
  }

  /**
   * The content of one panel.
   *
   * @param note the most important number of the panel
   * @param line true draws a line through the points; false draws steps and fills the area below
   * @param limit the height of a dashed line named {@code full}; 0 for no line
   * @param stalls the shaded times
   */
  record Panel(
      String label,
      String note,
      String style,
      boolean line,
      List<RunResult.Point> points,
      double limit,
      List<Drip.Stall> stalls) {}

  /**
   * Draws a chart for a separate file. The file has a light background, and browsers and librsvg
   * can draw it.
   */
  String file(Size size) {
    return svg(size, "<style>" + StyleSheet.ofFile() + "</style>").replace("><", ">\n<") + "\n";
  }

  /** Draws a chart for a page. The chart is light or dark, like the page. */
  String inline(Size size) {
    return svg(size, "<style>" + StyleSheet.ofInlineChart() + "</style>");
  }

  private String svg(Size size, String style) {
    StringBuilder out = new StringBuilder();
    int columns = size.columns(panels.size());
    int panelWidth = size.width / columns;
    int heading = HEADING + (notesFit(panelWidth) ? 0 : NOTE_HEIGHT);
    int panelHeight = heading + size.plotHeight + TIMES_HEIGHT;
    int rows = (panels.size() + columns - 1) / columns;
    int height = UNIT_HEIGHT + rows * panelHeight + LAST;
    String own = id + "-" + size.text();
    out.append(
        String.format(
            Locale.ROOT,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-t %s-d\">",
            size.width,
            height,
            own,
            own));
    out.append("<title id=\"%s-t\">%s</title>".formatted(own, Format.escaped(title)));
    out.append("<desc id=\"%s-d\">%s</desc>".formatted(own, Format.escaped(text)));
    out.append(style);
    out.append(
        "<rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"%s\" height=\"%s\" rx=\"6\"/>"
            .formatted(size.width - 1, height - 1));
    text(out, "unit", MARGIN, 17, "start", unit);
    for (int i = 0; i < panels.size(); i++) {
      Cell cell =
          new Cell(
              i % columns * panelWidth,
              UNIT_HEIGHT + i / columns * panelHeight,
              panelWidth,
              heading,
              size.timeTicks(columns));
      panel(out, panels.get(i), size, cell);
    }
    text(out, "tick", size.width - RIGHT, height - 10, "end", "simulated time");
    return out.append("</svg>").toString();
  }

  /** Returns whether every note probably fits next to its label. */
  private boolean notesFit(int width) {
    return panels.stream()
        .allMatch(p -> p.label.length() * WIDE_LETTER + p.note.length() * 8 + 20 <= width);
  }

  private void panel(StringBuilder out, Panel panel, Size size, Cell cell) {
    Frame frame =
        new Frame(
            cell.x() + size.left,
            cell.y() + cell.heading(),
            cell.width() - size.left - RIGHT,
            size.plotHeight,
            lengthNanos,
            panel.limit > 0 ? highest * ROOM_ABOVE_LIMIT : highest,
            scale);
    int left = cell.x() + MARGIN;
    out.append("<g>");
    out.append(
        String.format(
            Locale.ROOT,
            "<text x=\"%d\" y=\"%d\"><tspan class=\"label\"%s>%s</tspan><tspan class=\"say\" %s>%s</tspan></text>",
            left,
            cell.y() + 16,
            panel.label.length() * WIDE_LETTER > cell.width()
                ? " textLength=\""
                    + (cell.width() - 2 * MARGIN)
                    + "\" lengthAdjust=\"spacingAndGlyphs\""
                : "",
            Format.escaped(panel.label),
            cell.heading() == HEADING
                ? "dx=\"10\""
                : "x=\"" + left + "\" dy=\"" + NOTE_HEIGHT + "\"",
            Format.escaped(panel.note)));
    for (Drip.Stall stall : panel.stalls) {
      shade(out, frame, stall);
    }
    for (double share : scale.ticks()) {
      if (scale == Scale.ROOT && share * highest != Math.rint(share * highest)) {
        continue; // the number of requests is whole, so a tick with a fraction is skipped
      }
      double y = frame.y(share * highest);
      out.append(
          "<path class=\"%s\" d=\"M%s %sH%s\"/>"
              .formatted(
                  share == 0 ? "base" : "grid",
                  number(frame.left()),
                  number(y),
                  number(frame.left() + frame.width())));
      text(out, "tick", frame.left() - 6, y + 4, "end", Axis.number(share * highest));
    }
    for (long at : Axis.times(lengthNanos, cell.timeTicks())) {
      double x = frame.x(at);
      out.append("<path class=\"grid\" d=\"M%s %sv5\"/>".formatted(number(x), number(frame.y(0))));
      text(out, "tick", x, frame.y(0) + 18, anchor(at), Axis.time(at, lengthNanos));
    }
    out.append(
        "<path class=\"%s\" d=\"%s\"/>"
            .formatted(panel.style, panel.line ? line(panel, frame) : area(panel, frame)));
    if (panel.limit > 0) {
      double y = frame.y(panel.limit);
      out.append(
          "<path class=\"limit\" d=\"M%s %sH%s\"/>"
              .formatted(number(frame.left()), number(y), number(frame.left() + frame.width())));
      text(out, "note", frame.left() + frame.width(), y - 4, "end", "full");
    }
    nameStalls(out, panel.stalls, frame, panel.limit > 0 ? FULL_WORD : 0);
    out.append("</g>");
  }

  /** Adds a label to each stall, unless this label would cover the label of another stall. */
  private static void nameStalls(
      StringBuilder out, List<Drip.Stall> stalls, Frame frame, int takenOnTheRight) {
    double last = frame.left() + frame.width() - takenOnTheRight - STALL_WORD;
    double free = frame.left();
    List<Drip.Stall> inOrder =
        stalls.stream().sorted(Comparator.comparing(Drip.Stall::from)).toList();
    for (Drip.Stall stall : inOrder) {
      double middle = (frame.x(stall.from().toNanos()) + frame.x(stall.end().toNanos())) / 2;
      double left = Math.min(Math.max(middle - STALL_WORD / 2.0, frame.left()), last);
      if (left >= free && stall.from().toNanos() < frame.lengthNanos()) {
        text(out, "over", left + STALL_WORD / 2.0, frame.top() + 13, "middle", "drip stalled");
        free = left + STALL_WORD;
      }
    }
  }

  private String anchor(long at) {
    return at == lengthNanos ? "end" : "middle";
  }

  private static void shade(StringBuilder out, Frame frame, Drip.Stall stall) {
    double from = frame.x(stall.from().toNanos());
    out.append(
        "<rect class=\"stall\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>"
            .formatted(
                number(from),
                number(frame.top()),
                number(frame.x(stall.end().toNanos()) - from),
                number(frame.height())));
  }

  private static String area(Panel panel, Frame frame) {
    StringBuilder path = new StringBuilder();
    path.append('M').append(number(frame.left())).append(' ').append(number(frame.y(0)));
    for (int i = 0; i < panel.points.size(); i++) {
      long end =
          i + 1 < panel.points.size() ? panel.points.get(i + 1).nanos() : frame.lengthNanos();
      path.append('V').append(number(frame.y(panel.points.get(i).value())));
      path.append('H').append(number(frame.x(end)));
    }
    return path.append('V').append(number(frame.y(0))).append('Z').toString();
  }

  private static String line(Panel panel, Frame frame) {
    StringBuilder path = new StringBuilder();
    for (RunResult.Point point : panel.points) {
      path.append(path.isEmpty() ? 'M' : 'L')
          .append(number(frame.x(point.nanos())))
          .append(' ')
          .append(number(frame.y(point.value())));
    }
    return path.toString();
  }

  private static void text(
      StringBuilder out, String style, double x, double y, String anchor, String text) {
    out.append(
        "<text class=\"%s\" x=\"%s\" y=\"%s\" text-anchor=\"%s\">%s</text>"
            .formatted(style, number(x), number(y), anchor, Format.escaped(text)));
  }

  private static String number(double value) {
    return Format.decimal(value, 1);
  }

  /** The position of a panel in the chart. */
  private record Cell(int x, int y, int width, int heading, int timeTicks) {}

  /** The position of a plot, and the values at its edges. */
  private record Frame(
      double left,
      double top,
      double width,
      double height,
      long lengthNanos,
      double highest,
      Scale scale) {

    double x(long nanos) {
      return left + width * Math.min((double) nanos / lengthNanos, 1);
    }

    double y(double value) {
      return top + height - height * scale.height(value / highest);
    }
  }
}
