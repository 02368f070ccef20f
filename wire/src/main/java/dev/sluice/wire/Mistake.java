// SPDX-License-Identifier: Apache-2.0
package dev.sluice.wire;

import org.jspecify.annotations.Nullable;

/**
 * One thing that is wrong with a request. Immutable.
 *
 * @param field the path of the wrong field, {@code transactions[2].cost}; null if the text is not a
 *     JSON object
 * @param message what was found, and what was expected
 * @param unknownLimit whether the mistake is the name of a limit that does not exist
 */
public record Mistake(@Nullable String field, String message, boolean unknownLimit) {

  Mistake(@Nullable String field, String message) {
    this(field, message, false);
  }

  /** As one line for people. */
  @Override
  public String toString() {
    return field == null ? message : field + ": " + message;
  }
}
