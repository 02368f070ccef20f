// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.WaitQueues.LastRefundTimes;
import org.junit.jupiter.api.Test;

/** When a bucket was lowered last: never earlier than it was. */
class LastRefundTimesTest {

  private final LastRefundTimes lowered = new LastRefundTimes();

  @Test
  void isSince_upToTheLatestTime_ofThisBucketAlone() {
    assertThat(lowered.isSince("k", -1_000)).isFalse();
    lowered.decidedBy("k", -7);
    lowered.decidedBy("k", -5);
    lowered.decidedBy("k", -6);
    assertThat(lowered.isSince("k", -6)).isTrue();
    assertThat(lowered.isSince("k", -5)).isTrue();
    assertThat(lowered.isSince("k", -4)).isFalse();
    assertThat(lowered.isSince("l", -1_000)).as("another entry").isFalse();
  }

  /** All 1024 entries are used, by the upper half of a hash too. */
  @Test
  void entry_isThatOfBothHalvesOfTheHash() {
    assertThat(LastRefundTimes.entry("")).isZero();
    assertThat(LastRefundTimes.entry("k")).isEqualTo('k');
    String longer = "1:10.0.0.1";
    int hash = longer.hashCode();
    assertThat(hash >>> 16).isNotZero();
    assertThat(LastRefundTimes.entry(longer)).isEqualTo(((hash >>> 16) ^ (hash & 0xffff)) % 1_024);
    boolean[] used = new boolean[1_024];
    for (int i = 0; i < 100_000; i++) {
      used[LastRefundTimes.entry("1:" + i)] = true;
    }
    assertThat(used).doesNotContain(false);
  }
}
