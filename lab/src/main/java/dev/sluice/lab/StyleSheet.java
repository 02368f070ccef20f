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

/*
 * chart.css begins with the colours, as variables: light, dark, and for print. The rules for charts
 * follow. A page keeps the variables. In a chart, the variables are replaced by the colours, for
 * two reasons. A chart that is cut out of a page keeps its colours. And librsvg, with which many
 * desktops draw SVG files, does not support CSS variables.
 */

/**
 * The style sheets of pages and charts, read from the resources {@code chart.css} and {@code
 * page.css}.
 */
final class StyleSheet {

  private static final Pattern COLOUR = Pattern.compile("--(\\w+):(#[0-9a-f]+)");

  private static final String CHART_RULES = ".chart{";

  private StyleSheet() {}

  /**
   * Returns the style of a page: the colours as variables, and all rules except the rules for
   * charts.
   */
  static String ofPage() {
    String style = resource("chart.css");
    return style.substring(0, style.indexOf(CHART_RULES)) + resource("page.css");
  }

  /** Returns the style of a chart in a separate file: the light colours, without variables. */
  static String ofFile() {
    return inColours(chartRules(), lightColours());
  }

  /**
   * Returns the style of a chart in a page: the style of a chart in a file, and dark colours for
   * dark screens.
   */
  static String ofInlineChart() {
    String coloured =
        chartRules().lines().filter(rule -> rule.contains("var(--")).collect(joining("\n"));
    return ofFile()
        + "\n@media screen and (prefers-color-scheme:dark){\n"
        + inColours(coloured, darkColours())
        + "\n}";
  }

  private static String chartRules() {
    String style = resource("chart.css");
    return style.substring(style.indexOf(CHART_RULES));
  }

  private static String inColours(String rules, Map<String, String> colours) {
    String written = rules;
    for (Map.Entry<String, String> colour : colours.entrySet()) {
      written = written.replace("var(--" + colour.getKey() + ")", colour.getValue());
    }
    return written;
  }

  /** Returns the colours of a light page, by name. */
  static Map<String, String> lightColours() {
    return colours(":root{");
  }

  /** Returns the colours of a dark page, by name. */
  static Map<String, String> darkColours() {
    return colours("@media (prefers-color-scheme:dark){:root{");
  }

  private static Map<String, String> colours(String begin) {
    String style = resource("chart.css");
    int from = style.indexOf(begin) + begin.length();
    Map<String, String> colours = new LinkedHashMap<>();
    Matcher each = COLOUR.matcher(style.substring(from, style.indexOf('}', from)));
    while (each.find()) {
      colours.put(each.group(1), each.group(2));
    }
    return colours;
  }

  private static String resource(String name) {
    try (InputStream in = Objects.requireNonNull(StyleSheet.class.getResourceAsStream(name))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
