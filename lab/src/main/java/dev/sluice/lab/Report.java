// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * Writes a comparison as one HTML page with text, a table, and three charts. The page contains no
 * script and loads no other files. The page suits wide and narrow screens, light and dark screens,
 * and paper.
 */
public final class Report {

  private final Scenario scenario;
  private final List<RunResult> results;
  private final List<String> labels;
  private final long binNanos;
  private final StringBuilder out = new StringBuilder();

  private Report(Scenario scenario, List<RunResult> results) {
    this.scenario = scenario;
    this.results = results;
    this.labels = labels(results);
    this.binNanos = scenario.bin().toNanos();
  }

  /**
   * Returns the page in HTML. {@code command} is the command line that creates this page; the page
   * shows it.
   */
  public static String html(Scenario scenario, List<RunResult> results, String command) {
    return new Report(scenario, results).html(command);
  }

  private static List<String> labels(List<RunResult> results) {
    return Subject.labels(results.stream().map(RunResult::subject).toList());
  }

  private String html(String command) {
    out.append("<!doctype html>\n<!-- a report of sluice -->\n<html lang=\"en\">\n");
    out.append("<head>\n<meta charset=\"utf-8\">\n");
    out.append("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    out.append("<title>Rate limiting, simulated: ")
        .append(Format.escaped(String.join(", ", labels)))
        .append("</title>\n<style>\n")
        .append(StyleSheet.ofPage())
        .append("\n</style>\n</head>\n<body>\n<main>\n");
    heading(command);
    summary();
    figure(
        admittedChart(results),
        "Admitted requests",
        "All panels have the same square-root scale: half the height is a quarter of the number."
            + " \"Later\" means after the first period of the limit, when the first burst is spent."
            + " If the peaks are high and narrow, the server behind the limit must be able to serve them."
            + " If the rate is low and even, a smaller server is enough.");
    figure(
        deniedChart(results),
        "Denied requests",
        "A client that is told to wait for a short time sends more requests. An algorithm with short"
            + " waits can therefore both admit more requests and deny more requests.");
    figure(
        levelChart(results, scenario.watchedClient()),
        "One client's bucket",
        ("How many tokens %s has spent. At the dashed line all tokens are spent, and the next request"
                + " is denied. The faster the line falls, the sooner the client gets access again.")
            .formatted(scenario.watchedClient()));
    meanings();
    return out.append("</main>\n</body>\n</html>\n").toString();
  }

  private void heading(String command) {
    out.append("<h1>Rate limiting, simulated</h1>\n");
    out.append(
        "<p>The same traffic was sent to %s, on a virtual clock.</p>\n"
            .formatted(Format.escaped(algorithmsInWords())));
    out.append("<p class=\"verdict\">%s</p>\n".formatted(Format.escaped(Conclusion.of(results))));
    out.append("<dl class=\"setting\">\n");
    for (ClientGroup group : scenario.traffic()) {
      setting("Traffic", group + " (" + group.inWords() + ")");
    }
    setting("Clients", Format.whole(results.get(0).clients()));
    List<String> limits =
        results.stream().map(result -> limitInWords(result.subject())).distinct().toList();
    setting(
        limits.size() == 1 ? "Limit, for each bucket" : "Limits, for each bucket",
        String.join("; ", limits));
    setting(
        "Simulated time",
        "%s, counted in steps of %s"
            .formatted(Format.duration(scenario.length().toNanos()), Format.duration(binNanos)));
    setting("Seed", scenario.seed() + ": the same seed gives the same figures");
    drip();
    out.append("<dt>Command that creates this page</dt><dd><code>")
        .append(Format.escaped(command))
        .append("</code></dd>\n</dl>\n");
  }

  private String algorithmsInWords() {
    List<String> words =
        results.stream()
            .map(result -> result.subject().algorithm())
            .distinct()
            .map(algorithm -> algorithm + " (" + algorithm.inWords() + ")")
            .toList();
    if (words.size() == 1) {
      return words.get(0);
    }
    int last = words.size() - 1;
    return String.join(", ", words.subList(0, last)) + " and " + words.get(last);
  }

  private static String limitInWords(Subject subject) {
    return "%s requests per %s, up to %s at once"
        .formatted(
            Format.whole(subject.quota().count()),
            Format.duration(subject.quota().period().toNanos()),
            Format.whole(subject.quota().burst()));
  }

  private void drip() {
    results.stream()
        .map(RunResult::subject)
        .filter(subject -> subject.algorithm() == Algorithm.LEAKY_BUCKET)
        .map(Subject::drip)
        .findFirst()
        .ifPresent(drip -> setting("Drip of the leaky bucket", dripInWords(drip)));
  }

  private static String dripInWords(Drip drip) {
    List<String> words = new ArrayList<>();
    words.add(
        drip.every().isZero()
            ? "runs once for each token"
            : "runs every " + Format.duration(drip.every().toNanos()));
    if (drip.bucketsPerRun() > 0) {
      words.add("drains %s buckets per run".formatted(Format.whole(drip.bucketsPerRun())));
    }
    for (Drip.Stall stall : drip.stalls()) {
      words.add(
          "stalls at %s for %s"
              .formatted(
                  Format.duration(stall.from().toNanos()),
                  Format.duration(stall.length().toNanos())));
    }
    return String.join(", ", words);
  }

  private void setting(String name, String value) {
    out.append("<dt>%s</dt><dd>%s</dd>\n".formatted(Format.escaped(name), Format.escaped(value)));
  }

  private void summary() {
    out.append(
        "<h2 id=\"summary\">In figures</h2>\n<table class=\"summary\">\n<thead><tr><td></td>");
    for (Measure measure : Measure.values()) {
      out.append("<th scope=\"col\">%s</th>".formatted(Format.escaped(measure.label(binNanos))));
    }
    out.append("</tr></thead>\n<tbody>\n");
    for (int i = 0; i < results.size(); i++) {
      out.append("<tr><th scope=\"row\">%s</th>".formatted(Format.escaped(labels.get(i))));
      for (Measure measure : Measure.values()) {
        out.append(
            "<td data-label=\"%s\">%s</td>"
                .formatted(
                    Format.escaped(measure.label(binNanos)),
                    Format.escaped(measure.of(results.get(i)))));
      }
      out.append("</tr>\n");
    }
    out.append("</tbody>\n</table>\n");
    out.append("<p class=\"soft\"><a href=\"#meaning\">What the figures mean</a></p>\n");
  }

  private void figure(Chart chart, String heading, String caption) {
    out.append("<h2>%s</h2>\n<figure>\n".formatted(Format.escaped(heading)));
    out.append("<figcaption>%s</figcaption>\n".formatted(Format.escaped(caption)));
    for (Chart.Size size : Chart.Size.values()) {
      out.append("<div class=\"%s\">%s</div>\n".formatted(size.text(), chart.inline(size)));
    }
    out.append("</figure>\n");
    numbers(chart, heading);
  }

  /**
   * Writes the numbers of a chart as a table with one row per time step and one column per subject.
   */
  private void numbers(Chart chart, String heading) {
    out.append("<details><summary>The numbers of this chart</summary>\n");
    out.append(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Numbers: %s\"><table><thead><tr><th scope=\"col\">time</th>"
            .formatted(Format.escaped(heading)));
    for (Chart.Panel panel : chart.panels()) {
      out.append("<th scope=\"col\">%s</th>".formatted(Format.escaped(panel.label())));
    }
    out.append("</tr></thead><tbody>\n");
    long lengthNanos = scenario.length().toNanos();
    int[] next = new int[chart.panels().size()];
    for (long at = 0; at < lengthNanos; at += binNanos) {
      out.append("<tr><td>%s</td>".formatted(Axis.time(at, lengthNanos)));
      for (int i = 0; i < next.length; i++) {
        List<RunResult.Point> points = chart.panels().get(i).points();
        while (next[i] + 1 < points.size() && points.get(next[i] + 1).nanos() <= at) {
          next[i]++;
        }
        out.append("<td>%s</td>".formatted(Format.brief(points.get(next[i]).value())));
      }
      out.append("</tr>\n");
    }
    out.append("</tbody></table></div></details>\n");
  }

  private void meanings() {
    out.append("<h2 id=\"meaning\">What the figures mean</h2>\n<dl class=\"meaning\">\n");
    for (Measure measure : Measure.values()) {
      out.append(
          "<dt>%s</dt><dd>%s</dd>\n"
              .formatted(
                  Format.escaped(measure.label(binNanos)), Format.escaped(measure.meaning())));
    }
    out.append("</dl>\n");
  }

  static Chart admittedChart(List<RunResult> results) {
    return countChart(
        "admitted",
        "Admitted requests over time",
        results,
        RunResult::admitted,
        result ->
            lockout(result) + " · " + peak(result) + " in " + Format.duration(result.binNanos()));
  }

  static Chart deniedChart(List<RunResult> results) {
    return countChart(
        "denied",
        "Denied requests over time",
        results,
        RunResult::denied,
        result ->
            result.totalDenied() == 0 ? "none" : Format.whole(result.totalDenied()) + " in all");
  }

  /** Returns the chart of the spent tokens in the bucket of the watched client. */
  static Chart levelChart(List<RunResult> results, String watched) {
    List<String> labels = labels(results);
    double highest = 1;
    List<Chart.Panel> panels = new ArrayList<>();
    for (int i = 0; i < results.size(); i++) {
      RunResult result = results.get(i);
      double burst = (double) result.subject().quota().burst();
      highest = Math.max(highest, burst);
      panels.add(
          new Chart.Panel(labels.get(i), "", "level", true, result.level(), burst, stalls(result)));
    }
    return new Chart(
        "level",
        "Tokens taken from the bucket of " + watched + " over time",
        inWords(panels),
        "tokens taken",
        results.get(0).lengthNanos(),
        highest,
        Chart.Scale.LINEAR,
        panels);
  }

  private static Chart countChart(
      String id,
      String title,
      List<RunResult> results,
      Function<RunResult, List<Long>> counts,
      Function<RunResult, String> note) {
    List<String> labels = labels(results);
    long highest = 1;
    List<Chart.Panel> panels = new ArrayList<>();
    for (int i = 0; i < results.size(); i++) {
      RunResult result = results.get(i);
      List<RunResult.Point> points = new ArrayList<>();
      for (long count : counts.apply(result)) {
        points.add(new RunResult.Point(points.size() * result.binNanos(), (double) count));
        highest = Math.max(highest, count);
      }
      panels.add(
          new Chart.Panel(labels.get(i), note.apply(result), id, false, points, 0, stalls(result)));
    }
    return new Chart(
        id,
        title,
        inWords(panels),
        "requests in " + Format.duration(results.get(0).binNanos()) + ", on a square-root scale",
        results.get(0).lengthNanos(),
        Axis.roundUp((double) highest),
        Chart.Scale.ROOT,
        panels);
  }

  private static String lockout(RunResult result) {
    if (result.clientsNeverServed() > 0) {
      return Format.whole(result.clientsNeverServed()) + " never served";
    }
    return result.longestLockoutNanos() == 0
        ? "no client locked out"
        : "locked out " + Format.durationInWords(result.longestLockoutNanos());
  }

  /**
   * Returns the peak after the first period if requests were admitted after this period, since the
   * first burst is the same for every algorithm.
   */
  private static String peak(RunResult result) {
    long later = result.peakAfterTheFirstPeriod();
    return later == 0
        ? "up to " + Format.whole(result.peak())
        : "later up to " + Format.whole(later);
  }

  private static String inWords(List<Chart.Panel> panels) {
    return String.join(
        "; ",
        panels.stream()
            .map(panel -> panel.label() + (panel.note().isEmpty() ? "" : ": " + panel.note()))
            .toList());
  }

  private static List<Drip.Stall> stalls(RunResult result) {
    return result.subject().algorithm() == Algorithm.LEAKY_BUCKET
        ? result.subject().drip().stalls()
        : List.of();
  }
}
