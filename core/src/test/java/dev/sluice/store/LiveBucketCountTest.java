// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.store.LiveBucketCount.Room;
import org.junit.jupiter.api.Test;

/** The count of tagged slots: what it allows up to the bound, and beside a reservation. */
class LiveBucketCountTest {

  private final LiveBucketCount bucketCount = new LiveBucketCount(10);

  @Test
  void tryAdd_upToTheBound_andNoFurther() {
    for (int i = 0; i < 10; i++) {
      assertThat(bucketCount.tryAdd()).isTrue();
    }
    assertThat(bucketCount.tryAdd()).isFalse();
    assertThat(bucketCount.tagged()).isEqualTo(10);
    assertThat(bucketCount.bound()).isEqualTo(10);
    assertThat(bucketCount.roomFor(1)).isEqualTo(Room.NONE);
    bucketCount.remove(3);
    assertThat(bucketCount.tagged()).isEqualTo(7);
    assertThat(bucketCount.roomFor(3)).isEqualTo(Room.FOUND);
    assertThat(bucketCount.roomFor(4)).isEqualTo(Room.NONE);
  }

  @Test
  void tryReserve_isAllOrNothing() {
    assertThat(bucketCount.tryReserve(11)).isFalse();
    assertThat(bucketCount.tagged()).isZero();
    assertThat(bucketCount.tryReserve(10)).isTrue();
    assertThat(bucketCount.tagged()).isEqualTo(10);
    assertThat(bucketCount.tryAdd()).isFalse();
  }

  @Test
  void roomFor_besideAReservation_isUnsettledAndNotNone() {
    assertThat(bucketCount.tryReserve(6)).isTrue();
    assertThat(bucketCount.roomFor(4)).isEqualTo(Room.FOUND);
    assertThat(bucketCount.roomFor(5)).isEqualTo(Room.UNSETTLED);
    assertThat(bucketCount.tryReserve(4)).isTrue();
    bucketCount.settle(6, 6);
    assertThat(bucketCount.roomFor(1)).as("another one is not settled").isEqualTo(Room.UNSETTLED);
    bucketCount.settle(4, 4);
    assertThat(bucketCount.roomFor(1)).isEqualTo(Room.NONE);
  }

  @Test
  void settle_givesBackWhatWasNotUsed() {
    assertThat(bucketCount.tryAdd()).isTrue();
    assertThat(bucketCount.tryReserve(6)).isTrue();
    bucketCount.settle(6, 2);
    assertThat(bucketCount.tagged()).isEqualTo(3);
    assertThat(bucketCount.tryReserve(7)).isTrue();
    bucketCount.settle(7, -1); // slots of dead buckets were found, and one was given back
    assertThat(bucketCount.tagged()).isEqualTo(2);
    assertThat(bucketCount.roomFor(8)).isEqualTo(Room.FOUND);
    assertThat(bucketCount.roomFor(9)).isEqualTo(Room.NONE);
  }
}
