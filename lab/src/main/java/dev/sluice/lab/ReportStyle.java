// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

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

  private ReportStyle() {}

  /** Colours and what charts need; also in the charts that are files. */
  static String forCharts() {
    return text("chart.css");
  }

  /**
   * Returns the style of a chart that is a file: the light colours, written out, as librsvg knows
   * no variables and a file does not know what surrounds it.
   */
  static String forFiles() {
    String style = text("chart.css");
    String rules = style.substring(style.indexOf(".chart{"));
    for (Map.Entry<String, String> colour : lightColours().entrySet()) {
      rules = rules.replace("var(--" + colour.getKey() + ")", colour.getValue());
    }
    return rules;
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

  static String forPages() {
    return text("page.css");
  }

  private static String text(String name) {
    try (InputStream in = Objects.requireNonNull(ReportStyle.class.getResourceAsStream(name))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
