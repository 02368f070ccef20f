// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.List;

/**
 * The result of a history.
 *
 * @param history as it was run, with its turns
 * @param steps how many were made
 * @param violation what was wrong, empty if nothing was
 * @param calls those that returned
 * @param story who ran when; empty where nobody asked for it
 */
record Run(History history, long steps, String violation, List<Call> calls, List<String> story) {

  boolean failed() {
    return !violation.isEmpty();
  }

  /** The violation without its numbers and names: of two equal ones, one history shows both. */
  String kind() {
    return violation
        .replaceFirst("^thread .*?: ", "")
        .replaceFirst(", last at.*| at .*", "")
        .replaceAll("[0-9]+", "#");
  }
}
