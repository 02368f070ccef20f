package dev.sluice.lab;

import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * A chart over time: one panel for each subject, one below the other, on the same scales. SVG
 * without a script, for a page or as a file.
 *
 * @param id of its elements, unique in a page
 * @param title what it is
 * @param text what there is to see, for those who can not see it
 * @param unit of the numbers on the left
 * @param lengthNanos how long the time axis is
 * @param highest the number at the highest tick
 * @param panels one for each subject
 */
record Chart(
    String id,
    String title,
    String text,
    String unit,
    long lengthNanos,
    double highest,
    List<Panel> panels) {

  private static final int RIGHT = 14;
  private static final int UNIT_HEIGHT = 24;
  private static final int HEADING = 29;
  private static final int WIDE_LETTER = 9; // of a label, on average
  private static final int NOTE_HEIGHT = 18;
  private static final int TIMES_HEIGHT = 32;
  private static final int LAST = 18;
  private static final int STALL_WORD = 86; // how wide "drip stalled" is, with a little room
  private static final int FULL_WORD = 30;

  /** How much of a panel is left free above its limit, for the word that stands there. */
  private static final double ROOM_ABOVE_LIMIT = 1.25;

  /**
   * What one panel shows.
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
      List<LevelPoint> points,
      double limit,
      List<Drip.Stall> stalls) {}

  /** A picture by itself, light or dark as its surroundings are. */
  String file(ChartSize size) {
    return svg(size, "<style>" + ReportStyle.forCharts() + "</style>").replace("><", ">\n<") + "\n";
  }

  /** For a page that has the style already. */
  String inline(ChartSize size) {
    return svg(size, "");
  }

  private String svg(ChartSize size, String style) {
    StringBuilder out = new StringBuilder();
    int heading = HEADING + (notesFit(size) ? 0 : NOTE_HEIGHT);
    int panelHeight = heading + size.plotHeight + TIMES_HEIGHT;
    int height = UNIT_HEIGHT + panels.size() * panelHeight + LAST;
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
    text(out, "unit", 2, 15, "start", unit);
    int y = UNIT_HEIGHT;
    for (Panel panel : panels) {
      panel(out, panel, size, y, heading);
      y += panelHeight;
    }
    text(out, "tick", size.width - RIGHT, y + 8, "end", "simulated time");
    return out.append("</svg>").toString();
  }

  /** Whether the notes stand beside the labels, by the width of an average letter. */
  private boolean notesFit(ChartSize size) {
    return panels.stream()
        .allMatch(p -> p.label.length() * WIDE_LETTER + p.note.length() * 8 + 10 <= size.width);
  }

  private void panel(StringBuilder out, Panel panel, ChartSize size, int top, int heading) {
    Frame frame =
        new Frame(
            size.left,
            top + heading,
            size.width - size.left - RIGHT,
            size.plotHeight,
            lengthNanos,
            panel.limit > 0 ? highest * ROOM_ABOVE_LIMIT : highest);
    out.append("<g>");
    out.append(
        String.format(
            Locale.ROOT,
            "<text x=\"2\" y=\"%d\"><tspan class=\"label\"%s>%s</tspan><tspan %s>%s</tspan></text>",
            top + 16,
            panel.label.length() * WIDE_LETTER > size.width
                ? " textLength=\"" + (size.width - 8) + "\" lengthAdjust=\"spacingAndGlyphs\""
                : "",
            Html.escaped(panel.label),
            heading == HEADING ? "dx=\"10\"" : "x=\"2\" dy=\"" + NOTE_HEIGHT + "\"",
            Html.escaped(panel.note)));
    for (Drip.Stall stall : panel.stalls) {
      shade(out, frame, stall);
    }
    for (double share : new double[] {0, 0.5, 1}) {
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
    for (long at : Axis.times(lengthNanos, size.mostTimeTicks)) {
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
      path.append('V').append(number(frame.y(panel.points.get(i).level())));
      path.append('H').append(number(frame.x(end)));
    }
    return path.append('V').append(number(frame.y(0))).append('Z').toString();
  }

  private static String line(Panel panel, Frame frame) {
    StringBuilder path = new StringBuilder();
    for (LevelPoint point : panel.points) {
      path.append(path.isEmpty() ? 'M' : 'L')
          .append(number(frame.x(point.nanos())))
          .append(' ')
          .append(number(frame.y(point.level())));
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

  /** Where a panel lies, and what its sides stand for. */
  private record Frame(
      double left, double top, double width, double height, long lengthNanos, double highest) {

    double x(long nanos) {
      return left + width * Math.min((double) nanos / lengthNanos, 1);
    }

    double y(double value) {
      return top + height - height * value / highest;
    }
  }
}
