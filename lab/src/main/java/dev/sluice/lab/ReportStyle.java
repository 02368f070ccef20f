// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static java.util.stream.Collectors.joining;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The style sheets, which lie beside the classes. Stateless. */
final class ReportStyle {

  private static final Pattern COLOUR = Pattern.compile("--(\\w+):(#[0-9a-f]+)");

  private static final String CHART_RULES = ".chart{";

  private ReportStyle() {}

  /**
   * Returns the style of a chart that is a file: the light colours, written out, as librsvg knows
   * no variables and a file does not know what surrounds it.
   */
  static String forFiles() {
    return inColours(chartRules(), lightColours());
  }

  /**
   * Returns the style of a chart in a page: that of a file, and the dark colours for a dark screen.
   * It uses no rule of the page, so a chart that is cut out keeps its colours.
   */
  static String forInlineCharts() {
    String coloured =
        chartRules().lines().filter(rule -> rule.contains("var(--")).collect(joining("\n"));
    return forFiles()
        + "\n@media screen and (prefers-color-scheme:dark){\n"
        + inColours(coloured, darkColours())
        + "\n}";
  }

  private static String chartRules() {
    String style = text("chart.css");
    return style.substring(style.indexOf(CHART_RULES));
  }

  private static String inColours(String rules, Map<String, String> colours) {
    String written = rules;
    for (Map.Entry<String, String> colour : colours.entrySet()) {
      written = written.replace("var(--" + colour.getKey() + ")", colour.getValue());
    }
    return written;
  }

  /** The colours on a light page, by name. */
  static Map<String, String> lightColours() {
    return colours(":root{");
  }

  /** The colours on a dark page, by name. */
  static Map<String, String> darkColours() {
    return colours("@media (prefers-color-scheme:dark){:root{");
  }

  private static Map<String, String> colours(String begin) {
    String style = text("chart.css");
    int from = style.indexOf(begin) + begin.length();
    Map<String, String> colours = new LinkedHashMap<>();
    Matcher each = COLOUR.matcher(style.substring(from, style.indexOf('}', from)));
    while (each.find()) {
      colours.put(each.group(1), each.group(2));
    }
    return colours;
  }

  /** The colours by name and the style of all but the charts, which bring their own. */
  static String forPages() {
    String style = text("chart.css");
    return style.substring(0, style.indexOf(CHART_RULES)) + text("page.css");
  }

  private static String text(String name) {
    try (InputStream in = Objects.requireNonNull(ReportStyle.class.getResourceAsStream(name))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
