// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import com.google.errorprone.annotations.CanIgnoreReturnValue;

/** The thing to measure: it decides on one token of a key. */
interface Spender {

  /** Spends one token of the key's bucket if it is there. */
  @CanIgnoreReturnValue
  boolean trySpend(String key);

  /**
   * Does so for each of many keys; returns how many had a token. Subjects that can decide on many
   * together do.
   */
  default int trySpendEach(Requests requests) {
    int allowed = 0;
    for (String id : requests.ids()) {
      allowed += trySpend(id) ? 1 : 0;
    }
    return allowed;
  }
}
