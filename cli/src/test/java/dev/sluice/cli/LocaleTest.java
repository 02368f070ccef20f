// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Output is the same under every locale: programs read it, and people search for it. The build
 * refuses formatting by the default locale (Error Prone's DefaultLocale); this shows the result.
 */
final class LocaleTest {

  /** Its digits are not ASCII. */
  private static final Locale ARABIC = Locale.forLanguageTag("ar-EG");

  /** Its "i" has a dot as a capital letter too. */
  private static final Locale TURKISH = Locale.forLanguageTag("tr-TR");

  @TempDir Path folder;

  @Test
  void output_isTheSame_underEveryLocale() throws IOException {
    String good = write("good.yml", "LoginsPerIPAddress: {burst: 1000, count: 1000, period: 1h}\n");
    String bad =
        write("bad.yml", "LoginsPerIPAddress: {burst: 12345, count: x}\nApiCalls: 17\nA: {\n");
    String trace =
        write(
            "trace.jsonl",
            """
            {"at":1700000000000000000,"op":"spend","limit":"LoginsPerIPAddress","id":"192.0.2.7"}
            {"at":1700000000000000000,"op":"spend","limit":"LoginsPerIPAddress","id":"192.0.2.7","cost":1001}
            """);
    List<String[]> commands =
        List.of(
            new String[] {"lint", "--limits", good},
            new String[] {"lint", "--limits", bad},
            new String[] {"replay", "--limits", good, trace},
            new String[] {"simulate", "--traffic", "crowd"},
            new String[] {"simulate", "--json"},
            new String[] {"key", "ApiCallsPerKey", "a\u0001b"},
            new String[] {"key", "ApiCallsPerKey", "x".repeat(2000)},
            new String[] {"covering", "x".repeat(64) + ".example.com"},
            new String[] {"overrides", "dump", "--overrides", bad},
            new String[] {"INTEGER"},
            new String[] {"--help"});
    for (String[] command : commands) {
      Cli expected = Cli.run(command);
      for (Locale locale : List.of(ARABIC, TURKISH)) {
        assertThat(under(locale, command)).as("%s: %s", locale, command[0]).isEqualTo(expected);
      }
    }
  }

  @Test
  void argumentThatJavaCouldNotDecode_isRefused_exceptInUtf8() {
    String[] command = {"key", "ApiCallsPerKey", "M\uFFFD\uFFFDller"};
    String before = System.setProperty("sun.jnu.encoding", "UTF-8");
    try {
      assertThat(Cli.run(command).code()).isEqualTo(Exit.DONE);
      System.setProperty("sun.jnu.encoding", "ANSI_X3.4-1968");
      assertThat(Cli.run(command))
          .isEqualTo(
              new Cli(
                  Exit.BROKEN_INPUT,
                  "",
                  "sluice: the argument \"M\uFFFD\uFFFDller\" can't be read in this locale; set LC_ALL=C.UTF-8\n"));
      assertThat(Cli.run("key", "ApiCallsPerKey", "Miller").code()).isEqualTo(Exit.DONE);
    } finally {
      System.setProperty("sun.jnu.encoding", before);
    }
  }

  private static Cli under(Locale locale, String... command) {
    Locale before = Locale.getDefault();
    Locale.setDefault(locale);
    try {
      return Cli.run(command);
    } finally {
      Locale.setDefault(before);
    }
  }

  private String write(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name), text).toString();
  }
}
