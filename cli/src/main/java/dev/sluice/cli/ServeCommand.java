// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.FailureRule;
import dev.sluice.limit.Requirement;
import dev.sluice.limit.Requirement.MissingDefault;
import dev.sluice.limit.UnknownLimitException;
import dev.sluice.server.service.ServerConfig;
import dev.sluice.server.service.ServerConfig.ConfigException;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.service.Service;
import dev.sluice.server.service.StoreAccess.Stores;
import dev.sluice.store.StoreException;
import dev.sluice.text.SafeText;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code sluice serve}: the server, until it is told to stop. */
@Command(
    name = "serve",
    description = {
      "Answers whether requests may pass, over HTTP, gRPC and the Redis protocol.",
      "",
      "Without files it serves a sample of limits. Files are watched: a good change is applied to"
          + " live buckets at once, a bad one is reported and ignored.",
      "",
      "Each option may also stand in the file of --config, without the hyphens before its name, or"
          + " in a variable: SLUICE_SNAPSHOT_INTERVAL for --snapshot-interval. A flag wins over a"
          + " variable, and a variable over the file."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice serve",
      "  sluice serve --config sluice.yml",
      "  sluice serve --config sluice.yml --http 127.0.0.1:9090 --print-config",
      "  sluice serve --limits limits.yml --http 127.0.0.1:8080",
      "  sluice serve --limits limits.yml --rules rules.yml \\",
      "       --trusted-proxies 10.0.0.0/8",
      "  sluice serve --store 'redis://app@redis:6379/0?timeout=200ms' \\",
      "       --store-password-file /run/secrets/redis --on-failure local:4 \\",
      "       --on-failure LoginsPerIPAddress=deny",
      "  sluice spend LoginsPerIPAddress 192.0.2.7 --server http://127.0.0.1:8080"
    })
final class ServeCommand implements Callable<Integer> {

  private static final int PINGS_AT_THE_START = 3;
  private static final String REFUSE = "refuse";

  private final Console console;
  private final Map<String, String> environment;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--config",
      paramLabel = "FILE",
      description = "A YAML file with options of this command, such as http: 127.0.0.1:8080.")
  private @Nullable Path config;

  @Option(
      names = "--print-config",
      description =
          "Print each option with its value and where the value comes from, without secrets, and"
              + " end.")
  private boolean printConfig;

  @Mixin private LimitFileOptions files = new LimitFileOptions();

  @Mixin private LimitsCopyOptions limitsCopy = new LimitsCopyOptions();

  @Mixin private RulesOption rules = new RulesOption();

  @Mixin private DoorOptions doors = new DoorOptions();

  @Option(
      names = "--store",
      paramLabel = "STORE",
      defaultValue = Stores.MEMORY,
      description =
          "The store of the buckets: memory (if not given), or redis://host:port/db. Its options,"
              + " such as ?timeout=200ms, are in docs/stores.md.")
  private String store = Stores.MEMORY;

  @Mixin private StorePasswordOptions storePasswords = new StorePasswordOptions();

  @Mixin private SnapshotOptions snapshot = new SnapshotOptions();

  @Mixin private TokenKeyOption tokenKey = new TokenKeyOption();

  @Mixin private OverrideTableOptions table = new OverrideTableOptions();

  @Option(
      names = "--ready-without-store",
      description =
          "With a rule of --on-failure that decides without the store: be ready before the store has"
              + " answered once. If not given, a server waits for its first answer.")
  private boolean readyWithoutStore;

  @Mixin private FailureRuleOptions failureRules = new FailureRuleOptions();

  @Mixin private AccessOptions access = new AccessOptions();

  @Mixin private AskedFor askedFor = new AskedFor();

  @Option(
      names = "--missing-default",
      paramLabel = "POLICY",
      defaultValue = REFUSE,
      description =
          "The outcome where --for, --on-failure or a rule names a limit that has no default, or a"
              + " request an id that has neither a default nor an override: refuse (the start, the"
              + " reload, the request), warn, or allow (${DEFAULT-VALUE}).")
  private String missingDefault = REFUSE;

  @Option(
      names = "--top-denied",
      description =
          "Keep the ids that each limit denied most in the last minutes, for the page and for"
              + " administrators. Off if not given: ids are often personal data.")
  private boolean topDenied;

  @Mixin private OtlpOptions otlp = new OtlpOptions();

  @Mixin private LogOptions log = new LogOptions();

  /**
   * Makes the command.
   *
   * @param environment all variables of the process
   */
  ServeCommand(Console console, Map<String, String> environment) {
    this.console = console;
    this.environment = environment;
  }

  @Override
  public Integer call() throws InterruptedException {
    OutOfMemoryExit.install();
    Settings settings = Settings.of(spec.commandLine().getParseResult(), config, environment);
    if (printConfig) {
      SettingsPage.lines(settings).forEach(console::line);
      console.flush(); // the page comes first, then the mistakes
      spec.commandLine().parseArgs(settings.arguments().toArray(String[]::new));
      requireValid(settings, withoutFiles());
      return Exit.DONE;
    }
    spec.commandLine().parseArgs(settings.arguments().toArray(String[]::new));
    requireValid(settings, Stream.of(withoutFiles(), withFiles()).flatMap(List::stream).toList());
    Service service;
    try {
      service = start(config());
    } catch (UnknownLimitException e) { // a line for each limit
      refuse(settings, String.valueOf(e.getMessage()).lines().map(settings::placed).toList());
      throw e;
    } catch (InputException e) {
      throw new InputException(settings.placed(String.valueOf(e.getMessage())));
    }
    // Before the line that says that it listens: a signal sent then must not end the process.
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(service), "sluice-shutdown"));
    boolean ignoresHangUp = HangUp.run(service::reload);
    log.say(
        console,
        "listening on %s (%s store, %s)"
            .formatted(
                doors.addresses(service),
                Stores.shown(store),
                files.none() ? "sample limits" : "watching the limit files"));
    if (ignoresHangUp) { // behind the first line, which programs read
      log.warn(
          console,
          "warning: SIGHUP is ignored, since the process was started so (nohup does that); to"
              + " reload at once, send POST /v1/admin/reload");
    }
    doors.insecure().ifPresent(warning -> log.warn(console, warning));
    sayIfAway(service);
    ClassDataArchive.make(warning -> log.warn(console, warning));
    new CountDownLatch(1).await(); // until a signal ends the process
    return Exit.DONE;
  }

  private void stop(Service service) {
    log.say(console, "stopping: told by a signal");
    service.close();
    log.say(console, "stopped: " + service.farewell());
  }

  /** The checks that look at nothing but the settings. */
  private List<Supplier<?>> withoutFiles() {
    List<Supplier<?>> checks = new ArrayList<>(doors.each(access, table.isSet()));
    checks.addAll(failureRules.each());
    checks.addAll(otlp.each());
    checks.addAll(
        List.<Supplier<?>>of(
            log::apply,
            () -> Optional.ofNullable(snapshot.snapshot(store)),
            this::onMissing,
            () -> Optional.ofNullable(limitsCopy.settings(files)),
            failureRules::all,
            () -> access.settings(table.isSet()),
            () -> storePasswords.requireUsable(store, environment)));
    return checks;
  }

  /** The others, which may read files. */
  private List<Supplier<?>> withFiles() {
    List<Supplier<?>> checks = new ArrayList<>();
    if (!limitsCopy.startsWithLastGood()) { // then files that are missing are broken limits, too
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
            () -> storePasswords.access(store),
            tokenKey::tokenKey,
            access::requireFiles));
    return checks;
  }

  /** Finds every key and every value that is wrong, not only the first. */
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
    refuse(mistakes);
  }

  private static void refuse(List<String> mistakes) {
    if (!mistakes.isEmpty()) {
      throw new MistakesException(mistakes, Settings.OUTCOME);
    }
  }

  private ServerConfig config() {
    return new ServerConfig(
        doors.doors(access),
        new Sources(
            files.forServer(rules, limitsCopy),
            table.table(),
            required(),
            onMissing(),
            limitsCopy.copy()),
        storage(),
        access.control(table.isSet()),
        new Telemetry(topDenied, otlp.settings(environment)));
  }

  private List<Requirement> required() {
    List<Requirement> required = new ArrayList<>(askedFor.requirements(onMissing()));
    required.addAll(failureRules.requirements(onMissing()));
    return required;
  }

  private Storage storage() {
    Map<String, FailureRule> byLimit = failureRules.all();
    FailureRule others = byLimit.remove("");
    return new Storage(
        storePasswords.access(store),
        snapshot.snapshot(store),
        tokenKey.tokenKey(),
        others == null ? FailureRule.fail() : others,
        byLimit,
        readyWithoutStore);
  }

  private MissingDefault onMissing() {
    return switch (missingDefault) {
      case REFUSE -> MissingDefault.REFUSE;
      case "warn" -> MissingDefault.WARN;
      case "allow" -> MissingDefault.ALLOW;
      default ->
          throw new InputException(
              "--missing-default: found %s, expected refuse, warn or allow"
                  .formatted(SafeText.quote(missingDefault)));
    };
  }

  private static Service start(ServerConfig config) {
    try {
      return Service.start(config);
    } catch (ConfigException e) {
      throw new InputException("--%s: %s".formatted(e.setting(), e.getMessage()));
    }
  }

  /** The server runs without its store, by the failure rules; an operator should know at once. */
  private void sayIfAway(Service service) {
    String failure = "";
    for (int i = 0; i < PINGS_AT_THE_START; i++) { // the first may take longer than a time-out
      try {
        service.ping();
        return;
      } catch (StoreException e) {
        failure = String.valueOf(e.getMessage());
      }
    }
    log.warn(console, "sluice: the store does not answer yet: " + failure);
  }
}
