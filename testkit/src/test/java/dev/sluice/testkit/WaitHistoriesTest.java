// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.store.BucketStore;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** More histories of callers who wait than each store has to pass. */
@Tag("slow")
class WaitHistoriesTest {

  private static final int HISTORIES = 1_000;

  @ParameterizedTest(name = "{0} processes")
  @ValueSource(ints = {1, 2, 5})
  void acquire_thousandHistories_keepTheirPromises(int processes) {
    Seeds.run(HISTORIES, random -> WaitHistoryRules.run(BucketStore::inMemory, random, processes));
  }
}
