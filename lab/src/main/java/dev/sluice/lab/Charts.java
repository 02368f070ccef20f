// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** The charts of a comparison. Pure. */
final class Charts {

  private final List<RunResult> outcomes;
  private final List<String> labels;
  private final long lengthNanos;
  private final String watched;

  /**
   * The charts.
   *
   * @param watched whose bucket is drawn
   */
  Charts(List<RunResult> outcomes, long lengthNanos, String watched) {
    this.outcomes = outcomes;
    this.labels = Subject.labels(outcomes.stream().map(RunResult::subject).toList());
    this.lengthNanos = lengthNanos;
    this.watched = watched;
  }

  String step() {
    return Spans.exact(outcomes.get(0).binNanos());
  }

  Chart admitted() {
    return counts(
        "admitted",
        "Requests that passed, over time",
        RunResult::admitted,
        outcome -> lockout(outcome) + " · " + most(outcome) + " in " + step());
  }

  Chart denied() {
    return counts(
        "denied",
        "Requests that were turned away, over time",
        RunResult::denied,
        outcome ->
            outcome.totalDenied() == 0 ? "none" : Numbers.whole(outcome.totalDenied()) + " in all");
  }

  private static String lockout(RunResult outcome) {
    if (outcome.clientsNeverServed() > 0) {
      return Numbers.whole(outcome.clientsNeverServed()) + " never served";
    }
    return outcome.longestLockoutNanos() == 0
        ? "nobody locked out"
        : "locked out " + Spans.words(outcome.longestLockoutNanos());
  }

  /**
   * After the first period where there is one: the first spike is the burst, under every algorithm.
   */
  private static String most(RunResult outcome) {
    long later = outcome.peakAfterTheFirstPeriod();
    return later == 0
        ? "up to " + Numbers.whole(outcome.peak())
        : "later up to " + Numbers.whole(later);
  }

  private Chart counts(
      String id,
      String title,
      Function<RunResult, List<Long>> series,
      Function<RunResult, String> note) {
    long most = 1;
    List<Chart.Panel> panels = new ArrayList<>();
    for (int i = 0; i < outcomes.size(); i++) {
      RunResult outcome = outcomes.get(i);
      List<RunResult.Point> points = new ArrayList<>();
      for (long count : series.apply(outcome)) {
        points.add(new RunResult.Point(points.size() * outcome.binNanos(), (double) count));
        most = Math.max(most, count);
      }
      panels.add(
          new Chart.Panel(
              labels.get(i), note.apply(outcome), id, false, points, 0, stalls(outcome)));
    }
    return new Chart(
        id,
        title,
        text(panels),
        "requests in " + step() + ", on a square-root scale",
        lengthNanos,
        Axis.roundUp((double) most),
        Chart.Scale.ROOT,
        panels);
  }

  Chart level() {
    double most = 1;
    List<Chart.Panel> panels = new ArrayList<>();
    for (int i = 0; i < outcomes.size(); i++) {
      RunResult outcome = outcomes.get(i);
      long burst = outcome.subject().quota().burst();
      most = Math.max(most, (double) burst);
      panels.add(
          new Chart.Panel(
              labels.get(i), "", "level", true, outcome.level(), (double) burst, stalls(outcome)));
    }
    return new Chart(
        "level",
        "How full the bucket of " + watched + " is, over time",
        text(panels),
        "tokens taken",
        lengthNanos,
        most,
        Chart.Scale.LINEAR,
        panels);
  }

  private static String text(List<Chart.Panel> panels) {
    return String.join(
        "; ",
        panels.stream()
            .map(panel -> panel.label() + (panel.note().isEmpty() ? "" : ": " + panel.note()))
            .toList());
  }

  private static List<Drip.Stall> stalls(RunResult outcome) {
    return outcome.subject().algorithm() == Algorithm.LEAKY_BUCKET
        ? outcome.subject().drip().stalls()
        : List.of();
  }
}
