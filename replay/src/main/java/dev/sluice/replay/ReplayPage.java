// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import dev.sluice.replay.ReplayResult.Bin;
import dev.sluice.replay.ReplayResult.Client;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.DayOfWeek;
import java.time.ZonedDateTime;
import java.time.format.TextStyle;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/*
 * The page contains no script and loads no other files. Every text from the log is escaped. In case
 * an escape is missing, the security policy of the page forbids scripts. A chart library for
 * browsers would need scripts, so this class draws the few kinds of charts as SVG and tables.
 */
/** Writes a result as an HTML page that needs no network. Not thread-safe. */
public final class ReplayPage {

  private static final int COLUMNS = 120;
  private static final int WIDTH = 900;
  private static final int LEFT = 60;
  private static final int PLOT_HEIGHT = 180;
  private static final int TOP = 10;
  private static final int HOURS = 24;

  private final ReplayResult result;
  private final String against;
  private final ClientNames names;
  private final @Nullable LevelOverTime level;
  private final StringBuilder out = new StringBuilder();

  private ReplayPage(
      ReplayResult result, String against, ClientNames names, @Nullable LevelOverTime level) {
    this.level = level;
    this.result = result;
    this.against = against;
    this.names = names;
  }

  /**
   * Returns an HTML page. {@code against} is the name of the candidate's file; empty without a
   * candidate.
   */
  public static String html(
      ReplayResult result, String against, ClientNames names, @Nullable LevelOverTime level) {
    return new ReplayPage(result, against, names, level).page();
  }

  private String page() {
    out.append(
        """
        <!doctype html>
        <!-- a report of sluice -->
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <meta name="viewport" content="width=device-width,initial-scale=1">
        <title>Limits, tried on access logs</title>
        <style>
        """);
    out.append(style()).append("</style>\n</head>\n<body>\n<main>\n");
    out.append("<h1>Limits, tried on access logs</h1>\n");
    paragraph(ReplayText.heading(result));
    table();
    ReplayText.findings(result, names).forEach(this::paragraph);
    ReplayText.change(result.change(), against).forEach(this::paragraph);
    if (!result.series().bins().isEmpty()) {
      overTime(false);
      if (result.series().bins().stream().anyMatch(bin -> bin.denied() + bin.otherDenied() > 0)) {
        overTime(true);
      }
      deniedByClient();
      heatMap();
    }
    if (level != null) {
      levelOverTime(level);
    }
    heading("What a replay cannot predict");
    paragraph(
        "A denied client behaves differently from a client in the log: it waits, retries or leaves."
            + " The real numbers of denied requests will therefore differ from this replay.");
    return out.append("</main>\n</body>\n</html>\n").toString();
  }

  private static String style() {
    try (InputStream in =
        Objects.requireNonNull(ReplayPage.class.getResourceAsStream("page.css"))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }

  private void heading(String text) {
    out.append("<h2>").append(escaped(text)).append("</h2>\n");
  }

  private void paragraph(String text) {
    out.append("<p>").append(escaped(text)).append("</p>\n");
  }

  private void table() {
    out.append("<div class=\"scroll\"><table>\n");
    String cell = "th";
    for (List<String> row : ReplayText.cells(result, against)) {
      out.append("<tr>");
      for (int i = 0; i < row.size(); i++) {
        out.append("<%s%s>".formatted(cell, i == 1 ? " class=\"number\"" : ""))
            .append(escaped(row.get(i)))
            .append("</%s>".formatted(cell));
      }
      out.append("</tr>\n");
      cell = "td";
    }
    out.append("</table></div>\n");
  }

  /** Returns one bin per column of the chart, each joined from one or more bins of the result. */
  private List<Bin> columns(long columnNanos) {
    List<Bin> bins = result.series().bins();
    long first = bins.get(0).atNanos();
    List<Bin> columns = new ArrayList<>();
    for (Bin bin : bins) {
      long at = first + (bin.atNanos() - first) / columnNanos * columnNanos;
      Bin last = columns.isEmpty() ? null : columns.get(columns.size() - 1);
      if (last != null && last.atNanos() == at) {
        columns.set(
            columns.size() - 1,
            new Bin(
                at,
                last.requests() + bin.requests(),
                last.denied() + bin.denied(),
                last.otherDenied() + bin.otherDenied()));
      } else {
        columns.add(new Bin(at, bin.requests(), bin.denied(), bin.otherDenied()));
      }
    }
    return columns;
  }

  private void overTime(boolean onlyDenied) {
    List<Bin> bins = result.series().bins();
    long binNanos = result.series().binNanos();
    long first = bins.get(0).atNanos();
    long length = bins.get(bins.size() - 1).atNanos() + binNanos - first;
    long inColumn = Math.max(1, (length / binNanos + COLUMNS - 1) / COLUMNS);
    long columnNanos = inColumn * binNanos;
    List<Bin> columns = columns(columnNanos);
    long most =
        columns.stream()
            .mapToLong(
                bin -> onlyDenied ? Math.max(bin.denied(), bin.otherDenied()) : bin.requests())
            .max()
            .orElse(1);
    long count = (length + columnNanos - 1) / columnNanos;
    double width = (double) (WIDTH - LEFT) / count;
    heading((onlyDenied ? "Denied requests per " : "Requests per ") + Words.duration(columnNanos));
    out.append("<p>");
    if (!onlyDenied) {
      key("pass", "admitted");
    }
    key("deny", "denied");
    if (onlyDenied && result.change() != null) {
      key("other", "denied with " + against);
    }
    out.append("</p>\n<div class=\"scroll\">");
    out.append(
        "<svg viewBox=\"0 0 %s %s\" role=\"img\" aria-label=\"Requests over time; the highest column is %s\">\n"
            .formatted(WIDTH, PLOT_HEIGHT + 40, Words.whole(most)));
    label(most);
    StringBuilder line = new StringBuilder();
    for (Bin column : columns) {
      long number = (column.atNanos() - first) / columnNanos;
      double x = LEFT + width * number;
      double deny = (double) PLOT_HEIGHT * column.denied() / most;
      long admitted = onlyDenied ? 0 : column.requests() - column.denied();
      double pass = (double) PLOT_HEIGHT * admitted / most;
      rectangle("deny", x, TOP + PLOT_HEIGHT - deny, width, deny);
      rectangle("pass", x, TOP + PLOT_HEIGHT - deny - pass, width, pass);
      double other = TOP + PLOT_HEIGHT - (double) PLOT_HEIGHT * column.otherDenied() / most;
      line.append(String.format(Locale.ROOT, "%.1f,%.1f ", x + width / 2, other));
    }
    if (result.change() != null && onlyDenied) {
      out.append("<polyline class=\"other\" points=\"").append(line).append("\"/>\n");
    }
    axis(first, first + length);
  }

  /** Adds the time axis with the first and the last time to a chart. Ends the chart. */
  private void axis(long first, long last) {
    out.append(
        "<line class=\"axis\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%2$s\"/>\n"
            .formatted(LEFT, TOP + PLOT_HEIGHT, WIDTH));
    var zone = result.log().zone();
    out.append(
        "<text x=\"%s\" y=\"%s\">%s %s</text><text x=\"%s\" y=\"%2$s\" text-anchor=\"end\">%s %s</text>\n</svg></div>\n"
            .formatted(
                LEFT,
                TOP + PLOT_HEIGHT + 18,
                Words.date(first, zone),
                Words.minute(first, zone),
                WIDTH,
                Words.date(last, zone),
                Words.minute(last, zone)));
  }

  /** Adds a chart of the tokens in a bucket. Between two requests, the bucket refills steadily. */
  private void levelOverTime(LevelOverTime bucket) {
    heading("Tokens in " + bucket.name);
    paragraph(bucket.summary());
    if (bucket.spans().isEmpty()) {
      return;
    }
    long first = bucket.spans().get(0).fromNanos();
    long last = bucket.spans().get(bucket.spans().size() - 1).toNanos();
    long burst = bucket.quota.burst();
    double perNano = (WIDTH - LEFT) / (double) Math.max(1, last - first);
    out.append("<p>");
    key("pass", "tokens");
    key("deny", "a denied request");
    out.append("</p>\n<div class=\"scroll\">");
    out.append(
        "<svg viewBox=\"0 0 %s %s\" role=\"img\" aria-label=\"Tokens over time\">\n"
            .formatted(WIDTH, PLOT_HEIGHT + 40));
    label(burst);
    StringBuilder line = new StringBuilder();
    long fullAt = first;
    for (LevelOverTime.Span span : bucket.spans()) {
      double from = LEFT + perNano * (span.fromNanos() - first);
      double to = LEFT + perNano * (span.toNanos() - first);
      if (fullAt < span.fromNanos()) {
        point(line, LEFT + perNano * (fullAt - first), burst, burst);
      }
      point(line, from, span.before(), burst);
      point(line, from, span.least(), burst);
      point(line, to, span.least(), burst);
      point(line, to, span.after(), burst);
      long refill = bucket.quota.incrementNanos(burst - span.after());
      fullAt = refill > last - span.toNanos() ? last : span.toNanos() + refill;
      if (span.denied() > 0) {
        rectangle("deny", from, TOP + PLOT_HEIGHT + 2, to - from, 5);
      }
    }
    out.append("<polyline class=\"level\" points=\"").append(line).append("\"/>\n");
    axis(first, last);
  }

  private static void point(StringBuilder line, double x, long tokens, long burst) {
    double y = TOP + PLOT_HEIGHT - (double) PLOT_HEIGHT * tokens / burst;
    line.append(String.format(Locale.ROOT, "%.1f,%.1f ", x, y));
  }

  /** Adds the labels for 0 and for the largest number to the vertical axis of a chart. */
  private void label(long most) {
    out.append(
        "<text x=\"%s\" y=\"%s\" text-anchor=\"end\">%s</text><text x=\"%1$s\" y=\"%s\" text-anchor=\"end\">0</text>\n"
            .formatted(LEFT - 6, TOP + 10, Words.whole(most), TOP + PLOT_HEIGHT));
  }

  private void key(String colour, String text) {
    out.append("<span class=\"key\" style=\"color:var(--%s)\">".formatted(colour))
        .append(escaped(text))
        .append("</span>");
  }

  private void rectangle(String kind, double x, double y, double width, double height) {
    if (height > 0) {
      out.append(
          String.format(
              Locale.ROOT,
              "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>\n",
              kind,
              x,
              y,
              Math.max(1, width * 0.9),
              Math.max(1, height)));
    }
  }

  private void deniedByClient() {
    if (result.mostDenied().isEmpty()) {
      return;
    }
    heading("Most denied clients");
    long most = result.mostDenied().get(0).denied();
    out.append(
        "<div class=\"scroll\"><table class=\"bars\">\n<tr><th>client</th><th class=\"number\">requests</th>"
            + "<th class=\"number\">denied</th><th class=\"number\">of these, served</th><th></th></tr>\n");
    for (Client client : result.mostDenied()) {
      out.append(
          String.format(
              Locale.ROOT,
              "<tr><td>%s</td><td class=\"number\">%,d</td><td class=\"number\">%,d</td><td class=\"number\">%,d</td><td><div class=\"bar\" style=\"width:%.1f%%\"></div></td></tr>\n",
              escaped(names.of(client.name())),
              client.requests(),
              client.denied(),
              client.served(),
              100.0 * client.denied() / most));
    }
    out.append("</table></div>\n");
  }

  private void heatMap() {
    long[][] denied = new long[DayOfWeek.values().length][HOURS];
    long[] requests = new long[denied.length];
    long most = 0;
    for (Bin bin : result.series().bins()) {
      ZonedDateTime when = Words.instant(bin.atNanos()).atZone(result.log().zone());
      int day = when.getDayOfWeek().getValue() - 1;
      denied[day][when.getHour()] += bin.denied();
      requests[day] += bin.requests();
      most = Math.max(most, denied[day][when.getHour()]);
    }
    if (most == 0) {
      return;
    }
    heading("Denied requests by hour and weekday");
    out.append("<div class=\"scroll\"><table class=\"heat\">\n<tr><th></th>");
    for (int hour = 0; hour < HOURS; hour++) {
      out.append("<th>").append(hour).append("</th>");
    }
    out.append("</tr>\n");
    for (DayOfWeek day : DayOfWeek.values()) {
      if (requests[day.getValue() - 1] == 0) {
        continue;
      }
      out.append("<tr><th>%s</th>".formatted(day.getDisplayName(TextStyle.SHORT, Locale.ENGLISH)));
      for (long count : denied[day.getValue() - 1]) {
        long share = count == 0 ? 0 : 15 + 70 * count / most;
        out.append(
            "<td style=\"background:color-mix(in srgb,var(--deny) %s%%,var(--back))\" title=\"%s\">%s</td>"
                .formatted(share, Words.whole(count), count == 0 ? "" : shortened(count)));
      }
      out.append("</tr>\n");
    }
    out.append("</table></div>\n");
  }

  /** Returns a count in at most five characters, such as {@code ≈12k} for 12,345. */
  static String shortened(long count) {
    if (count < 1_000) {
      return String.valueOf(count);
    }
    long unit = count < 999_500 ? 1_000 : 1_000_000;
    long rounded = (count + unit / 2) / unit;
    return (rounded * unit == count ? "" : "≈") + rounded + (unit == 1_000 ? "k" : "M");
  }
}
