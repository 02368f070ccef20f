// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/** Opens stores on a given clock, for the rules of the contract. */
interface DrivenStores {

  BucketStore newStore(TimeSource time);

  /**
   * How many random histories each property is tried on.
   *
   * @return 0 upwards; a few fresh ones are added
   */
  default int histories() {
    return 300;
  }
}
