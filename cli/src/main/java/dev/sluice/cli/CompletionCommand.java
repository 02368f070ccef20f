// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.ConsoleCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code sluice completion}: prints a script that completes commands and options. */
@Command(
    name = "completion",
    description = "Prints a script that completes commands and options in a shell.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  source <(sluice completion bash)",
      "  source <(sluice completion zsh)",
      "  sluice completion fish | source"
    })
final class CompletionCommand extends ConsoleCommand {

  @Parameters(paramLabel = "SHELL", description = "One of ${COMPLETION-CANDIDATES}.")
  private Shell shell = Shell.bash;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() {
    CommandLine root = spec.root().commandLine();
    if (shell == Shell.fish) {
      console.line("# Load it with: sluice completion fish | source");
      FishCompletion.of(root).forEach(console::line);
      return Exit.DONE;
    }
    if (shell == Shell.zsh) {
      console.line("#compdef sluice"); // zsh needs this line in a file _sluice in $fpath
    }
    console.line("# Load it with: source <(sluice completion " + shell + ")");
    console.line(AutoComplete.bash("sluice", root).stripTrailing());
    if (shell == Shell.zsh) {
      // zsh loads a script in $fpath only when the user first presses Tab, so the script itself
      // must answer this first Tab with completions.
      console.line("if [ \"${funcstack[1]-}\" = _sluice ]; then");
      console.line("  _bash_complete -o default -F _complete_sluice");
      console.line("fi");
    }
    return Exit.DONE;
  }

  /** The shells, in lower case, as users type their names. */
  private enum Shell {
    bash,
    zsh,
    fish
  }

  private static final class FishCompletion {

    private final List<String> lines = new ArrayList<>();

    private FishCompletion() {}

    static List<String> of(CommandLine root) {
      FishCompletion script = new FishCompletion();
      script.lines.add("complete -c sluice -e");
      script.add(root, "__fish_use_subcommand", "");
      return script.lines;
    }

    /**
     * Adds a command's subcommands and options.
     *
     * @param before a shell condition: no subcommand of the command was typed yet
     * @param within a shell condition: the command was typed; empty for the root command
     */
    private void add(CommandLine command, String before, String within) {
      Map<String, CommandLine> subcommands = command.getSubcommands();
      subcommands.forEach(
          (name, subcommand) -> {
            lines.add(
                "complete -c sluice -f -n '%s' -a %s -d %s"
                    .formatted(before, name, quoted(firstSentence(subcommand.getCommandSpec()))));
            String chosen =
                (within.isEmpty() ? "" : within + "; and ") + "__fish_seen_subcommand_from " + name;
            String names = String.join(" ", subcommand.getSubcommands().keySet());
            add(subcommand, chosen + "; and not __fish_seen_subcommand_from " + names, chosen);
          });
      if (!within.isEmpty()) {
        command.getCommandSpec().options().stream()
            .filter(option -> !option.hidden())
            .forEach(option -> lines.add(option(option, within)));
        command.getCommandSpec().positionalParameters().stream()
            .filter(argument -> argument.completionCandidates() != null)
            .forEach(argument -> lines.add(words(argument, within)));
      }
    }

    private static String option(OptionSpec option, String within) {
      StringBuilder line = new StringBuilder("complete -c sluice -n '" + within + "'");
      for (String name : option.names()) {
        line.append(name.startsWith("--") ? " -l " : " -s ").append(name.replaceFirst("^-+", ""));
      }
      if (option.arity().max() > 0) {
        boolean file = option.paramLabel().equals("FILE");
        line.append(file ? " -rF" : " -x");
        if (option.completionCandidates() != null) {
          line.append(" -a ").append(quoted(String.join(" ", option.completionCandidates())));
        }
      }
      return line.append(" -d ").append(quoted(sentence(option.description()))).toString();
    }

    private static String words(PositionalParamSpec argument, String within) {
      return "complete -c sluice -f -n '%s' -a %s"
          .formatted(within, quoted(String.join(" ", argument.completionCandidates())));
    }

    private static String firstSentence(CommandSpec command) {
      return sentence(command.usageMessage().description());
    }

    private static String sentence(String[] description) {
      String text = description.length == 0 ? "" : description[0];
      return text.replaceFirst("[.] .*", "").replaceFirst("[.:]$", "");
    }

    private static String quoted(String text) {
      return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
  }
}
