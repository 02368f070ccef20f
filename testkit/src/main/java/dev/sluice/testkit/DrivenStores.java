package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;

/** What the rules of the contract need of a store that can be driven by a given clock. */
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
