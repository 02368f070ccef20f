// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import dev.sluice.limit.Limits;
import dev.sluice.yaml.CompanionFile;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads a {@link CompanionFile}.
 *
 * <p>Implementations are thread-safe. An implementation does not access a file: it receives the
 * file's content.
 *
 * @param <T> the type of the file's content; contents are immutable and compared by {@code equals}
 */
public non-sealed interface CompanionReader<T> extends CompanionFile<T> {

  /**
   * Returns the keys of the sections that this reader takes from limit files. A section can be in a
   * separate file or in a file with other sections.
   *
   * @return the keys; empty if the content is never a section of another file
   */
  default List<String> sections() {
    return List.of();
  }

  /**
   * Returns whether anchors ({@code &name}), aliases ({@code *name}) and merged maps ({@code <<})
   * are allowed in the file, as in files of envoyproxy/ratelimit. Mistakes in a value that an alias
   * repeats are reported at the anchor.
   *
   * @return the default, false, if anchors and aliases are mistakes, as in Sluice's own files
   */
  default boolean hasAliases() {
    return false;
  }

  /**
   * Describes the expected content, for the message about an empty file.
   *
   * @return a noun phrase, such as {@code a map with the one field rules; write rules: [] for none}
   */
  String expected();

  /**
   * Reads the file; reports mistakes and never throws.
   *
   * @param root the content; if the file also has other sections, a map of only the {@link
   *     #sections} of this reader
   * @param file the file's name, as messages show it
   * @param limits the limits that are loaded together with the file, except limits with mistakes;
   *     includes the companions that were read before this file
   * @param known whether {@code limits} is complete; if not, the reader must not report unknown
   *     limits, since the limit files have a mistake that is already reported
   * @param problems receives the mistakes and warnings
   * @return the content; null if the file has a mistake
   */
  @Nullable T read(Node root, String file, Limits limits, boolean known, Problems problems);

  /**
   * Returns the limits to apply although {@link #read} has found a mistake. If a file revokes, for
   * example, an access token, the revocation must take effect even if another line of the file has
   * a mistake.
   *
   * @param root the content of the whole file, which has no syntax error
   * @param before the limits in force
   * @return {@code before}, or a copy of {@code before} without everything that the file revokes
   */
  default Limits reduced(Node root, Limits before) {
    return before;
  }

  /**
   * Returns the limits with the content added, for {@link Limits#companion}. An implementation can
   * also merge this content with the content of other files, or change the limits.
   *
   * @param limits the limits that were loaded together with the file
   * @param read the content that {@link #read} returned
   * @return the new limits
   */
  default Limits joined(Limits limits, T read) {
    return limits.with(type(), read);
  }
}
