// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code sluice completion}: a script that completes commands and options. */
@Command(
    name = "completion",
    description = "Prints a script that completes commands and options in a shell.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  source <(sluice completion bash)",
      "  source <(sluice completion zsh)",
      "  sluice completion fish | source"
    })
final class CompletionCommand implements Callable<Integer> {

  private final Console console;
  private final CommandLine root;

  @Parameters(paramLabel = "SHELL", description = "One of ${COMPLETION-CANDIDATES}.")
  private Shell shell = Shell.bash;

  CompletionCommand(Console console, CommandLine root) {
    this.console = console;
    this.root = root;
  }

  @Override
  public Integer call() {
    if (shell == Shell.fish) {
      console.line("# Load it with: sluice completion fish | source");
      FishCompletion.of(root).forEach(console::line);
      return Exit.DONE;
    }
    if (shell == Shell.zsh) {
      console.line("#compdef sluice"); // so that a folder of $fpath may hold it, as _sluice
    }
    console.line("# Load it with: source <(sluice completion " + shell + ")");
    console.line(AutoComplete.bash("sluice", root).stripTrailing());
    if (shell == Shell.zsh) {
      // Loaded from $fpath, the script runs for the first time when somebody presses the key.
      console.line("if [ \"${funcstack[1]-}\" = _sluice ]; then");
      console.line("  _bash_complete -o default -F _complete_sluice");
      console.line("fi");
    }
    return Exit.DONE;
  }

  /** As people type them. */
  private enum Shell {
    bash,
    zsh,
    fish
  }
}
