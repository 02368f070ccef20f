// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.FailureRule;
import dev.sluice.limit.CurrentLimits.MissingDefaultException;
import dev.sluice.limit.Requirement;
import dev.sluice.limit.Requirement.MissingDefault;
import dev.sluice.limit.UnknownLimitException;
import dev.sluice.server.HostPort;
import dev.sluice.server.Stores;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.rls.OverridePolicy;
import dev.sluice.server.service.ConfigException;
import dev.sluice.server.service.InsecureException;
import dev.sluice.server.service.ServerConfig;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.service.Service;
import dev.sluice.server.tls.TlsFiles;
import dev.sluice.store.StoreException;
import dev.sluice.text.SafeText;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.ProxyHeader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
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

  private static final String TOKEN_KEY = "--token-key-file";
  static final String USUAL_SNAPSHOT_INTERVAL = "1m";
  static final String USUAL_OVERRIDES_INTERVAL = "30s";
  private static final int PINGS_AT_THE_START = 3;
  private static final Pattern HOST = Pattern.compile("\\*|[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+]");
  private static final Pattern ORIGIN =
      Pattern.compile("\\*|null|[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#\\s]+");

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

  @Mixin private RulesOption rules = new RulesOption();

  @Option(
      names = "--trusted-proxies",
      paramLabel = "RANGE",
      split = ",",
      description =
          "Addresses of proxies, such as 10.0.0.0/8, that are believed when they say for whom they"
              + " ask (X-Forwarded-For, -Method, -Host, -Uri). Repeatable, or with commas.")
  private List<String> trustedProxies = new ArrayList<>();

  @Option(
      names = "--proxy-header",
      paramLabel = "HEADER",
      defaultValue = "x-forwarded-for",
      description =
          "The header in which all trusted proxies name the client: x-forwarded-for (the default)"
              + " or forwarded (RFC 7239). The other one is not looked at.")
  private String proxyHeader = "x-forwarded-for";

  @Option(
      names = "--store",
      paramLabel = "STORE",
      defaultValue = "memory",
      description =
          "The store of the buckets: memory (if not given), or redis://host:port/db. Its options,"
              + " such as ?timeout=200ms, are in docs/stores.md.")
  private String store = "memory";

  @Mixin private StorePasswordOptions storePasswords = new StorePasswordOptions();

  @Mixin private FailureRuleOptions failureRules = new FailureRuleOptions();

  @Mixin private AccessOptions access = new AccessOptions();

  @Mixin private AskedFor askedFor = new AskedFor();

  @Option(
      names = "--missing-default",
      paramLabel = "POLICY",
      defaultValue = "refuse",
      description =
          "The outcome where --for, --on-failure, a rule or a request names a limit that has neither a"
              + " default nor an override: refuse (the start, the reload, the request), warn, or"
              + " allow (${DEFAULT-VALUE}).")
  private String missingDefault = "refuse";

  @Option(
      names = "--snapshot",
      paramLabel = "FILE",
      description =
          "Keep the buckets of the memory store over restarts: read from this file, which is saved"
              + " periodically and at shutdown. A crash loses what was charged since the last"
              + " save.")
  private @Nullable Path snapshot;

  @Option(
      names = "--snapshot-interval",
      paramLabel = "PERIOD",
      description = "How often to write it (" + USUAL_SNAPSHOT_INTERVAL + ").")
  private @Nullable String snapshotInterval;

  @Option(
      names = "--http",
      paramLabel = "ADDR",
      defaultValue = "127.0.0.1:8080",
      description = "Where to listen, host:port; port 0 is any free one (${DEFAULT-VALUE}).")
  private String http = "127.0.0.1:8080";

  @Option(
      names = "--resp",
      paramLabel = "ADDR",
      description =
          "Where to listen for Redis clients, host:port: CL.THROTTLE, SLUICE.SPEND and others"
              + " (nowhere if not given).")
  private @Nullable String resp;

  @Option(
      names = "--grpc",
      paramLabel = "ADDR",
      description =
          "Where to listen for Envoy's rate limit service besides the port of --http, which answers"
              + " it too, host:port (nowhere if not given).")
  private @Nullable String grpc;

  @Mixin private TlsOptions tls = new TlsOptions();

  @Option(
      names = "--insecure",
      description =
          "Listen beyond loopback without TLS or without access control: everybody who reaches a"
              + " port may then spend and reset.")
  private boolean insecure;

  @Option(
      names = "--rls-overrides",
      paramLabel = "POLICY",
      description =
          "How to treat a limit that Envoy sends with a descriptor: allow (it takes the place of"
              + " ours) or ignore. Without this option: ignore with --tokens, otherwise allow.")
  private @Nullable String rlsOverrides;

  @Option(
      names = "--host",
      paramLabel = "NAME",
      split = ",",
      description =
          "A name that clients use for this server, besides localhost and IP addresses; * allows"
              + " any. Requests for another Host are refused. Repeatable.")
  private List<String> hosts = new ArrayList<>();

  @Option(
      names = "--allow-origin",
      paramLabel = "ORIGIN",
      split = ",",
      description =
          "An origin, such as https://example.com, whose web pages may ask this server; * allows"
              + " any. Others are refused. Repeatable.")
  private List<String> origins = new ArrayList<>();

  @Option(
      names = "--overrides-db",
      paramLabel = "URL",
      description =
          "A PostgreSQL database with a table of overrides, which win over those of the file; read"
              + " periodically.")
  private @Nullable String overridesDb;

  @Option(
      names = "--db-password-file",
      paramLabel = "FILE",
      description =
          "A file with that database's password; or set SLUICE_DB_PASSWORD, or use ~/.pgpass.")
  private @Nullable Path dbPassword;

  @Option(
      names = "--overrides-interval",
      paramLabel = "PERIOD",
      description = "How often to read that table (" + USUAL_OVERRIDES_INTERVAL + ").")
  private @Nullable String overridesInterval;

  @Option(
      names = TOKEN_KEY,
      paramLabel = "FILE",
      description =
          "A file with the secret that signs the tokens of reservations, 32 bytes or more; or set"
              + " SLUICE_TOKEN_KEY. All servers of a fleet need the same one. Without it the server"
              + " knows only its own tokens, until it ends.")
  private @Nullable Path tokenKey;

  @Option(
      names = "--top-denied",
      description =
          "Keep the ids that each limit denied most in the last minutes, for the page and for"
              + " administrators. Off if not given: ids are often personal data.")
  private boolean topDenied;

  @Option(names = "--request-log", description = "Log each request, with the client's address.")
  private boolean requestLog;

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
    } catch (UnknownLimitException | MissingDefaultException e) { // a line for each limit
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
                addresses(service),
                Stores.shown(store),
                files.none() ? "sample limits" : "watching the limit files"));
    if (ignoresHangUp) { // behind the first line, which programs read
      log.warn(
          console,
          "warning: SIGHUP is ignored, since the process was started so (nohup does that); to"
              + " reload at once, send POST /v1/admin/reload");
    }
    sayIfAway(service);
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
    List<Supplier<?>> checks = new ArrayList<>();
    hosts.forEach(host -> checks.add(() -> host(host)));
    origins.forEach(origin -> checks.add(() -> origin(origin)));
    trustedProxies.forEach(proxy -> checks.add(() -> clientAddress(List.of(proxy))));
    checks.addAll(failureRules.each());
    checks.addAll(otlp.each());
    checks.addAll(
        List.<Supplier<?>>of(
            log::apply,
            () -> address("--http", http),
            () -> optionalAddress("--resp", resp),
            () -> optionalAddress("--grpc", grpc),
            this::proxyHeader,
            this::snapshot,
            this::rlsOverrides,
            this::onMissing,
            failureRules::all,
            () -> access.settings(overridesDb != null),
            () -> Optional.ofNullable(tls.settings()),
            () -> storePasswords.requireUsable(store, environment),
            this::safeDoors,
            this::ownPorts));
    return checks;
  }

  /** The others, which may read files. */
  private List<Supplier<?>> withFiles() {
    return List.of(
        () -> files.forServer(rules),
        () -> Optional.ofNullable(tls.files()),
        () -> Optional.ofNullable(otlp.settings(environment)),
        this::table,
        () -> storePasswords.access(store),
        this::tokenKey,
        access::requireFiles);
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

  /** Two doors on one port: the system would say of the second one only that it is in use. */
  private boolean ownPorts() {
    Map<String, InetSocketAddress> doors = new LinkedHashMap<>();
    addDoor("--http", http, doors);
    addDoor("--resp", resp, doors);
    addDoor("--grpc", grpc, doors);
    Map<Integer, String> ports = new HashMap<>();
    doors.forEach(
        (option, address) -> {
          String first =
              address.getPort() == 0 ? null : ports.putIfAbsent(address.getPort(), option);
          if (first != null && overlap(doors.get(first), address)) {
            throw new InputException(
                "%s: found port %s, which %s has already; give each door a port of its own"
                    .formatted(option, address.getPort(), first));
          }
        });
    return true;
  }

  private static void addDoor(
      String option, @Nullable String text, Map<String, InetSocketAddress> doors) {
    try {
      InetSocketAddress address = optionalAddress(option, text);
      if (address != null) {
        doors.put(option, address);
      }
    } catch (InputException e) {
      // told by another check
    }
  }

  private static boolean overlap(@Nullable InetSocketAddress one, InetSocketAddress other) {
    return one != null
        && (one.equals(other)
            || one.isUnresolved()
            || one.getAddress().isAnyLocalAddress()
            || other.isUnresolved()
            || other.getAddress().isAnyLocalAddress());
  }

  private boolean safeDoors() {
    try {
      doors(tls.settings()).requireSafe(access.settings(overridesDb != null));
      return true;
    } catch (InsecureException e) {
      throw new InputException(String.valueOf(e.getMessage()));
    }
  }

  private Doors doors(@Nullable TlsFiles files) {
    return new Doors(
        http(clientAddress()),
        optionalAddress("--resp", resp),
        optionalAddress("--grpc", grpc),
        rlsOverrides(),
        files,
        insecure);
  }

  private ServerConfig config() {
    return new ServerConfig(
        doors(tls.files()),
        new Sources(files.forServer(rules), table(), required(), onMissing()),
        storage(),
        access.control(overridesDb != null),
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
        snapshot(),
        tokenKey(),
        others == null ? FailureRule.fail() : others,
        byLimit);
  }

  private ServerConfig.Http http(ClientAddress clientAddress) {
    return new ServerConfig.Http(
        address("--http", http),
        clientAddress,
        hosts.stream().map(ServeCommand::host).collect(Collectors.toSet()),
        origins.stream().map(ServeCommand::origin).collect(Collectors.toSet()),
        requestLog);
  }

  private static String host(String text) {
    return one("--host", text, HOST, "a name such as sluice.example.com, without scheme and port");
  }

  private static String origin(String text) {
    return one("--allow-origin", text, ORIGIN, "an origin such as https://example.com");
  }

  /** A value of a list; there may be spaces around its commas. */
  private static String one(String option, String text, Pattern form, String expected) {
    String one = text.strip();
    if (!form.matcher(one).matches()) {
      throw new InputException(
          "%s: found %s, expected %s".formatted(option, SafeText.quote(one), expected));
    }
    return one;
  }

  private ProxyHeader proxyHeader() {
    return switch (proxyHeader.toLowerCase(Locale.ROOT)) {
      case "x-forwarded-for" -> ProxyHeader.X_FORWARDED_FOR;
      case "forwarded" -> ProxyHeader.FORWARDED;
      default ->
          throw new InputException(
              "--proxy-header: found %s, expected x-forwarded-for or forwarded"
                  .formatted(SafeText.quote(proxyHeader)));
    };
  }

  private ClientAddress clientAddress() {
    return trustedProxies.isEmpty() ? ClientAddress.direct() : clientAddress(trustedProxies);
  }

  private ClientAddress clientAddress(List<String> proxies) {
    ProxyHeader header = proxyHeader();
    try {
      return ClientAddress.behind(header, proxies.toArray(String[]::new));
    } catch (IllegalArgumentException e) {
      throw new InputException(
          "--trusted-proxies: " + String.valueOf(e.getMessage()).replace("trusted proxies: ", ""));
    }
  }

  private static InetSocketAddress address(String option, String text) {
    try {
      return HostPort.parse(text);
    } catch (IllegalArgumentException e) {
      throw new InputException(option + ": " + e.getMessage());
    }
  }

  private static @Nullable InetSocketAddress optionalAddress(String option, @Nullable String text) {
    return text == null ? null : address(option, text);
  }

  /** In the order in which the service opens its doors. */
  private String addresses(Service service) {
    String secure = tls.areSet() ? "s" : "";
    List<String> schemes = new ArrayList<>(List.of("http" + secure));
    if (resp != null) {
      schemes.add("redis" + secure);
    }
    if (grpc != null) {
      schemes.add("grpc" + secure);
    }
    List<InetSocketAddress> all = service.addresses();
    List<String> shown = new ArrayList<>();
    for (int i = 0; i < schemes.size(); i++) {
      shown.add(schemes.get(i) + "://" + HostPort.format(all.get(i)));
    }
    return String.join(" and ", shown);
  }

  /** What holds if the option is not given: a client that may send one can refill a bucket. */
  static String rlsOverrides(boolean hasTokens) {
    return hasTokens ? "ignore" : "allow";
  }

  private OverridePolicy rlsOverrides() {
    String policy = rlsOverrides == null ? rlsOverrides(access.hasTokens()) : rlsOverrides;
    return switch (policy) {
      case "allow" -> OverridePolicy.ALLOW;
      case "ignore" -> OverridePolicy.IGNORE;
      default ->
          throw new InputException(
              "--rls-overrides: found %s, expected allow or ignore"
                  .formatted(SafeText.quote(policy)));
    };
  }

  private MissingDefault onMissing() {
    return switch (missingDefault) {
      case "refuse" -> MissingDefault.REFUSE;
      case "warn" -> MissingDefault.WARN;
      case "allow" -> MissingDefault.ALLOW;
      default ->
          throw new InputException(
              "--missing-default: found %s, expected refuse, warn or allow"
                  .formatted(SafeText.quote(missingDefault)));
    };
  }

  private ServerConfig.@Nullable Table table() {
    String period = overridesInterval == null ? USUAL_OVERRIDES_INTERVAL : overridesInterval;
    Duration every = Periods.positive("--overrides-interval", period);
    if (overridesDb == null && (overridesInterval != null || dbPassword != null)) {
      throw new InputException(
          "%s requires --overrides-db URL"
              .formatted(dbPassword == null ? "--overrides-interval" : "--db-password-file"));
    }
    return overridesDb == null
        ? null
        : new ServerConfig.Table(
            DatabaseOptions.source(overridesDb, DatabaseOptions.password(dbPassword)), every);
  }

  private ServerConfig.@Nullable Snapshot snapshot() {
    String period = snapshotInterval == null ? USUAL_SNAPSHOT_INTERVAL : snapshotInterval;
    Duration every = Periods.positive("--snapshot-interval", period);
    if (snapshot == null) {
      if (snapshotInterval != null) {
        throw new InputException("--snapshot-interval requires --snapshot FILE");
      }
      return null;
    }
    if (!store.equals("memory")) {
      throw new InputException(
          "--snapshot works with the memory store only; %s persists its own buckets"
              .formatted(Stores.shown(store)));
    }
    return new ServerConfig.Snapshot(snapshot, every);
  }

  /** Without a secret one of its own. */
  private TokenKey tokenKey() {
    String secret = Passwords.of(TOKEN_KEY, tokenKey, "SLUICE_TOKEN_KEY");
    try {
      return secret == null
          ? TokenKey.random()
          : TokenKey.of(secret.getBytes(StandardCharsets.UTF_8));
    } catch (IllegalArgumentException e) {
      throw new InputException(
          "%s: %s".formatted(tokenKey == null ? "SLUICE_TOKEN_KEY" : TOKEN_KEY, e.getMessage()));
    }
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
