// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.store.SlotArray.EarliestExpiry;
import org.junit.jupiter.api.Test;

/** The instant before which no bucket fills up: never too late. */
class EarliestExpiryTest {

  private final EarliestExpiry earliestExpiry = new EarliestExpiry();

  @Test
  void mayBeBy_fromTheEarliestInstantOn() {
    earliestExpiry.tell(70);
    earliestExpiry.tell(50);
    earliestExpiry.tell(60);
    assertThat(earliestExpiry.nanos()).isEqualTo(50);
    assertThat(earliestExpiry.mayBeBy(49)).isFalse();
    assertThat(earliestExpiry.mayBeBy(50)).isTrue();
    assertThat(earliestExpiry.mayBeBy(51)).isTrue();
  }

  @Test
  void nothingTold_isNever() {
    assertThat(earliestExpiry.mayBeBy(Long.MAX_VALUE)).isFalse();
    earliestExpiry.tell(5);
    earliestExpiry.startOver();
    assertThat(earliestExpiry.mayBeBy(Long.MAX_VALUE)).isFalse();
    earliestExpiry.tell(7);
    assertThat(earliestExpiry.nanos()).isEqualTo(7);
  }

  /** A large debt fills up after the year 2262. */
  @Test
  void instants_areUnsigned() {
    earliestExpiry.tell(Long.MIN_VALUE);
    assertThat(earliestExpiry.mayBeBy(Long.MAX_VALUE)).isFalse();
    earliestExpiry.tell(Long.MAX_VALUE);
    assertThat(earliestExpiry.mayBeBy(Long.MAX_VALUE)).isTrue();
  }
}
