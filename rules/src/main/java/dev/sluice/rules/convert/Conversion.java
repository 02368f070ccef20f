// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.convert;

import dev.sluice.rules.convert.EnvoyRateLimitFile.Domains;
import dev.sluice.text.SafeText;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.Problem;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Files that say what another rate limiter's configuration says. Immutable and thread-safe.
 *
 * @param files the text of each file, by its name, in the order in which people read them
 * @param notExpressed what stands in the configuration and not in the files, each with its place
 * @param renamed the limits that have another name in the files
 */
public record Conversion(
    Map<String, String> files, List<Problem> notExpressed, List<Renaming> renamed) {

  /**
   * Converts a configuration of envoyproxy/ratelimit.
   *
   * @param configs its files, one for each domain; reading them may block
   * @return names, limits, overrides if there are any, and rules, of all domains together
   * @throws LimitFilesException with every mistake, if a file is not such a configuration, or two
   *     have the same domain
   */
  public static Conversion ofEnvoyRateLimit(List<Path> configs) {
    LimitFiles.Builder builder = LimitFiles.builder();
    configs.forEach(config -> builder.companion(config, new EnvoyRateLimitFile()));
    LimitFiles files = builder.build();
    List<Problem> problems = files.lint();
    Domains domains =
        Objects.requireNonNull(files.load().companion(Domains.class), "no mistake, no domains");
    ConvertedFiles converted = DomainWriter.write(domains);
    return new Conversion(converted.texts(), problems, converted.renamed());
  }

  /**
   * A limit that has another name in the files than its author gave it. Immutable and thread-safe.
   *
   * @param file the configuration, as the caller named it
   * @param line where its name stands, from 1
   * @param column in characters, from 1
   * @param from the author's name
   * @param to the name in the files
   * @param why the rule that the author's name breaks
   */
  public record Renaming(String file, int line, int column, String from, String to, String why) {

    /** As compilers print it: {@code file:line:column: note: message}. */
    @Override
    public String toString() {
      return "%s:%s:%s: note: the limit %s is %s in the files: %s"
          .formatted(file, line, column, SafeText.quote(from), to, why);
    }
  }
}
