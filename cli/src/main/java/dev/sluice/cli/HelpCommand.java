// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code sluice help COMMAND}: prints the same as {@code --help}. */
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
final class HelpCommand extends ConsoleCommand {

  @Parameters(
      arity = "0..*",
      paramLabel = "COMMAND",
      description = "The command to explain; all commands if not given.")
  private List<String> path = List.of();

  @Option(names = "--man", description = "Print the manual page of all commands, for man(1).")
  private boolean man;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() {
    CommandLine root = spec.root().commandLine();
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

  /** Makes the manual page of all commands, in the macros of man(7). */
  static final class ManPage {

    private final List<String> lines = new ArrayList<>();

    private ManPage() {}

    static List<String> of(CommandLine root) {
      ManPage page = new ManPage();
      CommandSpec spec = root.getCommandSpec();
      page.lines.add(".TH SLUICE 1 \"\" " + quoted(spec.version()[0]) + " \"User Commands\"");
      page.lines.add(".SH NAME");
      page.lines.add("sluice \\- rate limiting with named limits");
      page.lines.add(".SH SYNOPSIS");
      page.lines.add(".B sluice");
      page.lines.add("\\fICOMMAND\\fR [\\fIOPTIONS\\fR]");
      page.lines.add(".SH DESCRIPTION");
      page.text(spec.usageMessage().description());
      page.lines.add(".SH COMMANDS");
      page.commands(root);
      page.lines.add(".SH EXIT STATUS");
      spec.usageMessage().exitCodeList().forEach((code, meaning) -> page.term(code, meaning));
      page.lines.add(".SH ENVIRONMENT");
      page.term("JAVA_HOME", "The folder of the JDK to use; by default, the java on the PATH.");
      page.term("SLUICE_OPTS", "More arguments for the JVM, such as -Xmx1g.");
      page.lines.add(".SH EXAMPLES");
      page.example(spec.usageMessage().footer());
      return page.lines;
    }

    private void commands(CommandLine parent) {
      parent
          .getSubcommands()
          .forEach(
              (name, command) -> {
                CommandSpec spec = command.getCommandSpec();
                if (!command.getSubcommands().isEmpty()) {
                  commands(command);
                } else {
                  command(spec);
                }
              });
    }

    private void command(CommandSpec spec) {
      lines.add(".SS " + quoted(spec.qualifiedName()));
      text(spec.usageMessage().description());
      for (PositionalParamSpec argument : spec.positionalParameters()) {
        term(argument.paramLabel(), String.join(" ", argument.description()));
      }
      for (OptionSpec option : spec.options()) {
        if (!option.hidden() && !option.inherited()) {
          String label = option.arity().max() > 0 ? " " + option.paramLabel() : "";
          term(String.join(", ", option.names()) + label, String.join(" ", option.description()));
        }
      }
      example(spec.usageMessage().footer());
    }

    private void term(String name, String text) {
      lines.add(".TP");
      lines.add("\\fB" + escaped(name) + "\\fR");
      lines.add(escaped(text));
    }

    private void text(String[] paragraphs) {
      for (String paragraph : paragraphs) {
        lines.add(paragraph.isEmpty() ? ".PP" : escaped(paragraph));
      }
    }

    private void example(String[] examples) {
      if (examples.length > 0) {
        lines.add(".PP");
        lines.add(".EX");
        for (String line : examples) {
          lines.add(escaped(line));
        }
        lines.add(".EE");
      }
    }

    private static String quoted(String text) {
      return "\"" + escaped(text).replace("\"", "\\(dq") + "\"";
    }

    /**
     * Escapes the special characters of man(7): each backslash and hyphen, and a dot or quote at
     * the start of a line.
     */
    private static String escaped(String text) {
      String plain =
          text.replace("%n", " ").replace("%%", "%").replace("\\", "\\e").replace("-", "\\-");
      return plain.startsWith(".") || plain.startsWith("'") ? "\\&" + plain : plain;
    }
  }
}
