// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import dev.sluice.yaml.CompanionFile;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads files that are not YAML, such as a certificate and its key, into one value. The files are
 * loaded and watched together with the limit files: if one file has a mistake, no file takes
 * effect.
 *
 * <p>Implementations are thread-safe. An implementation does not access a file: it receives the
 * files' contents.
 *
 * @param <T> the type of the value; values are immutable and compared by {@code equals}
 */
public non-sealed interface AttachedFiles<T> extends CompanionFile<T> {

  /**
   * Returns the files.
   *
   * @return the paths of the files, at least one
   */
  List<Path> files();

  /**
   * Reads the files; reports mistakes and never throws. If a file is unreadable, this method is not
   * called.
   *
   * @param contents the contents, in the order of {@link #files}
   * @param reports receives mistakes and warnings
   * @return the value, null if the files have a mistake
   */
  @Nullable T read(List<byte[]> contents, Reports reports);

  /** Receives the mistakes and warnings for the files. */
  interface Reports {

    /**
     * Adds a mistake, because of which no file takes effect.
     *
     * @param file one of the files
     * @param message what was found, and what was expected
     */
    void mistake(Path file, String message);

    /**
     * Adds a warning; the file is still loaded.
     *
     * @param file one of the files
     * @param message what is doubtful
     */
    void warning(Path file, String message);
  }
}
