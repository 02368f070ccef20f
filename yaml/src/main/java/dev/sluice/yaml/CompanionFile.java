// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Limits;
import dev.sluice.yaml.internal.AttachedFiles;
import dev.sluice.yaml.internal.CompanionReader;

/**
 * The reader of a file that refers to the limits, such as a file of rules. The file is loaded and
 * watched together with the limit files (see {@link LimitFiles.Builder#companion}): if one file has
 * a mistake, no file takes effect. Only Sluice's own modules can implement this interface.
 *
 * @param <T> the type of the file's content
 */
public sealed interface CompanionFile<T> permits CompanionReader, AttachedFiles {

  /**
   * Returns the type under which {@link Limits#companion} finds the content of the file.
   *
   * @return the class of the content
   */
  Class<T> type();
}
