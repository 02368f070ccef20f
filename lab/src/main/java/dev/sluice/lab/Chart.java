// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * A chart over time: one panel for each subject, side by side where there is room, on the same
 * scales. SVG on a background of its own, without a script, for a page or as a file.
 *
 * @param id of its elements, unique in a page
 * @param title what it is
 * @param text what there is to see, for those who cannot see it
 * @param unit of the numbers on the left
 * @param lengthNanos how long the time axis is
 * @param highest the number at the highest tick
 * @param scale how numbers become heights
 * @param panels one for each subject
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
  private static final int WIDE_LETTER = 9; // of a label, on average
  private static final int NOTE_HEIGHT = 18;
  private static final int TIMES_HEIGHT = 32;
  private static final int LAST = 18;
  private static final int STALL_WORD = 86; // how wide "drip stalled" is, with a little room
  private static final int FULL_WORD = 30;

  /** How much of a panel is left free above its limit, for the word that stands there. */
  private static final double ROOM_ABOVE_LIMIT = 1.25;

  /** How a number becomes a share of the height. */
  enum Scale {
    /** Twice the number is twice as high. */
    LINEAR,
    /** Heights are square roots, so that a trickle can be seen beside a spike. */
    ROOT;

    /** Where ticks stand, as shares of the highest number. */
    private double[] ticks() {
      return this == ROOT ? new double[] {0, 0.01, 0.1, 1} : new double[] {0, 0.5, 1};
    }

    double height(double share) {
      return this == ROOT ? Math.sqrt(share) : share;
    }
  }

  /**
   * The content of one panel.
   *
   * @param label of the subject
   * @param note the one number to remember
   * @param style a class of the style sheet
   * @param line whether a line is drawn through the points, or an area of steps below them
   * @param points ascending in time
   * @param limit where a line across says {@code full}; 0 for none
   * @param stalls shaded
   */
  record Panel(
      String label,
      String note,
      String style,
      boolean line,
      List<RunResult.Point> points,
      double limit,
      List<Drip.Stall> stalls) {}

  /** A stand-alone picture, light on every background, for browsers and for librsvg. */
  String file(ChartSize size) {
    return svg(size, "<style>" + ReportStyle.forFiles() + "</style>").replace("><", ">\n<") + "\n";
  }

  /** For a page, light or dark; it looks the same when it is cut out. */
  String inline(ChartSize size) {
    return svg(size, "<style>" + ReportStyle.forInlineCharts() + "</style>");
  }

  private String svg(ChartSize size, String style) {
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
    out.append("<title id=\"%s-t\">%s</title>".formatted(own, Html.escaped(title)));
    out.append("<desc id=\"%s-d\">%s</desc>".formatted(own, Html.escaped(text)));
    out.append(style);
    out.append(
        "<rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"%s\" height=\"%s\" rx=\"6\"/>"
            .formatted(size.width - 1, height - 1));
    text(out, "unit", MARGIN, 17, "start", unit);
    for (int i = 0; i < panels.size(); i++) {
      Slot slot =
          new Slot(
              i % columns * panelWidth,
              UNIT_HEIGHT + i / columns * panelHeight,
              panelWidth,
              heading,
              size.timeTicks(columns));
      panel(out, panels.get(i), size, slot);
    }
    text(out, "tick", size.width - RIGHT, height - 10, "end", "simulated time");
    return out.append("</svg>").toString();
  }

  /** Whether the notes stand beside the labels, by the width of an average letter. */
  private boolean notesFit(int width) {
    return panels.stream()
        .allMatch(p -> p.label.length() * WIDE_LETTER + p.note.length() * 8 + 20 <= width);
  }

  private void panel(StringBuilder out, Panel panel, ChartSize size, Slot slot) {
    Frame frame =
        new Frame(
            slot.x() + size.left,
            slot.y() + slot.heading(),
            slot.width() - size.left - RIGHT,
            size.plotHeight,
            lengthNanos,
            panel.limit > 0 ? highest * ROOM_ABOVE_LIMIT : highest,
            scale);
    int left = slot.x() + MARGIN;
    out.append("<g>");
    out.append(
        String.format(
            Locale.ROOT,
            "<text x=\"%d\" y=\"%d\"><tspan class=\"label\"%s>%s</tspan><tspan class=\"say\" %s>%s</tspan></text>",
            left,
            slot.y() + 16,
            panel.label.length() * WIDE_LETTER > slot.width()
                ? " textLength=\""
                    + (slot.width() - 2 * MARGIN)
                    + "\" lengthAdjust=\"spacingAndGlyphs\""
                : "",
            Html.escaped(panel.label),
            slot.heading() == HEADING
                ? "dx=\"10\""
                : "x=\"" + left + "\" dy=\"" + NOTE_HEIGHT + "\"",
            Html.escaped(panel.note)));
    for (Drip.Stall stall : panel.stalls) {
      shade(out, frame, stall);
    }
    for (double share : scale.ticks()) {
      if (scale == Scale.ROOT && share * highest != Math.rint(share * highest)) {
        continue; // requests are whole
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
    for (long at : Axis.times(lengthNanos, slot.timeTicks())) {
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

  /** A word for each stall, within the frame; none where it would lie on that of another. */
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
            .formatted(style, number(x), number(y), anchor, Html.escaped(text)));
  }

  private static String number(double value) {
    return Numbers.scaled(value, 1);
  }

  /** The place of a panel. */
  private record Slot(int x, int y, int width, int heading, int timeTicks) {}

  /** Where a panel's plot lies, and what its sides stand for. */
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
