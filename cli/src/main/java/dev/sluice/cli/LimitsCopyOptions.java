// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.server.service.ServerConfig.Copy;
import dev.sluice.text.SafeText;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of a server that say how it starts while its limit files have mistakes. */
final class LimitsCopyOptions {

  private static final String REFUSE = "refuse";
  private static final String LAST_GOOD = "last-good";

  @Option(
      names = "--limits-broken",
      paramLabel = "POLICY",
      defaultValue = REFUSE,
      description =
          "How to start while the limit files or the rules have mistakes: refuse (exit code 2), or"
              + " last-good, with the limits of --limits-copy (${DEFAULT-VALUE}).")
  private String broken = REFUSE;

  @Option(
      names = "--limits-copy",
      paramLabel = "FILE",
      description =
          "Keep a copy of the limit files and the rules, written after each good load, in a folder"
              + " that outlives the server. Its owner alone may read it.")
  private @Nullable Path file;

  boolean startsWithLastGood() {
    return broken.equals(LAST_GOOD);
  }

  /** The copy, null for none. */
  @Nullable Copy copy() {
    return file == null ? null : new Copy(file, startsWithLastGood());
  }

  /** The same, for certain limit files; without a look at any file. */
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

  /** Looks whether the copy could be written. */
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
