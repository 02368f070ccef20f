// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Limits;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads files that are not YAML, such as a certificate and its key, into one value. They are
 * loaded, watched and applied together with the limit files, all or nothing: {@link
 * LimitFiles.Builder#attach}.
 *
 * <p>Implementations are thread-safe, and touch no file.
 *
 * @param <T> what the files become; immutable, compared by {@code equals}
 */
public interface AttachedFiles<T> {

  /**
   * Returns the type under which {@link Limits#companion} has what was read.
   *
   * @return the type
   */
  Class<T> type();

  /**
   * Returns the files.
   *
   * @return their paths, at least one
   */
  List<Path> files();

  /**
   * Reads the files. Their errors are reported, never thrown. Not called if a file cannot be read.
   *
   * @param contents the contents, in the order of {@link #files}
   * @param reports takes errors and warnings
   * @return what was read, null after an error
   */
  @Nullable T read(List<byte[]> contents, Reports reports);

  /** Takes what is wrong with a file. */
  interface Reports {

    /**
     * Takes an error: nothing is loaded while it stands.
     *
     * @param file one of the files
     * @param message what was found, and what was expected
     */
    void mistake(Path file, String message);

    /**
     * Takes a warning: the file is loaded all the same.
     *
     * @param file one of the files
     * @param message what is doubtful
     */
    void warning(Path file, String message);
  }
}
