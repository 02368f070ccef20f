// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.List;

/**
 * The result of running a history.
 *
 * @param history the history as it ran, including its turns
 * @param steps the number of steps
 * @param violation what was wrong, empty if nothing was
 * @param calls the calls that returned
 * @param story which thread ran when; empty unless it was requested
 */
record Run(History history, long steps, String violation, List<Call> calls, List<String> story) {

  boolean failed() {
    return !violation.isEmpty();
  }

  /** Returns the violation without numbers and names. Equal kinds count as one fault. */
  String kind() {
    return violation
        .replaceFirst("^thread .*?: ", "")
        .replaceFirst(", last at.*| at .*", "")
        .replaceAll("[0-9]+", "#");
  }
}
