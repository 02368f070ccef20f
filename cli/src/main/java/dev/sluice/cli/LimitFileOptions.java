// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.Requirement;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.service.ServerConfig;
import dev.sluice.server.service.ServerConfig.BundledNames;
import dev.sluice.yaml.LimitFiles;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options that name limit files; the same for every command that reads them. A file may have
 * sections of other kinds than the option says.
 */
final class LimitFileOptions {

  @Option(
      names = "--limits",
      paramLabel = "FILE",
      description =
          "The default of each limit: burst, count and period. Perhaps also the sections names,"
              + " overrides and rules.")
  private @Nullable Path limits;

  @Option(
      names = "--overrides",
      paramLabel = "FILE",
      description = "Limits of their own for single ids.")
  private @Nullable Path overrides;

  @Option(
      names = "--names",
      paramLabel = "FILE",
      description = "Limits of your own: number, name, id format, message.")
  private @Nullable Path names;

  boolean none() {
    return limits == null && overrides == null && names == null;
  }

  @Nullable Path limits() {
    return limits;
  }

  @Nullable Path overrides() {
    return overrides;
  }

  /**
   * Takes a file whose kind is seen from its content.
   *
   * @param rules takes a rule book
   * @param tokens takes a file of tokens
   * @throws InputException if there is another file of that kind
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
        };
    if (before != null) {
      throw new InputException(
          "found two files of %s, %s and %s, expected one of each kind; lint them one by one"
              .formatted(kind, before, file));
    }
    switch (kind) {
      case DEFAULTS -> limits = file;
      case OVERRIDES -> overrides = file;
      case NAMES -> names = file;
      case RULES -> rules.set(file);
      case TOKENS -> tokens.set(file);
    }
  }

  /** The files, for a server. */
  ServerConfig.Files forServer(RulesOption rules, LimitsCopyOptions copy) {
    if (copy.startsWithLastGood()) {
      return new ServerConfig.Files(limits, overrides, names, rules.named(this));
    }
    requireReadable();
    return new ServerConfig.Files(limits, overrides, names, rules.file(this));
  }

  /** Looks for each file, for messages that name all that are missing. */
  List<Supplier<?>> each() {
    return List.of(
        () -> InputFiles.require("--limits", limits),
        () -> InputFiles.require("--overrides", overrides),
        () -> InputFiles.require("--names", names));
  }

  private void requireReadable() {
    Stream.of(limits, overrides, names).filter(Objects::nonNull).forEach(InputFiles::require);
  }

  /** The files; at least one must have been named. */
  LimitFiles files(Strictness strictness) {
    return files(strictness, List.of());
  }

  /** The same, with limits that must not be missing. */
  LimitFiles files(Strictness strictness, List<Requirement> required) {
    return files(strictness, required, new RulesOption());
  }

  /** The same, with a rule book, if there is one. */
  LimitFiles files(Strictness strictness, List<Requirement> required, RulesOption rules) {
    return files(strictness, required, rules, new TokensOption());
  }

  /** The same, with a file of tokens, if there is one. */
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
}
