// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PageTest {

  private static final Path ROOT = Path.of("..", "..");
  private static final String PAGE =
      """
      Measured from 2020-01-01 to 2020-01-02; medians.

      | what | Sluice | best peer | bound | ratio |
      |---|---|---|---|---|
      | old | 1 | – | – | – |

      More.
      """;

  @TempDir Path results;

  @Test
  void page_hasWhatTheResultsSay() throws IOException {
    String page = Files.readString(ROOT.resolve("docs/benchmarks.md"));

    assertThat(page)
        .as("./sluice bench report writes the table anew")
        .isEqualTo(Page.rewritten(page, ROOT.resolve("benchmarks/results")));
  }

  @Test
  void page_isShort() throws IOException {
    String page = Files.readString(ROOT.resolve("docs/benchmarks.md"));

    assertThat(page.split("\\s+")).hasSizeLessThanOrEqualTo(900);
  }

  @Test
  void rewritten_hasTheMarkedRows_andTheirDates() throws IOException {
    write("memory", row("a", "ns", "20", "\"Peer\"", "30", "\"b\"", "10.5", "2026-01-02", true));
    write(
        "redis",
        row("r", "calls/s", "3000", "\"Peer\"", "1500", "null", "null", "2026-01-01", true));
    write("sql", row("q", "ms", "2", "null", "null", "null", "null", "2026-01-02", true));
    write("replay", row("l", "MB", "1", "null", "null", "null", "null", "2030-01-01", false));
    write(
        "server",
        row(
            "s",
            "answers/s of one core",
            "9",
            "null",
            "null",
            "\"empty\"",
            "10",
            "2026-01-03",
            true));
    write("web", row("hidden", "µs", "1", "null", "null", "null", "null", "2030-01-01", false));

    assertThat(Page.rewritten(PAGE, results))
        .isEqualTo(
            """
            Measured from 2026-01-01 to 2026-01-03; medians.

            | what | Sluice | best peer | bound | ratio |
            |---|---|---|---|---|
            | a, ns | 20 | Peer 30 | b 10.5 | 1.50 |
            | r, calls/s | 3,000 | Peer 1,500 | – | 2.00 |
            | q, ms | 2 | – | – | – |
            | s, answers/s of one core | 9 | – | empty 10 | 0.90* |

            More.
            """);
  }

  @Test
  void rowWithoutItsUnit_isAnErrorThatNamesFileAndField() throws IOException {
    write("memory", "{\"name\": \"a\", \"sluice\": 1, \"date\": \"2026-01-01\", \"page\": true}");

    assertThatThrownBy(() -> Page.rewritten(PAGE, results))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("memory.json")
        .hasMessageContaining("\"unit\"");
  }

  private void write(String file, String row) throws IOException {
    Path unused = Files.writeString(results.resolve(file + ".json"), "[" + row + "]\n");
  }

  private static String row(
      String name,
      String unit,
      String sluice,
      String peerName,
      String peer,
      String boundName,
      String bound,
      String date,
      boolean page) {
    return """
    {"name": "%s", "unit": "%s", "sluice": %s, "peerName": %s, "peer": %s, "boundName": %s, "bound": %s, "date": "%s", "page": %s}
    """
        .formatted(name, unit, sluice, peerName, peer, boundName, bound, date, page);
  }
}
