// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Exit.ExitException;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Standard input, output and error of a command. Standard output is buffered, and is only for
 * results; messages for people go to standard error. Not thread-safe.
 */
record Console(InputStream in, OutputStream out, PrintWriter err, boolean isTerminal) {

  private static final int BUFFER = 1 << 16;
  // The launcher sets both sluice.stdout properties, since a JVM cannot detect whether one stream
  // is a terminal.
  private static final String TERMINAL = "sluice.stdout.terminal";
  private static final String COLUMNS = "sluice.stdout.columns";

  private static final int USUAL_WIDTH = 80;
  private static final int LEAST_WIDTH = 40;

  Console(InputStream in, OutputStream out, OutputStream err) {
    this(
        in,
        new BufferedOutputStream(out, BUFFER),
        new PrintWriter(new OutputStreamWriter(err, StandardCharsets.UTF_8), true),
        Boolean.getBoolean(TERMINAL));
  }

  /** Returns how many characters fit on a line of the terminal. */
  int width() {
    return Math.max(Integer.getInteger(COLUMNS, USUAL_WIDTH), LEAST_WIDTH);
  }

  <C extends ConsoleCommand> C given(C command) {
    command.console = this;
    return command;
  }

  CommandLine lineOf(ConsoleCommand command) {
    return new CommandLine(given(command));
  }

  void line(String text) {
    try {
      out.write((text + "\n").getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new OutputException(e);
    }
  }

  /**
   * Prints a result whose exit code says more than that the command ended. The exit code is the
   * same if the reader closes the pipe before the end.
   */
  void print(Runnable lines) {
    try {
      lines.run();
      flush();
    } catch (OutputException e) {
      if (!e.readerIsGone()) {
        throw e;
      }
    }
  }

  void flush() {
    try {
      out.flush();
    } catch (IOException e) {
      throw new OutputException(e);
    } finally {
      err.flush();
    }
  }

  /**
   * Thrown if standard output cannot be written: the reader closed the pipe, which is not an error,
   * or the disk is full.
   */
  static final class OutputException extends ExitException {

    private static final long serialVersionUID = 1;

    OutputException(IOException cause) {
      super(Exit.BROKEN_INPUT, "can't write to standard output: " + cause.getMessage(), cause);
    }

    /** Whether the reader closed the pipe, as in {@code sluice replay … | head}. */
    boolean readerIsGone() {
      return String.valueOf(getMessage()).toLowerCase(Locale.ROOT).contains("pipe");
    }
  }

  /** The option {@code --json} of commands that print sentences on a terminal. */
  static final class JsonOption {

    @Option(
        names = "--json",
        description =
            "Print the JSON of the HTTP API; the default if the output is not a terminal.")
    private boolean json;

    /** Whether to print sentences instead of JSON: true on a terminal without {@code --json}. */
    boolean isForPeople(Console console) {
      return console.isTerminal() && !json;
    }
  }

  /** A command that writes to a console. */
  abstract static class ConsoleCommand implements Callable<Integer> {

    private static final OutputStream NOWHERE = OutputStream.nullOutputStream();

    // The field `console` is set before the command is called, when picocli sets the options.
    Console console = new Console(InputStream.nullInputStream(), NOWHERE, NOWHERE);
  }

  /** A command that has only subcommands. */
  abstract static class CommandGroup implements Runnable {

    @Spec private CommandSpec spec = CommandSpec.create();

    @Override
    public final void run() {
      throw UsageErrors.commandMissing(spec);
    }
  }
}
