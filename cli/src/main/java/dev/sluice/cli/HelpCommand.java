// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.text.SafeText;
import dev.sluice.text.Suggestion;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice help}: the same as {@code --help}, asked for in the other order. */
@Command(
    name = "help",
    description = "Explains a command, with examples.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice help",
      "  sluice help spend",
      "  sluice help overrides add",
      "  sluice help --man | man -l -"
    })
final class HelpCommand implements Callable<Integer> {

  private final Console console;
  private final CommandLine root;

  @Parameters(
      arity = "0..*",
      paramLabel = "COMMAND",
      description = "The command to explain; all of them if not given.")
  private List<String> path = List.of();

  @Option(names = "--man", description = "Print the manual page of all commands, for man(1).")
  private boolean man;

  HelpCommand(Console console, CommandLine root) {
    this.console = console;
    this.root = root;
  }

  @Override
  public Integer call() {
    if (man) {
      ManPage.of(root).forEach(console::line);
      return Exit.DONE;
    }
    CommandLine command = root;
    for (String word : path) {
      CommandLine next = command.getSubcommands().get(word);
      if (next == null) {
        throw UsageErrors.mistake(
            command.getCommandSpec(),
            "unknown command %s%s"
                .formatted(
                    SafeText.quote(word),
                    Suggestion.didYouMean(word, command.getSubcommands().keySet())));
      }
      command = next;
    }
    console.line(command.getUsageMessage().stripTrailing());
    return Exit.DONE;
  }
}
