// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The charts and the figures of docs/algorithms.md are those of the simulation. {@code
 * -Dsluice.write} writes the charts. The output of the command on that page has its own test in the
 * module of the command.
 */
final class AlgorithmsDocTest {

  private static final Path DOCS = Path.of("..", "docs");

  @Test
  void stampede_atTheReset() throws IOException {
    List<RunResult> outcomes =
        FourHours.run("rogue:clients=20", Drip.HEALTHY, Algorithm.TIME_BUCKET, Algorithm.GCRA);
    requireCharts("stampede", Report.admittedChart(outcomes));
    requireText(
        "after the first hour, a time bucket admits up to **%s** requests a minute, GCRA **%s**"
            .formatted(
                Format.whole(peakAfterTheFirstHour(outcomes.get(0))),
                Format.whole(peakAfterTheFirstHour(outcomes.get(1)))));
    assertThat(peakAfterTheFirstHour(outcomes.get(0)))
        .isGreaterThan(20 * peakAfterTheFirstHour(outcomes.get(1)));
  }

  @Test
  void dripThatStalls_deniesWrongly() throws IOException {
    Drip drip = Drip.HEALTHY.stalledFrom(Duration.ofHours(1), Duration.ofHours(2));
    List<RunResult> outcomes =
        FourHours.run("steady:clients=50", drip, Algorithm.LEAKY_BUCKET, Algorithm.GCRA);
    requireCharts("stalled-drip", Report.deniedChart(outcomes));
    RunResult leaky = outcomes.get(0);
    requireText(
        "**%s** of %s requests"
            .formatted(
                Format.whole(leaky.wronglyDenied().orElseThrow()), Format.whole(leaky.requests())));
    assertThat(outcomes.get(1).totalDenied()).isZero();
  }

  @Test
  void gcra_givesAccessBackSmoothly() throws IOException {
    List<RunResult> outcomes =
        FourHours.run(
            "bursty:clients=1,size=60",
            Drip.HEALTHY,
            Algorithm.TIME_BUCKET,
            Algorithm.LEAKY_BUCKET,
            Algorithm.GCRA);
    requireCharts("smooth", Report.levelChart(outcomes, "the client"));
    requireText(
        "**%s** of the client's %s requests, GCRA **%s**"
            .formatted(
                Format.whole(outcomes.get(0).totalAdmitted()),
                Format.whole(outcomes.get(0).requests()),
                Format.whole(outcomes.get(2).totalAdmitted())));
  }

  private static long peakAfterTheFirstHour(RunResult outcome) {
    int first = (int) (Duration.ofHours(1).toNanos() / outcome.binNanos());
    return outcome.admitted().stream().skip(first).mapToLong(n -> n).max().orElseThrow();
  }

  private static void requireText(String text) throws IOException {
    String page = Files.readString(DOCS.resolve("algorithms.md")).replaceAll("\\s+", " ");
    assertThat(page).contains(text);
  }

  private static void requireCharts(String name, Chart chart) throws IOException {
    for (Chart.Size size : Chart.Size.values()) {
      Path file = DOCS.resolve("images").resolve(name + "-" + size.text() + ".svg");
      if (System.getProperty("sluice.write") != null) {
        Files.writeString(file, chart.file(size));
      }
      assertThat(file).hasContent(chart.file(size));
      requireText("images/" + file.getFileName());
    }
  }
}
