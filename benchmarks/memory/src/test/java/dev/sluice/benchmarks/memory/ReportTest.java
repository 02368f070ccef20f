// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.benchmarks.memory.Footprint.Size;
import dev.sluice.benchmarks.memory.Row.Cost;
import dev.sluice.benchmarks.report.Figure;
import dev.sluice.benchmarks.report.Goal;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

class ReportTest {

  private static final Row MILLION =
      new Row(Subjects.SLUICE, 1_000_000, "uniform", "allow", 1, "Parallel");

  private static Map<Row, Cost> figures() {
    Map<Row, Cost> figures = new LinkedHashMap<>();
    figures.put(MILLION, new Cost(100, 0));
    figures.put(MILLION.of(Subjects.BUCKET4J), new Cost(950, 64));
    figures.put(MILLION.of(Subjects.CLOCK_AND_SWAP), new Cost(50, 0));
    figures.put(MILLION.of(Subjects.SLUICE_BY_NAME), new Cost(120, Double.NaN));
    return figures;
  }

  @Test
  void goals_areRatiosOfWhatWasMeasured_andNoOthers() {
    List<Goal> goals = Goals.of(figures(), List.of(new Size(Subjects.SLUICE, 1_000_000, 23.5)));
    assertThat(goals)
        .extracting(Goal::text, Goal::figure, Goal::met)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple(
                "10^6 keys, 1 thread: time vs. clock-and-swap", 2.0, false),
            org.assertj.core.groups.Tuple.tuple(
                "10^6 keys, 1 thread: speed vs. Bucket4j", 9.5, true),
            org.assertj.core.groups.Tuple.tuple(
                "bytes allocated by a decision through a Limit, allow", 0.0, true),
            org.assertj.core.groups.Tuple.tuple(
                "time of the ordinary API vs. a Limit handle", 1.2, true),
            org.assertj.core.groups.Tuple.tuple(
                "bytes of heap per live bucket at 1,000,000", 23.5, true));
    assertThat(goals.get(0).line()).contains("2.00", "≤ 1.25", "NOT MET");
    Row insert =
        new Row(Subjects.SLUICE, InsertBenchmark.KEYS, "in order", "insert", 1, "Parallel");
    assertThat(Goals.of(Map.of(insert, new Cost(900, 162)), List.of()))
        .extracting(Goal::text, Goal::figure, Goal::met)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple(
                "bytes allocated by a decision through a Limit, insert", 162.0, false));
    assertThat(Goals.of(Map.of(), List.of())).isEmpty();
    assertThat(Goals.of(Map.of(MILLION, new Cost(0, 0)), List.of())).hasSize(1);
  }

  @Test
  void table_hasALineARow_withTheRatio() {
    assertThat(Table.lines(figures()))
        .hasSize(4)
        .anyMatch(line -> line.contains("bucket4j") && line.strip().endsWith("9.50  |"))
        .anyMatch(line -> line.contains("sluice-by-name") && line.contains("–"));
  }

  @Test
  void chart_isWellFormed_withABackground_andABarARow() throws Exception {
    byte[] svg = Chart.svg(figures()).getBytes(StandardCharsets.UTF_8);
    var document =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(new ByteArrayInputStream(svg));
    NodeList rectangles = document.getElementsByTagName("rect");
    assertThat(rectangles.getLength()).isEqualTo(1 + 4);
    Element background = (Element) rectangles.item(0);
    assertThat(background.getAttribute("width")).isEqualTo("100%");
    for (int bar = 1; bar <= 4; bar++) {
      assertThat(((Element) rectangles.item(bar)).getAttribute("class")).isIn("ours", "peer");
    }
  }

  @Test
  void figures_thatOverlap_areMarked() {
    Map<Row, Cost> figures = new LinkedHashMap<>();
    Cost ours = Cost.of(List.of(new Cost(90, 0), new Cost(120, 0), new Cost(100, 8)));
    assertThat(ours).isEqualTo(new Cost(new Figure(100, 90, 120), 0));
    figures.put(MILLION, ours);
    figures.put(MILLION.of(Subjects.BUCKET4J), new Cost(new Figure(130, 115, 140), 64));
    figures.put(MILLION.of(Subjects.MAP_GCRA), new Cost(new Figure(130, 121, 140), 0));
    assertThat(Table.lines(figures))
        .anyMatch(line -> line.contains("bucket4j") && line.endsWith("1.30~ |"))
        .anyMatch(line -> line.contains("map-gcra") && line.endsWith("1.30  |"));
  }

  @Test
  void orders_areTheSameInEachRun() {
    Keys.Order once = Keys.order(10, true, 1);
    Keys.Order again = Keys.order(10, true, 1);
    int[] counts = new int[10];
    for (int i = 0; i < 10_000; i++) {
      int key = once.next();
      assertThat(again.next()).isEqualTo(key);
      counts[key]++;
    }
    assertThat(counts[0]).as("the hottest").isGreaterThan(5 * counts[9]);
    assertThat(Keys.text(9)).isEqualTo("user-000000000071271");
  }

  /** Whoever is measured does what the others do: the burst, and then no more. */
  @ParameterizedTest
  @EnumSource(
      value = Subjects.class,
      names = {
        "MAP_GET",
        "READ_A_LINE",
        "CLOCK_AND_SWAP",
        "HASH_AND_SWAP",
        "READ_THE_CLOCK",
        "GUAVA"
      }, // bounds; no burst
      mode = EnumSource.Mode.EXCLUDE)
  void subjects_giveOutTheBurst(Subjects subject) {
    Spender decider = subject.make(2, 3, Duration.ofHours(1));
    for (String key : List.of("a", "b")) {
      assertThat(decider.trySpend(key)).isTrue();
      assertThat(decider.trySpend(key)).isTrue();
      assertThat(decider.trySpend(key)).isTrue();
      assertThat(decider.trySpend(key)).isFalse();
    }
  }
}
