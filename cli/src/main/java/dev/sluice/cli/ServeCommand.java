// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.DatabaseOptions.OverrideTableOptions;
import dev.sluice.cli.DoorOptions.AccessOptions;
import dev.sluice.cli.LimitFileOptions.AskedFor;
import dev.sluice.cli.LimitFileOptions.RulesOption;
import dev.sluice.cli.LogProvider.LogFormat;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.server.service.ServerConfig;
import dev.sluice.server.service.ServerConfig.ConfigException;
import dev.sluice.server.service.ServerConfig.Copy;
import dev.sluice.server.service.ServerConfig.DenialLogFile;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.service.Service;
import dev.sluice.store.StoreException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help;
import picocli.CommandLine.Help.Layout;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.UsageMessageSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code sluice serve}: runs the server until it gets a signal. */
@Command(
    name = "serve",
    customSynopsis = "sluice serve [OPTIONS]",
    description = {
      "Serves decisions over HTTP, gRPC and the Redis protocol.",
      "",
      "Without limit files, the server has sample limits. The server watches its files: a good"
          + " change applies to all buckets at once; a change with mistakes is only reported.",
      "",
      "Each option can also be in the file of --config, without the hyphens, or in an environment"
          + " variable: SLUICE_SNAPSHOT_INTERVAL for --snapshot-interval. A flag takes precedence"
          + " over a variable, and a variable over the file."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice serve",
      "  sluice serve --config sluice.yml",
      "  sluice serve --config sluice.yml --http 127.0.0.1:9090 --print-config",
      "  sluice serve --limits limits.yml --http 127.0.0.1:8080",
      "  sluice serve --limits limits.yml --rules rules.yml \\",
      "       --trusted-proxies 10.0.0.0/8",
      "  sluice serve --store 'redis://app@redis:6379/0?prefix=shop:' \\",
      "       --store-password-file /run/secrets/redis --on-failure local:4 \\",
      "       --on-failure LoginsPerIPAddress=deny",
      "  sluice spend LoginsPerIPAddress 192.0.2.7 --server http://127.0.0.1:8080"
    })
final class ServeCommand extends ConsoleCommand {

  private static final int PINGS_AT_THE_START = 3;
  private static final String REFUSE = "refuse";
  private static final String HASH = "hash";

  private final Map<String, String> environment = System.getenv();

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--config",
      paramLabel = "FILE",
      description = "A YAML file with options of this command, such as http: 127.0.0.1:8080.")
  private @Nullable Path config;

  @Option(
      names = "--print-config",
      description = "Print each option with its value and its source, without secrets, and exit.")
  private boolean printConfig;

  @Mixin private LimitFileOptions files = new LimitFileOptions();

  @Mixin private LimitsCopyOptions limitsCopy = new LimitsCopyOptions();

  @Mixin private RulesOption rules = new RulesOption();

  @Mixin private DoorOptions doors = new DoorOptions();

  @Mixin private StorageOptions storage = new StorageOptions();

  @Mixin private OverrideTableOptions table = new OverrideTableOptions();

  @Mixin private AccessOptions access = new AccessOptions();

  @Mixin private AskedFor askedFor = new AskedFor();

  @Option(
      names = "--missing-default",
      paramLabel = "POLICY",
      defaultValue = REFUSE,
      description =
          "What to do if --for, --on-failure or a rule names a limit without a default, or a"
              + " request has an id with neither a default nor an override: refuse (the start, the"
              + " reload or the request), warn, or allow (${DEFAULT-VALUE}).")
  private String missingDefault = REFUSE;

  @Option(
      names = "--limits-on-request",
      description =
          "Read changed limit files and rules only on sluice reload or SIGHUP, so that sluice"
              + " reload --dry-run can show the changes before they apply. If not given, changes"
              + " apply within a second.")
  private boolean limitsOnRequest;

  @Option(
      names = "--top-denied",
      description =
          "For the page and for administrators, keep the ids that each limit denied most in the"
              + " last minutes. If not given, no ids are kept, since ids are often personal data.")
  private boolean topDenied;

  @Option(
      names = "--denial-log",
      paramLabel = "FILE",
      description =
          "Append denials as JSON lines, at most ten a second per limit; - is standard error.")
  private @Nullable String denialLog;

  @Option(
      names = "--denial-log-ids",
      paramLabel = "FORM",
      defaultValue = HASH,
      description =
          "Ids in the denial log: hash (keyed by --token-key-file) or show (${DEFAULT-VALUE}).")
  private String denialLogIds = HASH;

  @Mixin private OtlpOptions otlp = new OtlpOptions();

  @Mixin private LogFormatOption log = new LogFormatOption();

  static CommandLine commandLine(Console console) {
    CommandLine serve = console.lineOf(new ServeCommand());
    ServeHelp.apply(serve);
    return serve;
  }

  @Override
  public Integer call() throws InterruptedException {
    OutOfMemoryExit.install();
    Settings settings = Settings.of(spec.commandLine().getParseResult(), config, environment);
    boolean printsOnly = printConfig; // parseArgs below resets the field
    if (printsOnly) {
      SettingsPage.lines(settings).forEach(console::line);
      console.flush(); // standard output must come before the mistakes on standard error
    }
    spec.commandLine().parseArgs(settings.arguments().toArray(String[]::new));
    List<Supplier<?>> checks = withoutFiles();
    if (!printsOnly) {
      checks.addAll(withFiles());
    }
    requireValid(settings, checks);
    if (printsOnly) {
      return Exit.DONE;
    }
    Service service;
    try {
      service = start(config());
    } catch (UnknownLimitException e) { // the message has a line for each unknown limit
      refuse(settings, String.valueOf(e.getMessage()).lines().map(settings::placed).toList());
      throw e;
    } catch (InputException e) {
      throw new InputException(settings.placed(String.valueOf(e.getMessage())));
    }
    // The shutdown hook is set before the line "listening on" is printed, so that a later signal
    // stops the server cleanly.
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(service), "sluice-shutdown"));
    boolean ignoresHangUp = SighupReload.run(service::reload);
    log.say(
        console,
        "listening on %s (%s store, %s)"
            .formatted(
                doors.addresses(service),
                storage.shown(),
                files.none()
                    ? "sample limits"
                    : limitsOnRequest
                        ? "reloading limit files on request"
                        : "watching the limit files"));
    if (ignoresHangUp) { // printed after the line "listening on", which programs read first
      log.warn(
          console,
          "warning: SIGHUP is ignored, as nohup or another parent process has set it; to"
              + " reload at once, send POST /v1/admin/reload");
    }
    doors.insecure().ifPresent(warning -> log.warn(console, warning));
    sayIfAway(service);
    ClassDataArchive.make(warning -> log.warn(console, warning));
    new CountDownLatch(1).await(); // until a signal ends the process
    return Exit.DONE;
  }

  private void stop(Service service) {
    log.say(console, "stopping: received a signal");
    service.close();
    log.say(console, "stopped: " + service.farewell());
  }

  private List<Supplier<?>> withoutFiles() {
    List<Supplier<?>> checks = new ArrayList<>(doors.each(access, table.isSet()));
    checks.addAll(storage.each(environment));
    checks.addAll(otlp.each());
    checks.addAll(
        List.<Supplier<?>>of(
            log::apply,
            this::onMissing,
            this::limitsOnRequest,
            () -> Optional.ofNullable(limitsCopy.settings(files)),
            () -> access.settings(table.isSet())));
    return checks;
  }

  private List<Supplier<?>> withFiles() {
    List<Supplier<?>> checks = new ArrayList<>();
    if (!limitsCopy.startsWithLastGood()) { // with last-good, a missing file is only a mistake
      checks.addAll(files.each());
    }
    checks.addAll(
        List.<Supplier<?>>of(
            () ->
                Optional.ofNullable(
                    limitsCopy.startsWithLastGood() ? rules.named(files) : rules.file(files)),
            doors.files(),
            limitsCopy::requireFolder,
            () -> Optional.ofNullable(otlp.settings(environment)),
            () -> Optional.ofNullable(table.table()),
            storage::access,
            storage::tokenKey,
            () -> Optional.ofNullable(denialLog()),
            access::requireFiles));
    return checks;
  }

  /** Reports the mistakes in all keys and values together, not only the first mistake. */
  private static void requireValid(Settings settings, List<Supplier<?>> checks) {
    Set<String> mistakes = new LinkedHashSet<>(settings.mistakes());
    for (Supplier<?> check : checks) {
      try {
        var unused = check.get();
      } catch (InputException e) {
        mistakes.add(settings.placed(String.valueOf(e.getMessage())));
      }
    }
    refuse(settings, List.copyOf(mistakes));
  }

  private static void refuse(Settings settings, List<String> mistakes) {
    if (mistakes.size() == 1 && settings.mistakes().isEmpty()) {
      throw new InputException(mistakes.get(0));
    }
    if (!mistakes.isEmpty()) {
      throw new InputException(mistakes, Settings.OUTCOME);
    }
  }

  private ServerConfig config() {
    return new ServerConfig(
        doors.doors(access),
        new Sources(limitFiles(), table.table(), required(), onMissing(), limitsCopy.copy()),
        storage.storage(),
        access.control(table.isSet()),
        new Telemetry(topDenied, denialLog(), otlp.settings(environment)));
  }

  private boolean limitsOnRequest() {
    if (limitsOnRequest && files.none()) {
      throw new InputException(
          "--limits-on-request: found no limit files to read; give --limits FILE, or omit"
              + " --limits-on-request");
    }
    return limitsOnRequest;
  }

  private @Nullable DenialLogFile denialLog() {
    boolean shows = denialLogIds.equals("show");
    if (!shows && !denialLogIds.equals(HASH)) {
      throw new InputException(
          "--denial-log-ids: found %s, expected hash or show"
              .formatted(SafeText.quote(denialLogIds)));
    }
    return denialLog == null ? null : new DenialLogFile(denialLog, shows);
  }

  /**
   * Returns the limit files. If the server can start with the last good copy, a missing file does
   * not end the command, but counts as a mistake in the limits.
   */
  private ServerConfig.Files limitFiles() {
    boolean lastGood = limitsCopy.startsWithLastGood();
    if (!lastGood) {
      files.requireReadable();
    }
    return new ServerConfig.Files(
        files.limits(),
        files.overrides(),
        files.names(),
        lastGood ? rules.named(files) : rules.file(files),
        limitsOnRequest);
  }

  private List<Requirement> required() {
    List<Requirement> required = new ArrayList<>(askedFor.requirements(onMissing()));
    required.addAll(storage.requirements(onMissing()));
    return required;
  }

  private MissingDefault onMissing() {
    return Quantities.word("--missing-default", missingDefault, MissingDefault.class);
  }

  private static Service start(ServerConfig config) {
    try {
      return Service.start(config);
    } catch (ConfigException e) {
      throw new InputException("--%s: %s".formatted(e.setting(), e.getMessage()));
    }
  }

  /** Warns the operator at startup if the store does not reply; then failure rules decide. */
  private void sayIfAway(Service service) {
    String failure = "";
    for (int i = 0; i < PINGS_AT_THE_START; i++) { // the first ping may time out
      try {
        service.ping();
        return;
      } catch (StoreException e) {
        failure = String.valueOf(e.getMessage());
      }
    }
    log.warn(console, "sluice: the store does not answer yet: " + failure);
  }

  /** Shows the options of {@code sluice serve} under headings. */
  private static final class ServeHelp {

    private static final String GROUPS =
        """
        Most needed: --config --limits --rules --store --on-failure --http --trusted-proxies \
        --tls-certificate --tls-key --tokens
        Configuration: --print-config
        Limits: --overrides --names --for --missing-default --limits-broken --limits-copy \
        --limits-on-request --overrides-db --db-password-file --overrides-interval --override-store
        Store: --store-password-file --sentinel-password-file --ready-without-store \
        --local-at-least --snapshot --snapshot-interval --token-key-file
        Doors: --resp --grpc --host --allow-origin --proxy-header --rls-overrides --rls-headers \
        --rls-header-names --rls-shadow --near-limit
        TLS and access: --tls-client-ca --tls-client-auth --requests-per-address --audit-log \
        --plaintext --open --insecure
        Observation: --log-format --request-log --top-denied --denial-log --denial-log-ids --otlp \
        --otlp-headers-file --otlp-interval --otlp-traced
        Help: --help --version
        """;

    private ServeHelp() {}

    static void apply(CommandLine serve) {
      serve.getHelpSectionMap().put(UsageMessageSpec.SECTION_KEY_OPTION_LIST, ServeHelp::list);
    }

    private static String list(Help help) {
      List<OptionSpec> all =
          help.commandSpec().options().stream().filter(option -> !option.hidden()).toList();
      StringBuilder text = new StringBuilder();
      GROUPS
          .lines()
          .forEach(
              group -> {
                List<String> words = List.of(group.split(" ", -1));
                List<OptionSpec> options =
                    words.stream()
                        .flatMap(word -> all.stream().filter(one -> one.longestName().equals(word)))
                        .toList();
                Layout layout = help.createDefaultLayout(all, List.of(), help.colorScheme());
                layout.addOptions(options, help.createDefaultParamLabelRenderer());
                String heading = group.substring(0, group.indexOf(':'));
                text.append("%n%s:%n%s".formatted(heading, layout));
              });
      return text.toString();
    }
  }

  /*
   * The JDK has no supported way to receive a signal, and a compiler warning about the class
   * sun.misc.Signal cannot be suppressed. Every JDK has sun.misc.Signal in the module
   * jdk.unsupported. The server finds sun.misc.Signal by reflection, so that it also starts in a
   * runtime without the module jdk.unsupported.
   */
  /** Handles the signal SIGHUP, on which a server reads its files again. */
  private static final class SighupReload {

    private SighupReload() {}

    /**
     * Runs a task at each SIGHUP, on a separate thread. Returns whether the process was started
     * with SIGHUP ignored, for example by nohup. A JVM that was started with SIGHUP ignored keeps
     * ignoring SIGHUP, and never runs the task.
     */
    static boolean run(Runnable task) {
      try {
        Class<?> signal = Class.forName("sun.misc.Signal");
        Class<?> handler = Class.forName("sun.misc.SignalHandler");
        Object onSignal =
            Proxy.newProxyInstance(
                SighupReload.class.getClassLoader(),
                new Class<?>[] {handler},
                (proxy, method, arguments) -> {
                  switch (method.getName()) {
                    case "handle" -> task.run();
                    case "equals" -> {
                      return proxy == arguments[0];
                    }
                    case "hashCode" -> {
                      return System.identityHashCode(proxy);
                    }
                    default -> {
                      return "reload";
                    }
                  }
                  return null;
                });
        Object before =
            signal
                .getMethod("handle", signal, handler)
                .invoke(null, signal.getConstructor(String.class).newInstance("HUP"), onSignal);
        return handler.getField("SIG_IGN").get(null).equals(before);
      } catch (ReflectiveOperationException e) {
        if (e instanceof InvocationTargetException
            && !(e.getCause() instanceof IllegalArgumentException)) {
          throw new IllegalStateException(e);
        }
        return false; // Windows has no SIGHUP
      }
    }
  }

  /** The option {@code --log-format} of commands that write a log. */
  private static final class LogFormatOption {

    private static final Logger log = LoggerFactory.getLogger(ServeCommand.class);

    @Option(
        names = "--log-format",
        paramLabel = "FORMAT",
        defaultValue = "text",
        description = "Log format: text, or json with one object per line (${DEFAULT-VALUE}).")
    private String format = "text";

    private LogFormat parsed() {
      return Quantities.word("--log-format", format, LogFormat.class);
    }

    /**
     * Sets {@code --log-format} as the format of all later log lines, and returns the format.
     *
     * @throws InputException if the option names no format
     */
    LogFormat apply() {
      LogFormat used = parsed();
      LogFormat.use(used);
      return used;
    }

    /**
     * Prints a line for people. If the log format is JSON, prints the line as a log entry, so that
     * all output is JSON.
     */
    void say(Console console, String line) {
      say(console, line, Level.INFO);
    }

    /** Prints a warning for people; in a JSON log, as an event with the level WARN. */
    void warn(Console console, String line) {
      say(console, line, Level.WARN);
    }

    private void say(Console console, String line, Level level) {
      if (parsed() == LogFormat.JSON) {
        log.atLevel(level).log(line);
      } else {
        console.err().println(line);
      }
    }
  }

  /** The options that let a server start although the limit files have mistakes. */
  private static final class LimitsCopyOptions {

    private static final String REFUSE = "refuse";
    private static final String LAST_GOOD = "last-good";

    @Option(
        names = "--limits-broken",
        paramLabel = "POLICY",
        defaultValue = REFUSE,
        description =
            "What to do at the start if the limit files or the rules have mistakes: refuse (exit"
                + " code 2), or last-good, which uses the copy of --limits-copy"
                + " (${DEFAULT-VALUE}).")
    private String broken = REFUSE;

    @Option(
        names = "--limits-copy",
        paramLabel = "FILE",
        description =
            "A file for a copy of the limit files and the rules, written after each good load, in a folder that outlives the server. Only its owner can read the copy.")
    private @Nullable Path file;

    boolean startsWithLastGood() {
      return broken.equals(LAST_GOOD);
    }

    /** Returns the settings for the copy of the limit files; null without {@code --limits-copy}. */
    @Nullable Copy copy() {
      return file == null ? null : new Copy(file, startsWithLastGood());
    }

    /** Checks these options together with the limit files; returns the same as {@link #copy}. */
    @Nullable Copy settings(LimitFileOptions files) {
      if (!broken.equals(REFUSE) && !startsWithLastGood()) {
        throw new InputException(
            "--limits-broken: found %s, expected refuse or last-good"
                .formatted(SafeText.quote(broken)));
      }
      if (startsWithLastGood() && file == null) {
        throw new InputException("--limits-broken last-good requires --limits-copy FILE");
      }
      if (file != null && files.none()) {
        throw new InputException("--limits-copy requires --limits FILE");
      }
      return copy();
    }

    /**
     * Requires that {@code --limits-copy} names no folder, and that its parent folder is writable.
     */
    @CanIgnoreReturnValue
    boolean requireFolder() {
      Path folder = file == null ? null : file.toAbsolutePath().getParent();
      if (folder != null && !Files.isWritable(folder)) {
        throw new InputException(
            "--limits-copy: %s: the folder does not exist, or is not writable".formatted(folder));
      }
      if (file != null && Files.isDirectory(file)) {
        throw new InputException(
            "--limits-copy: %s: found a folder, expected a file".formatted(file));
      }
      return true;
    }
  }
}
