// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The option that names a rule book; the same for every command that reads one. */
final class RulesOption {

  @Option(
      names = "--rules",
      paramLabel = "FILE",
      description =
          "Which limits a descriptor or a request spends from, for proxies that name no limit.")
  private @Nullable Path rules;

  @Nullable Path file() {
    return rules;
  }

  void set(Path file) {
    this.rules = file;
  }

  /**
   * The file, null if there is none.
   *
   * @throws InputException if it cannot be read, or there are no limits that its rules could name
   */
  @Nullable Path file(LimitFileOptions limits) {
    Path named = named(limits);
    if (named != null) {
      InputFiles.require("--rules", named);
    }
    return named;
  }

  /** The same, without a look at the file. */
  @Nullable Path named(LimitFileOptions limits) {
    if (rules != null && limits.limits() == null) {
      throw new InputException(
          "--rules requires --limits FILE: the rules name its limits. One file with both is named by"
              + " --limits");
    }
    return rules;
  }
}
