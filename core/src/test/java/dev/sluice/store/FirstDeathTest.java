// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The instant before which no bucket fills up: never too late. */
class FirstDeathTest {

  private final FirstDeath firstDeath = new FirstDeath();

  @Test
  void mayBeBy_fromTheEarliestInstantOn() {
    firstDeath.tell(70);
    firstDeath.tell(50);
    firstDeath.tell(60);
    assertThat(firstDeath.nanos()).isEqualTo(50);
    assertThat(firstDeath.mayBeBy(49)).isFalse();
    assertThat(firstDeath.mayBeBy(50)).isTrue();
    assertThat(firstDeath.mayBeBy(51)).isTrue();
  }

  @Test
  void nothingTold_isNever() {
    assertThat(firstDeath.mayBeBy(Long.MAX_VALUE)).isFalse();
    firstDeath.tell(5);
    firstDeath.startOver();
    assertThat(firstDeath.mayBeBy(Long.MAX_VALUE)).isFalse();
    firstDeath.tell(7);
    assertThat(firstDeath.nanos()).isEqualTo(7);
  }

  /** A large debt fills up after the year 2262. */
  @Test
  void instants_areUnsigned() {
    firstDeath.tell(Long.MIN_VALUE);
    assertThat(firstDeath.mayBeBy(Long.MAX_VALUE)).isFalse();
    firstDeath.tell(Long.MAX_VALUE);
    assertThat(firstDeath.mayBeBy(Long.MAX_VALUE)).isTrue();
  }
}
