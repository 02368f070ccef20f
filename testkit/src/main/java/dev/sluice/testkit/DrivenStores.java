// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/** Creates the stores for the tests of the contract. The stores use a manual clock. */
interface DrivenStores {

  BucketStore newStore(TimeSource time);

  /**
   * Returns how many random histories with fixed seeds are run for each property. A few histories
   * with random seeds are run too.
   *
   * @return the number of histories, 0 or more
   */
  default int histories() {
    return 300;
  }
}
