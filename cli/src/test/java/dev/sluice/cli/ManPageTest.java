// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.HelpCommand.ManPage;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class ManPageTest {

  private final CommandLine root =
      Main.commandLine(
          new Console(
              InputStream.nullInputStream(),
              OutputStream.nullOutputStream(),
              OutputStream.nullOutputStream()));

  private final List<String> page = ManPage.of(root);

  @Test
  void of_theCommandLine_hasEachCommandAndEachOfItsOptions() {
    CommandLine serve = root.getSubcommands().get("serve");

    assertThat(page).contains(".SS \"sluice serve\"", ".SS \"sluice overrides dump\"");
    serve
        .getCommandSpec()
        .options()
        .forEach(
            option ->
                assertThat(page)
                    .anyMatch(line -> line.contains(option.longestName().replace("-", "\\-"))));
  }

  @Test
  void of_theCommandLine_hasTheSectionsThatReadersLookFor() {
    assertThat(page)
        .startsWith(".TH SLUICE 1 \"\" \"sluice development\" \"User Commands\"")
        .containsSubsequence(
            ".SH NAME",
            ".SH SYNOPSIS",
            ".SH DESCRIPTION",
            ".SH COMMANDS",
            ".SH EXIT STATUS",
            ".SH ENVIRONMENT",
            ".SH EXAMPLES");
  }

  @Test
  void of_texts_leavesNoLineThatManTakesForARequest() {
    assertThat(page)
        .filteredOn(line -> line.startsWith(".") || line.startsWith("'"))
        .allMatch(line -> line.matches("\\.(TH|SH|SS|TP|PP|EX|EE|B)( .*)?"));
  }
}
