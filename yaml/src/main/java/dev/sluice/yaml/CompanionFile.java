// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Limits;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads a file that refers to the limits, such as rules that name them. It is loaded, watched and
 * applied together with the limit files, all or nothing: {@link LimitFiles.Builder#companion}.
 *
 * <p>Implementations are thread-safe, and touch no file.
 *
 * @param <T> what the file becomes; immutable, compared by {@code equals}
 */
public interface CompanionFile<T> {

  /**
   * Returns the type under which {@link Limits#companion} has what was read.
   *
   * @return the type
   */
  Class<T> type();

  /**
   * Returns the keys of the sections that this reader takes from limit files, each of which may
   * stand in a file of its own or beside other sections.
   *
   * @return the keys; none for a file that is never a part of another
   */
  default List<String> sections() {
    return List.of();
  }

  /**
   * Returns whether the file may have anchors ({@code &name}), aliases ({@code *name}) and merged
   * maps ({@code <<: *name}), as files of other systems do. A value that an alias stands for has
   * the place of its anchor.
   *
   * @return false for files of ours, in which each value has one place
   */
  default boolean hasAliases() {
    return false;
  }

  /**
   * Describes the content of a file, for messages about one that is empty.
   *
   * @return such as {@code a map with the one field rules; write rules: [] for none}
   */
  String expected();

  /**
   * Reads the file. Its errors are reported, never thrown.
   *
   * @param root the content; a map of the {@link #sections} where the file has others too
   * @param file the file's name, as messages show it
   * @param limits the limits of the same generation with earlier companions, as far as they could
   *     be read
   * @param known whether these are all; if not, a limit that they lack is not reported here, as the
   *     limit files have an error that is reported already
   * @param problems where mistakes go
   * @return what was read, null after a mistake
   */
  @Nullable T read(Node root, String file, Limits limits, boolean known, Problems problems);

  /**
   * Returns the limits that hold although {@link #read} has found a mistake. What a file takes away
   * for security, such as a token, must not wait until another of its lines is mended.
   *
   * @param root the content, all of which is YAML without a mistake
   * @param before the limits in force
   * @return the limits in force, unless the file takes something away from them
   */
  default Limits reduced(Node root, Limits before) {
    return before;
  }

  /**
   * Returns the limits with what was read, as their companion. A file that says more of the limits
   * that it refers to may add that here.
   *
   * @param limits the limits of the same generation
   * @param read what {@link #read} returned
   * @return new limits
   */
  default Limits joined(Limits limits, T read) {
    return limits.with(type(), read);
  }
}
