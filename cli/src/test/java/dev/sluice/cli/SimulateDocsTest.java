// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * What the docs show of {@code sluice simulate} is what it prints. {@code -Dsluice.write} writes
 * it.
 */
final class SimulateDocsTest {

  private static final Path DOCS = Path.of("..", "docs");
  private static final Pattern SHOWN =
      Pattern.compile("```console\n\\$ \\./sluice (simulate[^\n]*)\n(.*?)```", Pattern.DOTALL);

  @TestFactory
  Stream<DynamicTest> commands_printWhatIsShown() {
    return shown("algorithms.md").map(match -> test("algorithms.md", match));
  }

  private static DynamicTest test(String page, MatchResult match) {
    return DynamicTest.dynamicTest(
        match.group(1),
        () -> {
          Cli run = Cli.run(match.group(1).split(" ", -1));
          if (System.getProperty("sluice.write") != null) {
            Path file = DOCS.resolve(page);
            String shown = "$ ./sluice " + match.group(1) + "\n";
            Files.writeString(
                file, Files.readString(file).replace(shown + match.group(2), shown + run.out()));
            return;
          }
          assertThat(run.out()).isEqualTo(match.group(2));
          assertThat(run.err()).isEmpty();
          assertThat(run.code()).isEqualTo(Exit.DONE);
        });
  }

  @Test
  void page_showsSomething() {
    assertThat(shown("algorithms.md")).isNotEmpty();
  }

  private static Stream<MatchResult> shown(String page) {
    try {
      Matcher matcher = SHOWN.matcher(Files.readString(DOCS.resolve(page)));
      return matcher.results().toList().stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
