// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.server.net.ConnectionBudget.OpenFileLimit;
import dev.sluice.server.net.HostPort.AddressException;
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
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Help;
import picocli.CommandLine.ParameterException;

/** The command {@code sluice}. Stateless. */
public final class Main {

  /** The width that fits any terminal, and beside another window. */
  private static final int WIDTH = 80;

  private Main() {}

  /**
   * Runs one command and leaves the JVM with its exit code.
   *
   * @param args the command and its arguments
   */
  public static void main(String[] args) {
    // Before anything else: with too few descriptors not even the classes of a command load.
    if (args.length > 0 && args[0].equals("serve")) {
      OpenFileLimit.tooFew()
          .ifPresent(
              message -> {
                System.err.println("sluice: " + message);
                System.exit(Exit.BROKEN_INPUT);
              });
    }
    // Not System.out: it hides that nobody reads any more.
    int code;
    try {
      code =
          run(
              new FileInputStream(FileDescriptor.in),
              new FileOutputStream(FileDescriptor.out),
              new FileOutputStream(FileDescriptor.err),
              args);
    } catch (OutOfMemoryError e) {
      System.err.println(
          "sluice: out of memory; give the JVM a larger heap, such as SLUICE_OPTS=-Xmx2g");
      code = Exit.OUT_OF_MEMORY;
    }
    System.exit(code);
  }

  static int run(InputStream in, OutputStream out, OutputStream err, String... args) {
    Console console = new Console(in, out, err);
    int code;
    try {
      code = commandLine(console, first(args)).execute(args);
    } catch (OutOfMemoryError e) {
      throw e;
    } catch (Error e) { // the library catches exceptions only
      code = bug(e, console);
    }
    try {
      console.flush();
    } catch (OutputException e) {
      return code == Exit.DONE ? failed(e, console) : code;
    }
    return code;
  }

  /** Help and completion are about all commands. */
  private static String first(String... args) {
    return args.length == 0 || args[0].equals("help") || args[0].equals("completion")
        ? ""
        : args[0];
  }

  /** All commands, for help, completion and suggestions. */
  static CommandLine commandLine(Console console) {
    return commandLine(console, "");
  }

  /**
   * The command that the first word names, alone; all of them if it names none. Reading what each
   * command takes is most of the time of a short one.
   */
  private static CommandLine commandLine(Console console, String first) {
    CommandLine root = new CommandLine(new SluiceCommand());
    Map<String, Supplier<CommandLine>> all = commands(console, root);
    Supplier<CommandLine> one = all.get(first);
    if (one == null) {
      all.forEach((name, command) -> root.addSubcommand(name, command.get()));
    } else {
      root.addSubcommand(first, one.get());
    }
    return root.setExpandAtFiles(false) // an id may start with "@"
        .setColorScheme(Help.defaultColorScheme(Help.Ansi.OFF))
        .setOut(new PrintWriter(new OutputStreamWriter(console.out(), StandardCharsets.UTF_8)))
        .setErr(console.err())
        .setUsageHelpWidth(WIDTH)
        .setResourceBundle(new HelpWords())
        .setParameterExceptionHandler((e, args) -> misused(e, console))
        .setExecutionExceptionHandler((e, command, parsed) -> failed(e, console));
  }

  /** The commands by their names, in the order of the help. */
  private static Map<String, Supplier<CommandLine>> commands(Console console, CommandLine root) {
    Map<String, Supplier<CommandLine>> all = new LinkedHashMap<>();
    all.put("serve", () -> serve(console));
    all.put("lint", () -> new CommandLine(new LintCommand(console)));
    all.put("key", () -> new CommandLine(new KeyCommand(console)));
    all.put("explain-rule", () -> new CommandLine(new ExplainRuleCommand(console)));
    all.put("convert", () -> new CommandLine(new ConvertCommand(console)));
    all.put("covering", () -> new CommandLine(new CoveringCommand(console)));
    all.put("replay", () -> new CommandLine(new ReplayCommand(console)));
    all.put("simulate", () -> new CommandLine(new SimulateCommand(console)));
    all.put("check", () -> ActCommand.commandLine(Act.CHECK, console));
    all.put("spend", () -> ActCommand.commandLine(Act.SPEND, console));
    all.put("refund", () -> ActCommand.commandLine(Act.REFUND, console));
    all.put("reset", () -> ActCommand.commandLine(Act.RESET, console));
    all.put("overrides", () -> overrides(console));
    all.put("penalty", () -> penalty(console));
    all.put("token", () -> token(console));
    all.put("completion", () -> new CommandLine(new CompletionCommand(console, root)));
    all.put("help", () -> new CommandLine(new HelpCommand(console, root)));
    return all;
  }

  private static CommandLine serve(Console console) {
    CommandLine serve = new CommandLine(new ServeCommand(console, System.getenv()));
    ServeHelp.apply(serve);
    return serve;
  }

  private static CommandLine overrides(Console console) {
    CommandLine overrides = new CommandLine(new OverridesCommand());
    overrides
        .addSubcommand(new OverridesDumpCommand(console))
        .addSubcommand(new OverridesMigrateCommand(console))
        .addSubcommand(new OverridesImportCommand(console))
        .addSubcommand(new OverridesAddCommand(console))
        .addSubcommand(new OverridesServerCommands.SetOne(console))
        .addSubcommand(new OverridesServerCommands.RemoveOne(console))
        .addSubcommand(new OverridesServerCommands.ListAll(console))
        .addSubcommand("enable", OverridesSwitchCommand.commandLine(console, true))
        .addSubcommand("disable", OverridesSwitchCommand.commandLine(console, false));
    return overrides;
  }

  private static CommandLine penalty(Console console) {
    CommandLine penalty = new CommandLine(new PenaltyCommand());
    penalty
        .addSubcommand(new PenaltyCommand.SetOne(console))
        .addSubcommand(new PenaltyCommand.RemoveOne(console))
        .addSubcommand(new PenaltyCommand.ListAll(console));
    return penalty;
  }

  private static CommandLine token(Console console) {
    CommandLine token = new CommandLine(new TokenCommand());
    token.addSubcommand(new TokenCommand.New(console));
    return token;
  }

  private static int misused(ParameterException e, Console console) {
    console.err().println("sluice: " + Misuse.of(e));
    console.err().println(Misuse.advice(e.getCommandLine()));
    return Exit.BROKEN_INPUT;
  }

  private static int failed(Exception e, Console console) {
    if (e instanceof OutputException output && output.readerIsGone()) {
      return Exit.DONE;
    }
    if (e instanceof LimitFilesException files) {
      files.problems().forEach(console.err()::println);
      console.err().println("sluice: the files have mistakes; nothing of them was applied");
      return Exit.BROKEN_INPUT;
    }
    if (e instanceof MistakesException several) {
      several.mistakes().forEach(console.err()::println);
      console.err().println("sluice: " + several.getMessage());
      return Exit.BROKEN_INPUT;
    }
    if (e instanceof NotDoneException) {
      console.err().println("sluice: " + e.getMessage());
      return Exit.NO;
    }
    boolean input =
        e instanceof InputException
            || e instanceof InvalidRequestException
            || e instanceof AddressException
            || e instanceof OutputException;
    boolean unreachable =
        e instanceof StoreException
            || e instanceof DatabaseException
            || e instanceof ServerException;
    if (input || unreachable) {
      console.err().println("sluice: " + e.getMessage());
      return input ? Exit.BROKEN_INPUT : Exit.UNREACHABLE;
    }
    return bug(e, console);
  }

  private static int bug(Throwable e, Console console) {
    console.err().println("sluice: internal error; please report it with the stack trace below");
    e.printStackTrace(console.err());
    return Exit.BUG;
  }
}
