// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.web.RequestFacts;

/**
 * A cost that a header says. Immutable.
 *
 * @param header the header's name
 * @param otherwise tokens for a request without it
 */
record HeaderCost(String header, long otherwise) {

  /** Reads the cost, which must be a whole number; 0 counts as 1. */
  long of(RequestFacts facts) {
    return facts.cost(header, otherwise);
  }
}
