// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.store.Census.Room;
import org.junit.jupiter.api.Test;

/** The count of tagged slots: what it allows up to the bound, and beside a reservation. */
class CensusTest {

  private final Census census = new Census(10);

  @Test
  void tryAdd_upToTheBound_andNoFurther() {
    for (int i = 0; i < 10; i++) {
      assertThat(census.tryAdd()).isTrue();
    }
    assertThat(census.tryAdd()).isFalse();
    assertThat(census.tagged()).isEqualTo(10);
    assertThat(census.bound()).isEqualTo(10);
    assertThat(census.roomFor(1)).isEqualTo(Room.NONE);
    census.remove(3);
    assertThat(census.tagged()).isEqualTo(7);
    assertThat(census.roomFor(3)).isEqualTo(Room.FOUND);
    assertThat(census.roomFor(4)).isEqualTo(Room.NONE);
  }

  @Test
  void tryReserve_isAllOrNothing() {
    assertThat(census.tryReserve(11)).isFalse();
    assertThat(census.tagged()).isZero();
    assertThat(census.tryReserve(10)).isTrue();
    assertThat(census.tagged()).isEqualTo(10);
    assertThat(census.tryAdd()).isFalse();
  }

  @Test
  void roomFor_besideAReservation_isUnsettledAndNotNone() {
    assertThat(census.tryReserve(6)).isTrue();
    assertThat(census.roomFor(4)).isEqualTo(Room.FOUND);
    assertThat(census.roomFor(5)).isEqualTo(Room.UNSETTLED);
    assertThat(census.tryReserve(4)).isTrue();
    census.settle(6, 6);
    assertThat(census.roomFor(1)).as("another one is not settled").isEqualTo(Room.UNSETTLED);
    census.settle(4, 4);
    assertThat(census.roomFor(1)).isEqualTo(Room.NONE);
  }

  @Test
  void settle_givesBackWhatWasNotUsed() {
    assertThat(census.tryAdd()).isTrue();
    assertThat(census.tryReserve(6)).isTrue();
    census.settle(6, 2);
    assertThat(census.tagged()).isEqualTo(3);
    assertThat(census.tryReserve(7)).isTrue();
    census.settle(7, -1); // slots of dead buckets were found, and one was given back
    assertThat(census.tagged()).isEqualTo(2);
    assertThat(census.roomFor(8)).isEqualTo(Room.FOUND);
    assertThat(census.roomFor(9)).isEqualTo(Room.NONE);
  }
}
