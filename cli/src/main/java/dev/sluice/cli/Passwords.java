// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Passwords from a file or the environment, so that none needs to stand on a command line. There,
 * every user of the machine can see it, and crash reports of the JVM have it. Stateless.
 */
final class Passwords {

  private static final int LONGEST = 4096;

  private Passwords() {}

  /**
   * Returns the password from the file, or else from the environment variable.
   *
   * @param option the option that names the file, for messages
   * @return null if there is neither
   */
  static @Nullable String of(String option, @Nullable Path file, String variable) {
    return file == null ? ofEnvironment(variable) : ofFile(option, file);
  }

  private static @Nullable String ofEnvironment(String variable) {
    String value = System.getenv(variable);
    return value == null || value.isEmpty() ? null : value;
  }

  /** The first line, which is all that a file with a password holds. */
  private static String ofFile(String option, Path file) {
    byte[] bytes;
    try (InputStream in = InputFiles.open(option, file)) {
      bytes = in.readNBytes(LONGEST + 1);
    } catch (IOException e) {
      throw new InputException("%s: %s: can't be read: %s".formatted(option, file, e.getMessage()));
    }
    String text = new String(bytes, StandardCharsets.UTF_8);
    String line = text.lines().findFirst().orElse("");
    if (line.isEmpty()
        || bytes.length > LONGEST
        || text.lines().skip(1).anyMatch(more -> !more.isBlank())) {
      throw new InputException(
          "%s: %s: expected one line of at most %s bytes: the secret, and nothing else"
              .formatted(option, file, LONGEST));
    }
    return line;
  }
}
