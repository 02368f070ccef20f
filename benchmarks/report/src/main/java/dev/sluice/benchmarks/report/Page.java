// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.report;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The command {@code ./sluice bench report}. Reads the files in benchmarks/results, and writes the
 * table of docs/benchmarks.md and the dates above the table. Each result file is a JSON array of
 * flat objects. Each object has a figure of Sluice, and optionally the figures of another limiter
 * (the peer) and of an upper bound. The table contains the objects whose field {@code page} is
 * true.
 */
public final class Page {

  private static final List<String> FILES =
      List.of("memory", "redis", "sql", "replay", "server", "web");
  private static final String HEAD =
      "| what | Sluice | best peer | bound | ratio |\n|---|---|---|---|---|\n";
  private static final Pattern TABLE =
      Pattern.compile(Pattern.quote(HEAD.lines().findFirst().orElseThrow()) + "\n(\\|.*\n)+");
  private static final Pattern DATES = Pattern.compile("Measured from \\S+ to [0-9-]+");
  private static final DecimalFormat NUMBER =
      new DecimalFormat("#,##0.##", DecimalFormatSymbols.getInstance(Locale.ROOT));

  private Page() {}

  /**
   * Writes the page.
   *
   * @param args no arguments
   * @throws IOException if a file cannot be read or written
   */
  public static void main(String[] args) throws IOException {
    Path page = Path.of("docs", "benchmarks.md");
    Files.writeString(page, rewritten(Files.readString(page), Path.of("benchmarks", "results")));
  }

  /**
   * Returns docs/benchmarks.md with a new table.
   *
   * @param page the current page
   * @param results the folder of the result files
   * @throws IOException if a file cannot be read, a row has a missing field, or the page has no
   *     table
   */
  static String rewritten(String page, Path results) throws IOException {
    List<Row> rows = new ArrayList<>();
    for (String file : FILES) {
      Path json = results.resolve(file + ".json");
      rows.addAll(read(json).stream().filter(Row::page).toList());
    }
    List<String> dates = rows.stream().map(Row::date).sorted().toList();
    StringBuilder table = new StringBuilder(HEAD);
    rows.forEach(row -> table.append(row.line()).append('\n'));
    String measured = "Measured from " + dates.get(0) + " to " + dates.get(dates.size() - 1);
    return replaced(DATES, replaced(TABLE, page, table.toString()), measured);
  }

  private static String replaced(Pattern old, String page, String fresh) throws IOException {
    Matcher found = old.matcher(page);
    if (!found.find()) {
      throw new IOException("the page has no text to replace that looks like " + fresh);
    }
    return page.substring(0, found.start()) + fresh + page.substring(found.end());
  }

  private static List<Row> read(Path file) throws IOException {
    List<Row> rows = new ArrayList<>();
    try (JsonParser json = new JsonFactory().createParser(file.toFile())) {
      while (json.nextToken() != null) {
        if (json.currentToken() == JsonToken.START_OBJECT) {
          rows.add(Row.of(fields(json), file));
        }
      }
    }
    return rows;
  }

  private static Map<String, String> fields(JsonParser json) throws IOException {
    Map<String, String> fields = new HashMap<>();
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String name = json.currentName();
      if (json.nextToken() != JsonToken.VALUE_NULL) {
        fields.put(name, json.getText());
      }
    }
    return fields;
  }

  /** A measured value, and the name of what was measured. */
  private record Measured(String name, double value) {

    static @Nullable Measured of(Map<String, String> fields, String what) {
      String name = fields.get(what + "Name");
      String value = fields.get(what);
      return name == null || value == null ? null : new Measured(name, Double.parseDouble(value));
    }

    static String text(@Nullable Measured measured) {
      return measured == null ? "–" : measured.name + " " + NUMBER.format(measured.value);
    }
  }

  /**
   * A row of the table: a figure of Sluice, with the figures of another limiter (the peer) and of
   * an upper bound.
   */
  private record Row(
      String what,
      String unit,
      double sluice,
      @Nullable Measured peer,
      @Nullable Measured bound,
      String date,
      boolean page) {

    static Row of(Map<String, String> fields, Path file) throws IOException {
      for (String needed : List.of("name", "unit", "sluice", "date", "page")) {
        if (!fields.containsKey(needed)) {
          throw new IOException(
              "%s: field \"%s\" is missing in %s".formatted(file, needed, fields));
        }
      }
      return new Row(
          fields.getOrDefault("name", ""),
          fields.getOrDefault("unit", ""),
          Double.parseDouble(fields.getOrDefault("sluice", "")),
          Measured.of(fields, "peer"),
          Measured.of(fields, "bound"),
          fields.getOrDefault("date", ""),
          Boolean.parseBoolean(fields.get("page")));
    }

    String line() {
      return "| %s, %s | %s | %s | %s | %s |"
          .formatted(
              what,
              unit,
              NUMBER.format(sluice),
              Measured.text(peer),
              Measured.text(bound),
              ratio());
    }

    /**
     * Formats the ratio of Sluice's figure to the figure of the other limiter. Without another
     * limiter, formats the ratio of Sluice to the upper bound, followed by a star. A ratio above 1
     * means that Sluice is better.
     */
    private String ratio() {
      Measured other = peer == null ? bound : peer;
      if (other == null) {
        return "–";
      }
      double times = unit.contains("/s") ? sluice / other.value : other.value / sluice;
      return String.format(Locale.ROOT, "%.2f%s", times, peer == null ? "*" : "");
    }
  }
}
