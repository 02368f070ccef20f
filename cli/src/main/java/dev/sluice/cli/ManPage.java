// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/** The manual page of all commands, in the language of man(7). Pure. */
final class ManPage {

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
    page.term("JAVA_HOME", "The Java to use; else the java of the PATH.");
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

  /** A backslash, a hyphen, and a dot or a quote at the start of a line mean something to man. */
  private static String escaped(String text) {
    String plain =
        text.replace("%n", " ").replace("%%", "%").replace("\\", "\\e").replace("-", "\\-");
    return plain.startsWith(".") || plain.startsWith("'") ? "\\&" + plain : plain;
  }
}
