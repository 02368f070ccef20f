// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.util.ArrayList;
import java.util.List;

/**
 * A comparison as one page: text, tables and charts, without a script and without anything to load.
 * For a wide screen or a narrow one, light or dark, and for paper.
 */
public final class Report {

  private final Scenario scenario;
  private final List<RunResult> outcomes;
  private final List<String> labels;
  private final Charts charts;
  private final StringBuilder out = new StringBuilder();

  private Report(Scenario scenario, List<RunResult> outcomes) {
    this.scenario = scenario;
    this.outcomes = outcomes;
    this.labels = Subject.labels(outcomes.stream().map(RunResult::subject).toList());
    this.charts = new Charts(outcomes, scenario.length().toNanos(), scenario.watchedClient());
  }

  /**
   * Writes the page.
   *
   * @param scenario what was simulated
   * @param outcomes what came of it, at least one
   * @param command with which the page can be made again
   * @return HTML
   */
  public static String html(Scenario scenario, List<RunResult> outcomes, String command) {
    return new Report(scenario, outcomes).html(command);
  }

  private String html(String command) {
    out.append("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.append("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    out.append("<title>Rate limiting, simulated: ")
        .append(Html.escaped(String.join(", ", labels)))
        .append("</title>\n<style>\n")
        .append(ReportStyle.forPages())
        .append("\n</style>\n</head>\n<body>\n<main>\n");
    heading(command);
    summary();
    figure(
        charts.admitted(),
        "Admitted requests",
        "One panel for each, all on the same scale; a quarter of the height is a sixteenth of the number."
            + " Later means after the limit's first period, when the burst is spent."
            + " High and narrow means that the server"
            + " behind must be built for the peak; low and even, that it need not be.");
    figure(
        charts.denied(),
        "Denied requests",
        "Requests that were refused. A client that is told to come back soon asks more often, so many denials can stand beside more admitted requests.");
    figure(
        charts.level(),
        "One client's bucket",
        "How many tokens %s has taken. At the dashed line the bucket is full and the next request is refused; how the line falls is how fast the client gets access again."
            .formatted(scenario.watchedClient()));
    meanings();
    return out.append("</main>\n</body>\n</html>\n").toString();
  }

  private void heading(String command) {
    out.append("<h1>Rate limiting, simulated</h1>\n");
    out.append(
        "<p>The same traffic was put to %s on a virtual clock. Only the answers differ.</p>\n"
            .formatted(Html.escaped(inWords())));
    out.append("<p class=\"verdict\">%s</p>\n".formatted(Html.escaped(Conclusion.of(outcomes))));
    out.append("<dl class=\"setting\">\n");
    for (ClientGroup group : scenario.traffic()) {
      setting("Traffic", group + " (" + group.inWords() + ")");
    }
    setting("Clients", Numbers.whole(outcomes.get(0).clients()));
    setting(
        outcomes.stream().map(o -> o.subject().quota()).distinct().count() == 1
            ? "Limit, for each bucket"
            : "Limits, for each bucket",
        String.join(
            "; ", outcomes.stream().map(o -> limitInWords(o.subject())).distinct().toList()));
    setting(
        "Simulated time",
        "%s, counted in steps of %s"
            .formatted(Spans.exact(scenario.length().toNanos()), charts.step()));
    setting("Seed", scenario.seed() + ": the same seed gives the same figures");
    drip();
    out.append("<dt>To repeat it</dt><dd><code>")
        .append(Html.escaped(command))
        .append("</code></dd>\n</dl>\n");
  }

  private String inWords() {
    List<String> kinds =
        outcomes.stream()
            .map(o -> o.subject().algorithm())
            .distinct()
            .map(kind -> kind + " (" + kind.inWords() + ")")
            .toList();
    if (kinds.size() == 1) {
      return kinds.get(0);
    }
    List<String> first = new ArrayList<>(kinds.subList(0, kinds.size() - 1));
    return String.join(", ", first) + " and " + kinds.get(kinds.size() - 1);
  }

  private static String limitInWords(Subject subject) {
    return "%s requests per %s, up to %s at once"
        .formatted(
            Numbers.whole(subject.quota().count()),
            Spans.exact(subject.quota().period().toNanos()),
            Numbers.whole(subject.quota().burst()));
  }

  private void drip() {
    outcomes.stream()
        .map(RunResult::subject)
        .filter(s -> s.algorithm() == Algorithm.LEAKY_BUCKET)
        .map(Subject::drip)
        .findFirst()
        .ifPresent(drip -> setting("Drip of the leaky bucket", dripInWords(drip)));
  }

  private static String dripInWords(Drip drip) {
    List<String> words = new ArrayList<>();
    words.add(
        drip.every().isZero()
            ? "runs once for each token"
            : "runs every " + Spans.exact(drip.every().toNanos()));
    if (drip.bucketsPerRun() > 0) {
      words.add("gets %s buckets done in a run".formatted(Numbers.whole(drip.bucketsPerRun())));
    }
    for (Drip.Stall stall : drip.stalls()) {
      words.add(
          "stalls at %s for %s"
              .formatted(
                  Spans.exact(stall.from().toNanos()), Spans.exact(stall.length().toNanos())));
    }
    return String.join(", ", words);
  }

  private void setting(String name, String value) {
    out.append("<dt>%s</dt><dd>%s</dd>\n".formatted(Html.escaped(name), Html.escaped(value)));
  }

  private void summary() {
    long bin = outcomes.get(0).binNanos();
    out.append(
        "<h2 id=\"summary\">In figures</h2>\n<table class=\"summary\">\n<thead><tr><td></td>");
    for (Measure measure : Measure.values()) {
      out.append("<th scope=\"col\">%s</th>".formatted(Html.escaped(measure.label(bin))));
    }
    out.append("</tr></thead>\n<tbody>\n");
    for (int i = 0; i < outcomes.size(); i++) {
      out.append("<tr><th scope=\"row\">%s</th>".formatted(Html.escaped(labels.get(i))));
      for (Measure measure : Measure.values()) {
        out.append(
            "<td data-label=\"%s\">%s</td>"
                .formatted(
                    Html.escaped(measure.label(bin)), Html.escaped(measure.of(outcomes.get(i)))));
      }
      out.append("</tr>\n");
    }
    out.append("</tbody>\n</table>\n");
    out.append("<p class=\"soft\"><a href=\"#meaning\">What the figures mean</a></p>\n");
  }

  private void figure(Chart chart, String heading, String caption) {
    out.append("<h2>%s</h2>\n<figure>\n".formatted(Html.escaped(heading)));
    out.append("<figcaption>%s</figcaption>\n".formatted(Html.escaped(caption)));
    for (ChartSize size : ChartSize.values()) {
      out.append("<div class=\"%s\">%s</div>\n".formatted(size.text(), chart.inline(size)));
    }
    out.append("</figure>\n");
    numbers(chart, heading);
  }

  /** The same chart as a table: a row for each step of time, a column for each subject. */
  private void numbers(Chart chart, String heading) {
    out.append("<details><summary>The numbers of this chart</summary>\n");
    out.append(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Numbers: %s\"><table><thead><tr><th scope=\"col\">time</th>"
            .formatted(Html.escaped(heading)));
    for (Chart.Panel panel : chart.panels()) {
      out.append("<th scope=\"col\">%s</th>".formatted(Html.escaped(panel.label())));
    }
    out.append("</tr></thead><tbody>\n");
    long bin = outcomes.get(0).binNanos();
    int[] next = new int[chart.panels().size()];
    for (long at = 0; at < scenario.length().toNanos(); at += bin) {
      out.append("<tr><td>%s</td>".formatted(Axis.time(at, scenario.length().toNanos())));
      for (int i = 0; i < next.length; i++) {
        List<RunResult.Point> points = chart.panels().get(i).points();
        while (next[i] + 1 < points.size() && points.get(next[i] + 1).nanos() <= at) {
          next[i]++;
        }
        out.append("<td>%s</td>".formatted(Numbers.brief(points.get(next[i]).value())));
      }
      out.append("</tr>\n");
    }
    out.append("</tbody></table></div></details>\n");
  }

  private void meanings() {
    out.append("<h2 id=\"meaning\">What the figures mean</h2>\n<dl class=\"meaning\">\n");
    long bin = outcomes.get(0).binNanos();
    for (Measure measure : Measure.values()) {
      out.append(
          "<dt>%s</dt><dd>%s</dd>\n"
              .formatted(Html.escaped(measure.label(bin)), Html.escaped(measure.meaning())));
    }
    out.append("</dl>\n");
  }
}
