package dev.sluice.cli;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.server.AddressException;
import dev.sluice.store.StoreException;
import dev.sluice.yaml.LimitFilesException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine;
import picocli.CommandLine.Help;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command {@code sluice}. Stateless. */
public final class Main {

  private Main() {}

  /**
   * Runs one command and leaves the JVM with its exit code.
   *
   * @param args the command and its arguments
   */
  public static void main(String[] args) {
    // Not System.out: that one hides when nobody reads any more.
    System.exit(
        run(
            new FileInputStream(FileDescriptor.in),
            new FileOutputStream(FileDescriptor.out),
            new FileOutputStream(FileDescriptor.err),
            args));
  }

  static int run(InputStream in, OutputStream out, OutputStream err, String... args) {
    Console console = new Console(in, out, err);
    int code = commandLine(console).execute(args);
    try {
      console.flush();
    } catch (OutputException e) {
      return code == Exit.DONE ? failed(e, console) : code;
    }
    return code;
  }

  static CommandLine commandLine(Console console) {
    CommandLine overrides = new CommandLine(new OverridesCommand());
    overrides
        .addSubcommand(new OverridesDumpCommand(console))
        .addSubcommand(new OverridesMigrateCommand(console))
        .addSubcommand(new OverridesImportCommand(console))
        .addSubcommand(new OverridesAddCommand(console))
        .addSubcommand("enable", new OverridesSwitchCommand(console, true))
        .addSubcommand("disable", new OverridesSwitchCommand(console, false));
    CommandLine root = new CommandLine(new SluiceCommand());
    root.addSubcommand(new ServeCommand(console))
        .addSubcommand(new LintCommand(console))
        .addSubcommand(new KeyCommand(console))
        .addSubcommand(new CoveringCommand(console))
        .addSubcommand(new ReplayCommand(console))
        .addSubcommand(new SimulateCommand(console))
        .addSubcommand("check", new ActCommand(Act.CHECK, console))
        .addSubcommand("spend", new ActCommand(Act.SPEND, console))
        .addSubcommand("refund", new ActCommand(Act.REFUND, console))
        .addSubcommand("reset", new ActCommand(Act.RESET, console))
        .addSubcommand(overrides)
        .addSubcommand(new CompletionCommand(console, root));
    return root.setExpandAtFiles(false) // an id may start with "@"
        .setColorScheme(Help.defaultColorScheme(Help.Ansi.OFF))
        .setOut(new PrintWriter(new OutputStreamWriter(console.out(), StandardCharsets.UTF_8)))
        .setErr(console.err())
        .setUsageHelpWidth(100)
        .setParameterExceptionHandler((e, args) -> misused(e, console))
        .setExecutionExceptionHandler((e, command, parsed) -> failed(e, console));
  }

  private static int misused(ParameterException e, Console console) {
    CommandLine command = e.getCommandLine();
    // An argument in the wrong place may be the address of a store.
    console
        .err()
        .println("sluice: " + String.valueOf(e.getMessage()).replaceAll("(?s)//.*@", "//…@"));
    if (!UnmatchedArgumentException.printSuggestions(e, console.err())) {
      console.err().printf("Try '%s --help'.%n", command.getCommandSpec().qualifiedName());
    }
    return Exit.BROKEN_INPUT;
  }

  private static int failed(Exception e, Console console) {
    if (e instanceof OutputException output && output.readerIsGone()) {
      return Exit.DONE;
    }
    if (e instanceof LimitFilesException files) {
      files.problems().forEach(console.err()::println);
      console.err().println("sluice: the limit files have mistakes; nothing of them was applied");
      return Exit.BROKEN_INPUT;
    }
    boolean input =
        e instanceof InputException
            || e instanceof InvalidRequestException
            || e instanceof AddressException
            || e instanceof OutputException;
    if (input || e instanceof StoreException || e instanceof DatabaseException) {
      console.err().println("sluice: " + e.getMessage());
      return input ? Exit.BROKEN_INPUT : Exit.UNREACHABLE;
    }
    console
        .err()
        .println("sluice: this is a mistake in Sluice, please report it with what follows");
    e.printStackTrace(console.err());
    return Exit.BUG;
  }
}
