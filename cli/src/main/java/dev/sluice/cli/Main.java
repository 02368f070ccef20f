// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.cli.Console.OutputException;
import dev.sluice.cli.Exit.ExitException;
import dev.sluice.cli.ReloadCommand.RollbackCommand;
import dev.sluice.cli.ViewCommand.LimitsView;
import dev.sluice.cli.ViewCommand.StatsView;
import dev.sluice.cli.ViewCommand.TopView;
import dev.sluice.internal.text.SafeText;
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
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.ListResourceBundle;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/** Runs the command {@code sluice}. */
public final class Main {

  /** The width of help texts, which fits any terminal. */
  private static final int WIDTH = 80;

  /** The character that Java decodes from invalid bytes. */
  private static final char REPLACEMENT = '\uFFFD';

  private Main() {}

  /** Runs one command and leaves the JVM with its exit code. */
  public static void main(String[] args) {
    // The open file limit is checked first: with too few file descriptors, no more classes load.
    if (args.length > 0 && args[0].equals("serve")) {
      OpenFileLimit.tooFew()
          .ifPresent(
              message -> {
                System.err.println("sluice: " + message);
                System.exit(Exit.BROKEN_INPUT);
              });
    }
    // Writes to the file descriptor, since System.out hides that the reader has closed the pipe.
    int code;
    try {
      code =
          run(
              new FileInputStream(FileDescriptor.in),
              new FileOutputStream(FileDescriptor.out),
              new FileOutputStream(FileDescriptor.err),
              args);
    } catch (OutOfMemoryError e) {
      System.err.println("sluice: " + outOfMemory(Runtime.getRuntime().maxMemory()));
      code = Exit.OUT_OF_MEMORY;
    }
    System.exit(code);
  }

  /** Returns a message that suggests a heap of twice the size, in whole GB. */
  static String outOfMemory(long heapBytes) {
    return String.format(
        Locale.ROOT,
        "out of memory with a heap of %,d MB; give the JVM a larger heap, such as SLUICE_OPTS=-Xmx%sg",
        heapBytes >> 20,
        1 + ((2 * heapBytes - 1) >> 30));
  }

  static int run(InputStream in, OutputStream out, OutputStream err, String... args) {
    Console console = new Console(in, out, err);
    String unreadable = unreadable(args);
    if (unreadable != null) {
      console
          .err()
          .printf("sluice: %s can't be read in this locale; set LC_ALL=C.UTF-8%n", unreadable);
      return Exit.BROKEN_INPUT;
    }
    int code;
    try {
      code = commandLine(console, args).execute(args);
    } catch (OutOfMemoryError e) {
      throw e;
    } catch (Error e) { // picocli catches only exceptions
      code = bug(e, console);
    }
    try {
      console.flush();
    } catch (OutputException e) {
      return code == Exit.DONE ? failed(e, console) : code;
    }
    return code;
  }

  /**
   * Returns what names the first argument or variable that Java could not decode; null if there is
   * none. Java has then replaced bytes by U+FFFD, so an id would be another id. In a locale with
   * UTF-8, an id can contain this character.
   */
  private static @Nullable String unreadable(String... args) {
    if (System.getProperty("sun.jnu.encoding", "UTF-8").equalsIgnoreCase("UTF-8")) {
      return null;
    }
    for (String arg : args) {
      if (arg.indexOf(REPLACEMENT) >= 0) {
        return "the argument " + SafeText.quote(arg);
      }
    }
    return System.getenv().entrySet().stream()
        .filter(one -> one.getKey().startsWith("SLUICE_"))
        .filter(one -> one.getValue().indexOf(REPLACEMENT) >= 0)
        .map(one -> "the variable " + one.getKey()) // its value can be a secret
        .findFirst()
        .orElse(null);
  }

  /** Returns the names of the commands to load; help, completion and suggestions need all names. */
  private static Collection<String> needed(Set<String> all, String... args) {
    String first = args.length == 0 ? "" : args[0];
    if (args.length == 1 && first.equals("--version")) {
      return Set.of();
    }
    boolean isOne = all.contains(first) && !first.equals("help") && !first.equals("completion");
    return isOne ? Set.of(first) : all;
  }

  /**
   * Returns the command line with only the commands that the arguments need. Reading the
   * annotations of all commands would take most of a short command's run time.
   */
  static CommandLine commandLine(Console console, String... args) {
    CommandLine root = new CommandLine(new SluiceCommand());
    Map<String, Supplier<CommandLine>> all = commands(console);
    for (String name : needed(all.keySet(), args)) {
      root.addSubcommand(name, Objects.requireNonNull(all.get(name)).get());
    }
    return root.setExpandAtFiles(false) // an id may start with "@"
        .setColorScheme(Help.defaultColorScheme(Help.Ansi.OFF))
        .setOut(new PrintWriter(new OutputStreamWriter(console.out(), StandardCharsets.UTF_8)))
        .setErr(console.err())
        .setUsageHelpWidth(WIDTH)
        .setResourceBundle(new SluiceCommand.HelpWords())
        .setParameterExceptionHandler((e, words) -> misused(e, console))
        .setExecutionExceptionHandler((e, command, parsed) -> failed(e, console));
  }

  private static Map<String, Supplier<CommandLine>> commands(Console console) {
    Map<String, Supplier<CommandLine>> all = new LinkedHashMap<>();
    all.put("serve", () -> ServeCommand.commandLine(console));
    all.put("init", () -> console.lineOf(new InitCommand()));
    all.put("lint", () -> console.lineOf(new LintCommand()));
    all.put("diff", () -> console.lineOf(new DiffCommand()));
    all.put("reload", () -> console.lineOf(new ReloadCommand()));
    all.put("rollback", () -> console.lineOf(new RollbackCommand()));
    all.put("key", () -> console.lineOf(new KeyCommand()));
    all.put("explain-rule", () -> console.lineOf(new ExplainRuleCommand()));
    all.put("convert", () -> console.lineOf(new ConvertCommand()));
    all.put("certify", () -> console.lineOf(new CertifyCommand()));
    all.put("covering", () -> console.lineOf(new CoveringCommand()));
    all.put("replay", () -> console.lineOf(new ReplayCommand()));
    all.put("fit", () -> console.lineOf(new FitCommand()));
    all.put("why", () -> console.lineOf(new WhyCommand()));
    all.put("simulate", () -> console.lineOf(new SimulateCommand()));
    all.put("check", () -> ActCommand.commandLine(Act.CHECK, console));
    all.put("spend", () -> ActCommand.commandLine(Act.SPEND, console));
    all.put("refund", () -> ActCommand.commandLine(Act.REFUND, console));
    all.put("reset", () -> ActCommand.commandLine(Act.RESET, console));
    all.put("limits", () -> console.lineOf(new LimitsView()));
    all.put("stats", () -> console.lineOf(new StatsView()));
    all.put("top", () -> console.lineOf(new TopView()));
    all.put("healthcheck", () -> console.lineOf(new HealthcheckCommand()));
    all.put("overrides", () -> OverridesCommand.commandLine(console));
    all.put("penalty", () -> PenaltyCommand.commandLine(console));
    all.put("store", () -> StoreCommand.commandLine(console));
    all.put("token", () -> TokenCommand.commandLine(console));
    all.put("completion", () -> console.lineOf(new CompletionCommand()));
    all.put("help", () -> console.lineOf(new HelpCommand()));
    return all;
  }

  private static int misused(ParameterException e, Console console) {
    console.err().println("sluice: " + UsageErrors.of(e));
    console.err().println(UsageErrors.advice(e.getCommandLine()));
    return Exit.BROKEN_INPUT;
  }

  private static int failed(Exception e, Console console) {
    if (e instanceof OutputException output && output.readerIsGone()) {
      return Exit.DONE;
    }
    if (e instanceof LimitFilesException files) {
      files.problems().forEach(console.err()::println);
      console.err().println("sluice: the files have mistakes; no file was applied");
      return Exit.BROKEN_INPUT;
    }
    if (e instanceof InputException input) {
      input.mistakes().forEach(console.err()::println);
    }
    int code =
        e instanceof ExitException exit
            ? exit.code()
            : e instanceof StoreException
                ? Exit.UNREACHABLE
                : e instanceof InvalidRequestException || e instanceof AddressException
                    ? Exit.BROKEN_INPUT
                    : Exit.BUG;
    if (code == Exit.BUG) {
      return bug(e, console);
    }
    console.err().println("sluice: " + e.getMessage());
    return code;
  }

  private static int bug(Throwable e, Console console) {
    console.err().println("sluice: internal error; please report it with the stack trace below");
    e.printStackTrace(console.err());
    return Exit.BUG;
  }

  /** The command {@code sluice}, which requires a subcommand. */
  @Command(
      name = "sluice",
      description = "Decides exactly whether a request is allowed, by named limits.",
      mixinStandardHelpOptions = true,
      scope = ScopeType.INHERIT,
      versionProvider = SluiceCommand.Version.class,
      synopsisSubcommandLabel = "COMMAND",
      exitCodeListHeading = "%nExit codes:%n",
      exitCodeList = {
        "0:done",
        "1:mistakes were found, or a request was denied",
        "2:wrong usage or broken input",
        "3:a store or server could not be reached",
        "70:an internal error",
        "71:out of memory"
      },
      footerHeading = "%nExamples:%n",
      footer = {
        "  sluice serve                 start a server with sample limits, on loopback",
        "  sluice lint limits.yml       report every mistake in a limit file",
        "  sluice help spend            explain a command, with examples"
      })
  private static final class SluiceCommand implements Runnable {

    @Spec private CommandSpec spec = CommandSpec.create();

    @Override
    public void run() {
      throw UsageErrors.mistake(spec, "the command is missing");
    }

    /** The version in the manifest of the jar. */
    static final class Version implements IVersionProvider {
      @Override
      public String[] getVersion() {
        String version = SluiceCommand.class.getPackage().getImplementationVersion();
        return new String[] {"sluice " + (version == null ? "development" : version)};
      }
    }

    /** The help texts of the two options that picocli adds to each command. */
    static final class HelpWords extends ListResourceBundle {

      @Override
      protected Object[][] getContents() {
        return new Object[][] {
          {"mixinStandardHelpOptions.help", "Prints this help."},
          {"mixinStandardHelpOptions.version", "Prints the version."},
        };
      }
    }
  }
}
