// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import com.google.errorprone.annotations.CanIgnoreReturnValue;

/** A limiter to measure. */
interface Spender {

  /** Spends one token of the key's bucket if it is there. */
  @CanIgnoreReturnValue
  boolean trySpend(String key);

  /**
   * Spends one token of the bucket of each of many keys; returns how many were there. Subjects that
   * can decide on many keys together do so.
   */
  default int trySpendEach(Requests requests) {
    int allowed = 0;
    for (String id : requests.ids()) {
      allowed += trySpend(id) ? 1 : 0;
    }
    return allowed;
  }
}
