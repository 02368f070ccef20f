// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.DatabaseOptions.OverrideTableOptions;
import dev.sluice.cli.DoorOptions.AccessOptions;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.Limits;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.internal.CompanionReader;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import dev.sluice.yaml.internal.Values;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/*
 * The command's options define all names: the flag --http is the key http in a file and the
 * variable SLUICE_HTTP. So a new option is at once a flag, a key and a variable.
 *
 * Values of files and variables become arguments of the command line, which is then parsed again.
 * So one parser converts and checks every value from any source. A default-value provider of
 * picocli would not work: it replaces ${…} in a value, and it would turn off a switch that is both
 * on in the file and given as a flag.
 */
/**
 * The settings of a command, each with its source: a flag, else an environment variable, else the
 * configuration file, else the default.
 */
final class Settings {

  private static final String PREFIX = "SLUICE_";
  private static final long LARGEST_TEMPLATE = 1 << 20;
  static final String DEFAULT = "default";

  static final String OUTCOME = "the configuration has mistakes; nothing was started";

  /** Environment variables for secrets; secrets are never passed as flags. */
  static final List<String> SECRETS =
      List.of(
          "SLUICE_STORE_PASSWORD",
          "SLUICE_SENTINEL_PASSWORD",
          "SLUICE_DB_PASSWORD",
          "SLUICE_OTLP_HEADERS",
          "SLUICE_TOKEN_KEY");

  /** Environment variables of the launcher or other commands, ignored by {@code sluice serve}. */
  private static final Set<String> OF_OTHERS = Set.of("SLUICE_OPTS", "SLUICE_DB", "SLUICE_TOKEN");

  /**
   * Matches names of variables that are never settings. Kubernetes sets some of these variables in
   * each container for a service whose name starts with "sluice"; Sluice's tests set other
   * variables.
   */
  private static final Pattern FOREIGN =
      Pattern.compile(
          "SLUICE_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.*)?)?)"
              + "|SLUICE_TEST_.*");

  private static final Pattern OPTION = Pattern.compile("(--[a-z0-9-]+).*", Pattern.DOTALL);

  /** Options that a configuration file cannot contain: options about the configuration itself. */
  static final Set<String> NOT_IN_FILES = Set.of("config", "print-config", "help", "version");

  /**
   * One setting.
   *
   * @param values the values as on the command line; empty if the option is not set
   * @param source where the values come from: the flag, the environment variable, {@code
   *     file:line:column}, or {@code default}
   */
  record Setting(OptionSpec option, List<String> values, String source) {

    Setting {
      values = List.copyOf(values);
    }

    boolean isFlag() {
      return source.startsWith("--");
    }

    boolean isDefault() {
      return source.equals(DEFAULT);
    }
  }

  private final Map<String, Setting> byName;
  private final List<String> secrets;
  private final List<String> mistakes;

  private Settings(Map<String, Setting> byName, List<String> secrets, List<String> mistakes) {
    this.byName = byName;
    this.secrets = secrets;
    this.mistakes = List.copyOf(mistakes);
  }

  static String key(OptionSpec option) {
    return option.longestName().substring(2);
  }

  static String variable(OptionSpec option) {
    return PREFIX + key(option).toUpperCase(Locale.ROOT).replace('-', '_');
  }

  /** Returns the option key for an environment variable, even if no option has this key. */
  static String keyOfVariable(String variable) {
    return variable.startsWith(PREFIX)
        ? variable.substring(PREFIX.length()).toLowerCase(Locale.ROOT).replace('_', '-')
        : variable;
  }

  static Map<String, OptionSpec> options(CommandSpec command) {
    Map<String, OptionSpec> options = new TreeMap<>();
    command.options().stream()
        .filter(one -> !NOT_IN_FILES.contains(key(one)))
        .forEach(one -> options.put(key(one), one));
    return options;
  }

  /**
   * Collects the settings, and leaves out settings with a mistake.
   *
   * @param config the configuration file; null for the file in SLUICE_CONFIG, if this variable is
   *     set
   */
  static Settings of(ParseResult flags, @Nullable Path config, Map<String, String> environment) {
    CommandSpec command = flags.commandSpec();
    Map<String, OptionSpec> options = options(command);
    List<String> mistakes = new ArrayList<>();
    checkVariables(command, options, environment, mistakes);
    Map<String, SettingsFile.Value> inFile = readFile(config, environment, options, mistakes);
    Map<String, Setting> byName = new LinkedHashMap<>();
    options.forEach(
        (key, option) -> {
          Setting setting = setting(option, flags, environment, inFile.get(key), mistakes);
          byName.put(option.longestName(), setting);
        });
    return new Settings(
        byName,
        SECRETS.stream().filter(name -> value(environment, name) != null).toList(),
        mistakes);
  }

  private static void checkVariables(
      CommandSpec command,
      Map<String, OptionSpec> options,
      Map<String, String> environment,
      List<String> mistakes) {
    List<String> known =
        Stream.of(
                options.values().stream().map(Settings::variable),
                command.options().stream()
                    .filter(one -> key(one).equals("config"))
                    .map(Settings::variable),
                SECRETS.stream())
            .flatMap(names -> names)
            .toList();
    environment.keySet().stream()
        .filter(name -> name.startsWith(PREFIX))
        .filter(name -> !known.contains(name) && !OF_OTHERS.contains(name))
        .filter(name -> !FOREIGN.matcher(name).matches())
        .sorted()
        .map(name -> "%s: unknown variable%s".formatted(name, Suggestion.didYouMean(name, known)))
        .forEach(mistakes::add);
  }

  private static Map<String, SettingsFile.Value> readFile(
      @Nullable Path flag,
      Map<String, String> environment,
      Map<String, OptionSpec> options,
      List<String> mistakes) {
    String variable = value(environment, PREFIX + "CONFIG");
    if (flag == null && variable == null) {
      return Map.of();
    }
    Path file = flag == null ? Path.of(Objects.requireNonNull(variable)) : flag;
    if (isOfCommentsOnly(file)) {
      return Map.of(); // all options were commented out
    }
    SettingsFile reader = new SettingsFile(options);
    LimitFiles.builder().companion(file, reader).build().lint().stream()
        .map(Problem::toString)
        .forEach(mistakes::add);
    return reader.values();
  }

  private static boolean isOfCommentsOnly(Path file) {
    try {
      if (!Files.isRegularFile(file) || Files.size(file) > LARGEST_TEMPLATE) {
        return false;
      }
      List<String> lines =
          Files.readString(file).lines().map(String::strip).filter(one -> !one.isEmpty()).toList();
      return !lines.isEmpty() && lines.stream().allMatch(one -> one.startsWith("#"));
    } catch (IOException e) {
      return false; // the reader of the file reports the mistake
    }
  }

  private static Setting setting(
      OptionSpec option,
      ParseResult flags,
      Map<String, String> environment,
      SettingsFile.@Nullable Value inFile,
      List<String> mistakes) {
    if (flags.hasMatchedOption(option)) {
      return new Setting(option, matched(option, flags), option.longestName());
    }
    String name = variable(option);
    String variable = value(environment, name);
    if (variable != null) {
      if (isSwitch(option) && !variable.equals("true") && !variable.equals("false")) {
        mistakes.add("%s: found \"%s\", expected true or false".formatted(name, variable));
        return new Setting(option, List.of("false"), DEFAULT);
      }
      return new Setting(option, option.isMultiValue() ? split(variable) : List.of(variable), name);
    }
    if (inFile != null) {
      return new Setting(option, inFile.texts(), inFile.place());
    }
    String usual = option.defaultValue();
    if (usual == null || usual.startsWith("__")) { // picocli's marker for "no default"
      return new Setting(option, isSwitch(option) ? List.of("false") : List.of(), DEFAULT);
    }
    return new Setting(option, List.of(usual), DEFAULT);
  }

  private static List<String> matched(OptionSpec option, ParseResult flags) {
    if (isSwitch(option)) {
      return List.of(
          String.valueOf((Object) flags.matchedOptionValue(option.longestName(), Boolean.TRUE)));
    }
    return flags.matchedOption(option.longestName()).stringValues();
  }

  private static List<String> split(String text) {
    return Stream.of(text.split(",", -1)).map(String::strip).filter(one -> !one.isEmpty()).toList();
  }

  /** Returns an environment variable's value; an empty value means unset, as in Docker Compose. */
  private static @Nullable String value(Map<String, String> environment, String name) {
    String value = environment.get(name);
    return value == null || value.isEmpty() ? null : value;
  }

  static boolean isSwitch(OptionSpec option) {
    return option.type() == boolean.class;
  }

  /** Returns the mistakes in the configuration file's keys and in the environment variables. */
  List<String> mistakes() {
    return mistakes;
  }

  /** Returns a command line with all values except defaults. */
  List<String> arguments() {
    List<String> arguments = new ArrayList<>();
    for (Setting setting : byName.values()) {
      if (!setting.isDefault()) {
        setting
            .values()
            .forEach(value -> arguments.add(setting.option().longestName() + "=" + value));
      }
    }
    return arguments;
  }

  List<Setting> all() {
    return List.copyOf(byName.values());
  }

  /**
   * Returns the default of an option that depends on other options.
   *
   * @return the default as text; null if the option is off, or has no effect because another option
   *     is not set
   */
  @Nullable String dependentDefault(String key) {
    return switch (key) {
      case "otlp-interval" -> has("--otlp") ? OtlpOptions.USUAL_INTERVAL : null;
      case "otlp-traced" -> has("--otlp") ? OtlpOptions.USUAL_SHARE : null;
      case "overrides-interval" ->
          has("--overrides-db") ? OverrideTableOptions.USUAL_INTERVAL : null;
      case "requests-per-address" -> AccessOptions.perAddress(has("--tokens"));
      case "rls-overrides" ->
          DoorOptions.usualRlsOverrides(
              has("--tokens"), has("--tls-client-ca"), isOn("--open") || isOn("--insecure"));
      case "proxy-header" -> has("--trusted-proxies") ? DoorOptions.USUAL_HEADER : null;
      case "snapshot-interval" -> has("--snapshot") ? StorageOptions.USUAL_SNAPSHOT_INTERVAL : null;
      case "tls-client-auth" -> has("--tls-client-ca") ? DoorOptions.USUAL_AUTH : null;
      default -> null;
    };
  }

  private boolean has(String option) {
    Setting setting = byName.get(option);
    return setting != null && !setting.values().isEmpty();
  }

  boolean isOn(String option) {
    Setting setting = byName.get(option);
    return setting != null && setting.values().equals(List.of("true"));
  }

  /** Returns the environment variables for secrets that are set. */
  List<String> secrets() {
    return secrets;
  }

  /** Whether the password of a store or database comes from a file or an environment variable. */
  boolean passwordIsApart(String key) {
    return switch (key) {
      case "store" -> has("--store-password-file") || secrets.contains("SLUICE_STORE_PASSWORD");
      case "overrides-db" -> true;
      default -> false;
    };
  }

  /** Returns a message about an option, preceded by its source unless the source is a flag. */
  String placed(String message) {
    Matcher option = OPTION.matcher(message);
    Setting setting = option.matches() ? byName.get(option.group(1)) : null;
    return setting == null || setting.isFlag() || setting.isDefault()
        ? message
        : setting.source() + ": " + message;
  }

  /**
   * Parses one configuration file: a map from options to their values. The good values of a file
   * with mistakes are kept, so that all mistakes can be reported at once. Not thread-safe.
   */
  private static final class SettingsFile implements CompanionReader<SettingsFile.Content> {

    /**
     * The value of one option in a configuration file.
     *
     * @param texts the values as on the command line
     * @param place {@code file:line:column}
     */
    record Value(List<String> texts, String place) {}

    /** The content of a configuration file: a map from option keys to values. */
    record Content(Map<String, Value> values) {}

    private final Map<String, OptionSpec> options;
    private final Map<String, Value> values = new LinkedHashMap<>();

    SettingsFile(Map<String, OptionSpec> options) {
      this.options = options;
    }

    /** Returns a map from option keys to the valid values. */
    Map<String, Value> values() {
      return Map.copyOf(values);
    }

    @Override
    public Class<Content> type() {
      return Content.class;
    }

    @Override
    public String expected() {
      return "a map from options to values, such as http: 127.0.0.1:8080; write {} for no options";
    }

    @Override
    public @Nullable Content read(
        Node root, String file, Limits limits, boolean known, Problems problems) {
      Node.Mapping map = Values.map(root, expected(), problems);
      if (map == null) {
        return null;
      }
      problems.recognize(map, options.keySet());
      for (Node.Entry entry : map.entries()) {
        Node.Scalar key = entry.key();
        OptionSpec option = options.get(key.text());
        if (option == null) {
          tellUnknown(key, map, problems);
          continue;
        }
        String place = "%s:%s:%s".formatted(file, key.line(), key.column());
        List<String> texts = texts(option, entry.value(), problems);
        if (texts.isEmpty() && !option.isMultiValue()) {
          continue; // the mistake was already reported
        }
        Value first = values.putIfAbsent(key.text(), new Value(texts, place));
        if (first != null) {
          problems.mistake(key, "found %s twice, first at %s".formatted(key.text(), first.place()));
        }
      }
      return problems.mistaken() ? null : new Content(Map.copyOf(values));
    }

    private void tellUnknown(Node.Scalar key, Node.Mapping map, Problems problems) {
      String name = key.text();
      String ofVariable = Settings.keyOfVariable(name);
      if (Settings.NOT_IN_FILES.contains(name)) {
        problems.mistake(
            key,
            name.equals("config")
                ? "`config` is not allowed in a file; give --config, or set SLUICE_CONFIG"
                : "`%s` is not allowed in a file, only as a flag".formatted(name));
      } else if (options.containsKey(ofVariable)) {
        problems.mistake(
            key,
            "found %s, the name of an environment variable; write %s here"
                .formatted(name, ofVariable));
      } else {
        problems.unknownKey(key, "unknown option %s", map, options.keySet());
      }
    }

    private static List<String> texts(OptionSpec option, Node value, Problems problems) {
      if (Settings.isSwitch(option)) {
        Boolean on = Values.bool(value, problems);
        return on == null ? List.of() : List.of(String.valueOf(on));
      }
      List<Node> items =
          option.isMultiValue() && value instanceof Node.Sequence list
              ? list.items()
              : List.of(value);
      List<String> texts = new ArrayList<>();
      for (Node item : items) {
        String text = Values.text(item, expected(option), problems);
        if (text != null) {
          texts.add(text);
        }
      }
      return texts;
    }

    private static String expected(OptionSpec option) {
      return option.isMultiValue()
          ? "a list of %1$s, or one %1$s".formatted(option.paramLabel())
          : "a value: " + option.paramLabel();
    }
  }
}
