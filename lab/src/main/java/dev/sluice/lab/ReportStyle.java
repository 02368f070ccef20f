package dev.sluice.lab;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/** The style sheets, which lie beside the classes. Stateless. */
final class ReportStyle {

  private ReportStyle() {}

  /** Colours and what charts need; also in the charts that are files. */
  static String forCharts() {
    return text("chart.css");
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
