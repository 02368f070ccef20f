// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.service.ServerConfig.BundledNames;
import dev.sluice.yaml.LimitFiles;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options for limit files, shared by all commands. A file of one kind, such as a file with
 * overrides, can also contain sections of the other kinds.
 */
final class LimitFileOptions {

  @Option(
      names = "--limits",
      paramLabel = "FILE",
      description =
          "A file with the default of each limit (burst, count, period, and an id format for your"
              + " own limits). The file can also have the sections names, overrides and rules.")
  private @Nullable Path limits;

  @Option(
      names = "--overrides",
      paramLabel = "FILE",
      description = "A file with overrides: quotas for single ids.")
  private @Nullable Path overrides;

  @Option(
      names = "--names",
      paramLabel = "FILE",
      description = "A file with your own names: id format, number, message.")
  private @Nullable Path names;

  /** Returns the bundled names, and the names that the files declare. */
  Catalogue catalogue() {
    return load().catalogue();
  }

  /** Loads the limits from the files; without a file, only the bundled limit names exist. */
  Limits load() {
    return none()
        ? Limits.builder(BundledNames.catalogue()).build()
        : files(Strictness.LENIENT).load();
  }

  boolean none() {
    return limits == null && overrides == null && names == null;
  }

  @Nullable Path limits() {
    return limits;
  }

  @Nullable Path overrides() {
    return overrides;
  }

  @Nullable Path names() {
    return names;
  }

  /**
   * Adds a file whose kind is detected from its content.
   *
   * @throws InputException if a file of the same kind was added before, or if the file configures
   *     {@code sluice serve}
   */
  void add(Path file, RulesOption rules, TokensOption tokens) {
    LimitFileKind kind = LimitFileKind.of(file);
    Path before =
        switch (kind) {
          case DEFAULTS -> limits;
          case OVERRIDES -> overrides;
          case NAMES -> names;
          case RULES -> rules.file();
          case TOKENS -> tokens.file();
          case SERVER ->
              throw new InputException(
                  "%s: found a configuration of sluice serve, expected a file with limits, rules or tokens; to check the configuration, run: sluice serve --config %1$s --print-config"
                      .formatted(file));
        };
    if (before != null) {
      throw new InputException(
          "found two files with %s, %s and %s; give one file of each kind"
              .formatted(kind, before, file));
    }
    switch (kind) {
      case DEFAULTS -> limits = file;
      case OVERRIDES -> overrides = file;
      case NAMES -> names = file;
      case RULES -> rules.set(file);
      case TOKENS -> tokens.set(file);
      case SERVER -> {} // refused above
    }
  }

  /** Returns whether a file configures {@code sluice serve}, so that it contains no limits. */
  static boolean isOfServer(Path file) {
    return LimitFileKind.of(file) == LimitFileKind.SERVER;
  }

  /** Returns whether a file is only a list of overrides. */
  static boolean isOfOverrides(Path file) {
    return LimitFileKind.of(file) == LimitFileKind.OVERRIDES;
  }

  /** Returns a check for each file, so that all missing files are reported. */
  List<Supplier<?>> each() {
    return List.of(
        () -> InputFiles.require("--limits", limits),
        () -> InputFiles.require("--overrides", overrides),
        () -> InputFiles.require("--names", names));
  }

  void requireReadable() {
    Stream.of(limits, overrides, names).filter(Objects::nonNull).forEach(InputFiles::require);
  }

  LimitFiles files(Strictness strictness) {
    return files(strictness, List.of());
  }

  /** Returns the limit files, whose loading fails if a required limit has no default. */
  LimitFiles files(Strictness strictness, List<Requirement> required) {
    return files(strictness, required, new RulesOption());
  }

  LimitFiles files(Strictness strictness, List<Requirement> required, RulesOption rules) {
    return files(strictness, required, rules, new TokensOption());
  }

  LimitFiles files(
      Strictness strictness, List<Requirement> required, RulesOption rules, TokensOption tokens) {
    requireReadable();
    LimitFiles.Builder files = BundledNames.files().strictness(strictness).require(required);
    if (limits != null) {
      files.defaults(limits);
    }
    if (overrides != null) {
      files.overrides(overrides);
    }
    if (names != null) {
      files.names(names);
    }
    Path book = rules.file(this);
    if (book == null) {
      files.companion(RuleBook.reader());
    } else {
      files.companion(book, RuleBook.reader());
    }
    Path keys = tokens.file();
    if (keys != null) {
      InputFiles.require(keys);
      files.companion(keys, Tokens.reader(true));
    }
    return files.build();
  }

  /** The option for a rule book, shared by all commands. */
  static final class RulesOption {

    @Option(
        names = "--rules",
        paramLabel = "FILE",
        description = "A rule book: which limits a request or a descriptor is charged to.")
    private @Nullable Path rules;

    @Nullable Path file() {
      return rules;
    }

    void set(Path file) {
      this.rules = file;
    }

    /**
     * Returns the rule book's file; null if there is none.
     *
     * @throws InputException if the file cannot be read, or if a rule file is given without a file
     *     of limits
     */
    @Nullable Path file(LimitFileOptions limits) {
      Path named = named(limits);
      if (named != null) {
        InputFiles.require("--rules", named);
      }
      return named;
    }

    /** Returns the rule book's file without reading the file. */
    @Nullable Path named(LimitFileOptions limits) {
      if (rules != null && limits.limits() == null) {
        throw new InputException(
            "--rules requires --limits FILE, which defines the limits; for a file with limits and rules, give only --limits");
      }
      return rules;
    }
  }

  /** The option for a tokens file, for a command that only checks the file. */
  static final class TokensOption {

    @Option(
        names = "--tokens",
        paramLabel = "FILE",
        description = "A file that gives roles to hashes of tokens and to names in certificates.")
    private @Nullable Path tokens;

    @Nullable Path file() {
      return tokens;
    }

    void set(Path file) {
      this.tokens = file;
    }
  }

  /** The option for required limits, shared by all commands. */
  static final class AskedFor {

    @Option(
        names = "--for",
        paramLabel = "NAME",
        split = ",",
        description =
            "A limit that must have a default or be declared for overrides only. Repeatable.")
    private List<String> names = new ArrayList<>();

    List<Requirement> requirements(MissingDefault onMissing) {
      return names.stream().map(name -> new Requirement(name, "--for", onMissing)).toList();
    }
  }

  /** The kind of a limit file, judged by its first lines. */
  private enum LimitFileKind {
    DEFAULTS("defaults"),
    OVERRIDES("overrides"),
    NAMES("names"),
    RULES("rules"),
    TOKENS("tokens"),
    SERVER("options of sluice serve");

    /** An option whose value is a path or an address. No limit file has such an entry. */
    private static final String SERVER_OPTION =
        "(http|grpc|resp|store|limits|overrides|names|rules|tokens): +[^\\s{\\[#]*[./:][^\\s{\\[]*( .*)?";

    private static final int LOOKED_AT = 1 << 16;

    private final String word;

    LimitFileKind(String word) {
      this.word = word;
    }

    /**
     * A file whose content is a YAML list contains overrides. A file with a section {@code limits:}
     * or {@code overrides:} is a file of defaults. A file with only the section {@code names:}
     * declares names. A file that starts with a field of rule books, such as {@code rules:}, is a
     * rule book. A file that starts with {@code tokens:} or {@code certificates:} is a file of
     * tokens. A file with an option such as {@code limits: limits.yml} configures a server.
     */
    static LimitFileKind of(Path file) {
      InputFiles.require(file);
      if (!Files.isRegularFile(file)) { // opening a pipe would wait for a writer
        return DEFAULTS; // the reader of limit files reports this mistake
      }
      byte[] start;
      try (InputStream in = InputFiles.open(file)) {
        start = in.readNBytes(LOOKED_AT);
      } catch (IOException e) {
        throw new InputException(file + ": can't be read: " + e.getMessage());
      }
      List<String> top =
          new String(start, StandardCharsets.UTF_8)
              .replace("\uFEFF", "")
              .lines()
              .filter(line -> line.matches("[^\\s#].*") && !line.matches("(---|%).*"))
              .toList();
      if (!top.isEmpty() && top.get(0).matches("[-\\[].*")) {
        return OVERRIDES;
      }
      if (top.stream().anyMatch(line -> line.matches(SERVER_OPTION))) {
        return SERVER;
      }
      if (top.stream().anyMatch(line -> line.matches("(limits|overrides):.*"))) {
        return DEFAULTS; // a section of limits or overrides, which a file of defaults can have
      }
      if (!top.isEmpty() && top.get(0).matches("(rules(Only)?|ignoreCase|methodOverride):.*")) {
        return RULES;
      }
      if (!top.isEmpty() && top.get(0).matches("(tokens|certificates):.*")) {
        return TOKENS;
      }
      boolean names =
          !top.isEmpty()
              && top.get(0).startsWith("names:")
              // Below the key, each unindented line of a YAML list starts with a hyphen.
              && top.stream().skip(1).allMatch(line -> line.startsWith("-"));
      return names ? NAMES : DEFAULTS;
    }

    @Override
    public String toString() {
      return word;
    }
  }
}
