// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("slow")
class ServerSettingsTest {

  /** Waits for the line {@code listening on http://… (memory store, sample limits)}. */
  private static String url(BufferedReader err) {
    return err.lines()
        .filter(line -> line.contains("listening on http://"))
        .findFirst()
        .orElseThrow()
        .replaceFirst(".*listening on (http://\\S+).*", "$1");
  }

  private static String out(String url, String words) {
    Cli run = Cli.run((words + " --server " + url).split(" "));
    assertThat(run.err()).isEmpty();
    assertThat(run.code()).isEqualTo(Exit.DONE);
    return run.out();
  }

  @Test
  void people_getSentences_onATerminal_andJsonWhereTheyAskForIt() throws Exception {
    System.setProperty("sluice.stdout.terminal", "true");
    try (CliProcess server = CliProcess.start("serve", "--http", "127.0.0.1:0");
        BufferedReader err = server.err()) {
      String url = url(err);
      String set =
          "ApiCallsPerKey k1: burst 500, then 400 per 7d (kept in memory until the server ends)\n";
      String override = "overrides set ApiCallsPerKey k1 --burst 500 --count 400 --period 7d";
      assertThat(out(url, "overrides list")).isEqualTo("no overrides\n");
      assertThat(out(url, override)).isEqualTo(set);
      assertThat(out(url, "overrides list")).isEqualTo(set);
      assertThat(out(url, override + " --json"))
          .startsWith("{\"limit\":\"ApiCallsPerKey\",")
          .contains("\"period\":\"168h0m0s\"");
      assertThat(out(url, "overrides list --json")).startsWith("{\"limit\":");
      assertThat(out(url, override + " --until 2200-01-01 --author ann"))
          .isEqualTo(
              "ApiCallsPerKey k1: burst 500, then 400 per 7d, until 2200-01-01T00:00:00Z"
                  + " (kept in memory until the server ends, set by ann)\n");
      assertThat(out(url, override)).as("the end stays").contains(", until 2200-");
      assertThat(out(url, override + " --until never"))
          .isEqualTo(set.replace("ends)", "ends, set by ann)"));
      assertThat(out(url, "overrides remove ApiCallsPerKey k1"))
          .isEqualTo("ApiCallsPerKey k1: removed\n");

      String until =
          "ApiCallsPerKey k1: nothing until 2200-01-01T00:00:00Z (kept in memory until the server ends): Ticket\n";
      assertThat(out(url, "penalty list")).isEqualTo("no penalties\n");
      assertThat(
              out(
                  url,
                  "penalty set ApiCallsPerKey k1 --until 2200-01-01T00:00:00Z --comment Ticket"))
          .isEqualTo(until);
      assertThat(out(url, "penalty list")).isEqualTo(until);
      assertThat(out(url, "penalty remove ApiCallsPerKey k1 --json"))
          .isEqualTo("{\"removed\":true}\n");
    } finally {
      System.clearProperty("sluice.stdout.terminal");
    }
  }

  @Test
  void programs_getJson() throws Exception {
    try (CliProcess server = CliProcess.start("serve", "--http", "127.0.0.1:0");
        BufferedReader err = server.err()) {
      String url = url(err);
      assertThat(out(url, "overrides list")).isEmpty();
      assertThat(out(url, "penalty set ApiCallsPerKey k1 --for 10m"))
          .startsWith("{\"limit\":\"ApiCallsPerKey\",\"id\":\"k1\",\"until\":");
      assertThat(out(url, "penalty remove ApiCallsPerKey k1")).isEqualTo("{\"removed\":true}\n");
    }
  }

  @Test
  void valueThatTheServerRefuses_isToldWithItsOption() throws Exception {
    try (CliProcess server = CliProcess.start("serve", "--http", "127.0.0.1:0");
        BufferedReader err = server.err()) {
      String url = url(err);
      assertThat(refused(url, "penalty set ApiCallsPerKey k1 --until tomorrow"))
          .startsWith("sluice: --until: found \"tomorrow\", expected a date such as 2027-03-01 or");
      assertThat(refused(url, "penalty set ApiCallsPerKey k1 --until 2001-01-01T00:00:00Z"))
          .startsWith("sluice: --until: found 2001-01-01T00:00:00Z, expected an instant after now");
      assertThat(refused(url, "penalty set ApiCallsPerKey k1 --for 1x"))
          .startsWith("sluice: --for: found \"1x\", expected a duration such as 1s");
    }
  }

  private static String refused(String url, String command) {
    Cli run = Cli.run((command + " --server " + url).split(" ", -1));
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    return run.err();
  }

  @Test
  void serverThatAsksForAToken_isToldWithTheWaysToGiveOne(@TempDir Path folder) throws Exception {
    Path tokens =
        Files.writeString(
            folder.resolve("tokens.yml"),
            "tokens:\n- {name: a, sha256: %s, roles: [read]}\n".formatted("0a".repeat(32)));
    try (CliProcess server =
            CliProcess.start("serve", "--http", "127.0.0.1:0", "--tokens", tokens.toString());
        BufferedReader err = server.err()) {
      String url = url(err);
      assertThat(refused(url, "overrides list"))
          .isEqualTo(
              "sluice: %s requires a token; give --token-file FILE, or set SLUICE_TOKEN\n"
                  .formatted(url));
    }
  }

  /** A path cannot hold such an id. */
  @Test
  void idWithDots_isSetAndRemoved() throws Exception {
    try (CliProcess server = CliProcess.start("serve", "--http", "127.0.0.1:0");
        BufferedReader err = server.err()) {
      String url = url(err);
      for (String id : List.of("..", "a/../../etc", "./b")) {
        assertThat(out(url, "penalty set ApiCallsPerKey " + id + " --for 10m"))
            .contains("\"id\":\"" + id + "\"");
        assertThat(out(url, "penalty remove ApiCallsPerKey " + id))
            .isEqualTo("{\"removed\":true}\n");
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "PT0.25S, 250ms", "PT1S, 1s", "PT1M, 1m", "PT90S, 1m30s", "PT1H, 1h", "PT1H30M, 1h30m",
    "PT1H1S, 1h0m1s", "PT24H, 24h", "PT36H, 36h", "PT48H, 2d", "PT168H, 7d", "PT168H1S, 168h0m1s",
  })
  void briefPeriods_areReadBackAsTheSame(Duration period, String text) {
    assertThat(Quantities.brief(period)).isEqualTo(text);
    assertThat(Quantities.positive("--for", text)).isEqualTo(period);
  }
}
