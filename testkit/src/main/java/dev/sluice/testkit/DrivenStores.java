// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/** Creates the stores for tests with a manual clock. */
interface DrivenStores {

  BucketStore newStore(TimeSource time);

  /**
   * Returns how many random histories with fixed seeds each property test runs. Each property test
   * also runs a few histories with random seeds.
   *
   * @return the number of histories, 0 or more
   */
  default int histories() {
    return 300;
  }
}
