// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import java.util.List;

/**
 * What an act came to. Immutable.
 *
 * @param allowed false also where the store could not decide
 * @param remaining what each of its buckets held then, in the order of the ids
 */
record Outcome(boolean allowed, List<Long> remaining) {

  static Outcome undecided() {
    return new Outcome(false, List.of());
  }
}
