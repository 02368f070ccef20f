// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The colours have enough contrast (WCAG 2.1 AA), and pictures carry their own colours. */
final class ChartColoursTest {

  private static final double TEXT = 4.5;
  private static final double SHAPE = 3;

  static Stream<Map<String, String>> palettes() {
    return Stream.of(StyleSheet.lightColours(), StyleSheet.darkColours());
  }

  @ParameterizedTest
  @MethodSource("palettes")
  void palette_hasTheContrastOfAA(Map<String, String> colours) {
    for (String text : List.of("ink", "soft")) {
      for (String background : List.of("paper", "shade")) {
        assertThat(contrast(colours.get(text), colours.get(background)))
            .as(text + " on " + background)
            .isGreaterThanOrEqualTo(TEXT);
      }
    }
    assertThat(contrast(colours.get("good"), colours.get("paper")))
        .as("links")
        .isGreaterThanOrEqualTo(TEXT);
    for (String shape : List.of("good", "bad", "water")) {
      for (String background : List.of("paper", "shade")) {
        assertThat(contrast(colours.get(shape), colours.get(background)))
            .as(shape + " on " + background)
            .isGreaterThanOrEqualTo(SHAPE);
      }
    }
  }

  @Test
  void pictures_haveTheirOwnBackground_andColoursWrittenOut() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("..", "docs", "images"))) {
      List<Path> pictures = files.filter(file -> file.toString().endsWith(".svg")).toList();
      assertThat(pictures).hasSizeGreaterThan(8);
      for (Path picture : pictures) {
        assertThat(Files.readString(picture))
            .as(picture.toString())
            .containsPattern("class=\"paper\"|fill=\"#fff\"")
            .doesNotContain("var(--", "prefers-color-scheme");
      }
    }
  }

  /** A chart that is cut out of a report keeps its colours. */
  @Test
  void chartsOfAReport_containTheirColours_lightAndDark() {
    Scenario scenario = FourHours.scenario("rogue");
    String page =
        Report.html(
            scenario, FourHours.run("rogue", Drip.HEALTHY, Algorithm.GCRA), "sluice simulate");
    List<String> charts =
        Pattern.compile("<svg .*?</svg>", Pattern.DOTALL)
            .matcher(page)
            .results()
            .map(MatchResult::group)
            .toList();

    assertThat(charts).hasSize(6);
    assertThat(charts)
        .allSatisfy(
            chart ->
                assertThat(chart)
                    .contains(".chart .admitted{fill:" + StyleSheet.lightColours().get("good"))
                    .contains(".chart .admitted{fill:" + StyleSheet.darkColours().get("good"))
                    .containsOnlyOnce("prefers-color-scheme:dark")
                    .doesNotContain("var(--"));
  }

  private static double contrast(String one, String other) {
    double a = luminance(one);
    double b = luminance(other);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }

  private static double luminance(String colour) {
    String hex = colour.substring(1);
    String full = hex.length() == 6 ? hex : hex.replaceAll("(.)", "$1$1");
    double[] weights = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
      double part = Integer.parseInt(full.substring(2 * i, 2 * i + 2), 16) / 255.0;
      sum += weights[i] * (part <= 0.04045 ? part / 12.92 : Math.pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
  }
}
