// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/** Creates stores with a manual clock, for the rules of the contract. */
interface DrivenStores {

  BucketStore newStore(TimeSource time);

  /**
   * Returns the number of random histories with fixed seeds for each property. A few histories with
   * fresh seeds are added.
   *
   * @return the number of histories, 0 or more
   */
  default int histories() {
    return 300;
  }
}
