// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.convert;

import dev.sluice.text.SafeText;

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
