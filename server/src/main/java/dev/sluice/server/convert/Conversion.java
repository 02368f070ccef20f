// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.convert;

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
 */
public record Conversion(Map<String, String> files, List<Problem> notExpressed) {

  /**
   * Converts a configuration of envoyproxy/ratelimit, one domain.
   *
   * @param config the file; reading it may block
   * @return names, limits, overrides if there are any, and rules
   * @throws LimitFilesException with every mistake, if the file is not such a configuration
   */
  public static Conversion ofEnvoyRateLimit(Path config) {
    LimitFiles files = LimitFiles.builder().companion(config, new EnvoyRateLimitFile()).build();
    List<Problem> problems = files.lint();
    Converted converted =
        Objects.requireNonNull(files.load().companion(Converted.class), "no mistake, no files");
    return new Conversion(converted.files(), problems);
  }

  /** The texts alone. */
  record Converted(Map<String, String> files) {}
}
