// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/** Creates stores on a given clock, for the rules of the contract. */
interface DrivenStores {

  BucketStore newStore(TimeSource time);

  /**
   * Returns the number of random histories with fixed seeds for each property.
   *
   * @return 0 or more; a few fresh seeds are added
   */
  default int histories() {
    return 300;
  }
}
