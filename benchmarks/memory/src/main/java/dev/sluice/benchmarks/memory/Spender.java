// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import com.google.errorprone.annotations.CanIgnoreReturnValue;

/** The operations of a limiter that are measured. */
interface Spender {

  /**
   * Spends one token of the key's bucket if the bucket has a token. Returns whether the token was
   * spent.
   */
  @CanIgnoreReturnValue
  boolean trySpend(String key);

  /**
   * Spends one token of the bucket of each key in the requests. Returns how many tokens were spent.
   * A limiter that can decide on many keys in one call does so.
   */
  default int trySpendEach(Requests requests) {
    int allowed = 0;
    for (String id : requests.ids()) {
      allowed += trySpend(id) ? 1 : 0;
    }
    return allowed;
  }
}
