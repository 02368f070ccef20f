// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** A batch on chosen slots: what it writes, and what it lets go of where it cannot be decided. */
class TableBatchTest {

  private static final long SECOND = 1_000_000_000;
  private static final long NOW = 1_700_000_000 * SECOND;
  private static final long HOUR = 3_600 * SECOND;
  private static final int SEGMENTS = 64; // of a small table
  private static final Duration LONG = Duration.ofSeconds(30);

  private long nowNanos = NOW;
  private final BucketTable table = new BucketTable(() -> nowNanos, 1_000, HOUR, 3, 5);

  private final List<Charge> charges = new ArrayList<>();
  private final List<Long> tags = new ArrayList<>();
  private final List<Long> places = new ArrayList<>();

  private static long place(int segment) {
    return Directory.place(segment * Directory.ENTRIES / SEGMENTS, 0);
  }

  private Segment segment(int segment) {
    return table.segmentAt(Directory.entryOf(place(segment)));
  }

  /** Adds a charge to the batch. Buckets of a segment share their first line. */
  private void add(Op act, int segment, long tag, long nanos) {
    charges.add(new Charge("", act, nanos, 10 * SECOND, Effect.NO_END));
    tags.add(tag);
    places.add(place(segment));
  }

  private TableBatch batch() {
    TableBatch batch =
        new TableBatch(
            table,
            List.copyOf(charges),
            tags.stream().mapToLong(Long::longValue).toArray(),
            places.stream().mapToLong(Long::longValue).toArray());
    charges.clear();
    tags.clear();
    places.clear();
    return batch;
  }

  private long tatNanos(int segment, long tag) {
    Effect check = Effect.of(Op.CHECK, 0, 10 * SECOND);
    return table.<Long>charge(tag, place(segment), check, null, (id, its, now, tat) -> tat);
  }

  private void assertNothingLocked() {
    for (int segment = 0; segment < SEGMENTS; segment++) {
      assertThat(segment(segment).slots()).doesNotContain(SlotArray.LOCKED);
      assertThat(segment(segment).tryLock()).isTrue();
      segment(segment).unlock();
    }
  }

  @Test
  void batch_ofNewBucketsAndOld_writesAll() {
    add(Op.SPEND, 5, 1, SECOND);
    add(Op.SPEND, 2, 1, 2 * SECOND);
    assertThat(batch().charge()).containsExactly(new Reading(NOW, 0), new Reading(NOW, 0));
    nowNanos++;
    add(Op.SPEND, 5, 2, 3 * SECOND);
    add(Op.SPEND, 5, 1, 4 * SECOND);
    add(Op.REFUND, 2, 1, SECOND);
    add(Op.CHECK, 9, 1, SECOND);
    assertThat(batch().charge())
        .containsExactly(
            new Reading(NOW + 1, 0),
            new Reading(NOW + 1, NOW + SECOND),
            new Reading(NOW + 1, NOW + 2 * SECOND),
            new Reading(NOW + 1, 0));
    assertThat(tatNanos(5, 1)).isEqualTo(NOW + 5 * SECOND);
    assertThat(tatNanos(5, 2)).isEqualTo(NOW + 1 + 3 * SECOND);
    assertThat(tatNanos(2, 1)).isEqualTo(NOW + SECOND);
    assertThat(table.tagged()).as("a check makes no bucket").isEqualTo(3);
    assertThat(segment(9).slots()).isEmpty();
    assertNothingLocked();
  }

  @Test
  void batch_thatIsDenied_writesNothing() {
    add(Op.SPEND, 5, 1, 9 * SECOND);
    add(Op.SPEND, 2, 1, SECOND);
    assertThat(batch().charge()).hasSize(2);
    for (int denied = 0; denied < 3; denied++) {
      add(Op.SPEND, 2, denied == 0 ? 1 : 2, SECOND);
      add(Op.SPEND, 5, 1, 2 * SECOND); // does not fit
      add(denied == 2 ? Op.RESET : Op.SPEND, 2, 3, denied == 2 ? 0 : SECOND);
      assertThat(batch().charge().get(1)).isEqualTo(new Reading(NOW, NOW + 9 * SECOND));
    }
    assertThat(tatNanos(5, 1)).isEqualTo(NOW + 9 * SECOND);
    assertThat(tatNanos(2, 1)).isEqualTo(NOW + SECOND);
    assertThat(table.tagged()).isEqualTo(2);
    assertNothingLocked();
  }

  @Test
  void batch_ofNewBuckets_makesLinesForThoseOfASegment() {
    for (long tag = 1; tag <= 10; tag++) {
      add(Op.SPEND, 0, tag << 60, SECOND);
    }
    for (long tag = 1; tag <= 3; tag++) {
      add(Op.SPEND, 7, tag, SECOND);
    }
    assertThat(batch().charge()).hasSize(13).containsOnly(new Reading(NOW, 0));
    assertThat(segment(0).slots()).as("4 lines").hasSize(4 * 8);
    assertThat(segment(7).slots()).as("2 lines, as it is the second try").hasSize(2 * 8);
    assertThat(table.tagged()).isEqualTo(13);
  }

  /** Each has the first slot of its segment: what was claimed before the failure is given back. */
  @Test
  void batch_withoutEnoughSlots_isRefusedAndLeavesNothing() {
    add(Op.SPEND, 3, 9, SECOND);
    assertThat(batch().charge()).hasSize(1);
    add(Op.SPEND, 5, 1, SECOND);
    add(Op.SPEND, 3, 9, SECOND);
    for (long tag = 1; tag <= 5; tag++) {
      add(Op.SPEND, 0, tag, SECOND); // these share both lines, however many there are
    }
    assertThatThrownBy(() -> batch().charge())
        .isInstanceOfSatisfying(
            StoreException.class, failure -> assertThat(failure.chargedNothing()).isTrue())
        .hasMessageContaining("too many keys need the same slots as this bucket");
    assertThat(segment(0).slots()).containsOnly(0);
    assertThat(segment(5).slots()).containsOnly(0);
    assertThat(segment(0).tagged()).isZero();
    assertThat(segment(5).tagged()).isZero();
    assertThat(tatNanos(3, 9)).isEqualTo(NOW + SECOND);
    assertThat(table.tagged()).isEqualTo(1);
    assertNothingLocked();
    assertThat(table.bucketCount().roomFor(999))
        .as("nothing is reserved")
        .isEqualTo(LiveBucketCount.Room.FOUND);
    assertThat(table.bucketCount().roomFor(1_000)).isEqualTo(LiveBucketCount.Room.NONE);
  }

  @Test
  void batch_overTheBound_leavesNothingReserved() {
    for (int segment = 0; segment < 6; segment++) {
      for (long tag = 1; tag <= 167; tag++) {
        add(Op.SPEND, segment, tag << 56 | tag, SECOND);
      }
    }
    assertThatThrownBy(() -> batch().charge()).hasMessageContaining("memory store full");
    assertThat(table.tagged()).isZero();
    assertThat(table.bucketCount().roomFor(1_000)).isEqualTo(LiveBucketCount.Room.FOUND);
    assertNothingLocked();
  }

  /** The clock steps back: a bucket that was full is as it was, unless it was reset. */
  @Test
  void reset_ofAFullBucket_forgetsItIfTheBatchPasses() {
    for (int segment = 0; segment < 4; segment++) {
      add(Op.SPEND, segment, 1, SECOND);
    }
    assertThat(batch().charge()).hasSize(4);
    nowNanos += 2 * SECOND;
    add(Op.RESET, 0, 1, 0);
    add(Op.CHECK, 1, 1, SECOND);
    assertThat(batch().charge()).containsOnly(new Reading(nowNanos, 0));
    add(Op.RESET, 2, 1, 0);
    add(Op.CHECK, 3, 1, 11 * SECOND); // does not fit
    assertThat(batch().charge()).containsOnly(new Reading(nowNanos, 0));
    nowNanos = NOW;
    assertThat(tatNanos(0, 1)).isZero();
    for (int segment = 1; segment < 4; segment++) {
      assertThat(tatNanos(segment, 1)).isEqualTo(NOW + SECOND);
    }
  }

  /**
   * Another thread spends from the second bucket: the batch waits, and holds no slot while it does.
   */
  @Test
  void batch_besideALockedSlot_waitsWithoutALock() {
    for (int segment = 0; segment < 3; segment++) {
      add(Op.SPEND, segment, 1, SECOND);
    }
    assertThat(batch().charge()).hasSize(3);
    long[] slots = segment(1).slots();
    assertThat(SlotArray.tryLock(slots, 0)).isEqualTo(NOW + SECOND);
    add(Op.SPEND, 0, 1, SECOND);
    add(Op.SPEND, 1, 1, SECOND);
    add(Op.SPEND, 2, 2, SECOND);
    FutureTask<List<Reading>> charging = new FutureTask<>(batch()::charge);
    Thread charger = new Thread(charging);
    charger.start();
    Parked.await(charger);
    assertThat(tatNanos(0, 1)).isEqualTo(NOW + SECOND);
    assertThat(tatNanos(2, 1)).as("of the segment that it did not get to").isEqualTo(NOW + SECOND);
    SlotArray.unlock(slots, 0, NOW + 3 * SECOND);
    assertThat(charging)
        .succeedsWithin(LONG)
        .isEqualTo(
            List.of(
                new Reading(NOW, NOW + SECOND),
                new Reading(NOW, NOW + 3 * SECOND),
                new Reading(NOW, 0)));
    assertThat(tatNanos(0, 1)).isEqualTo(NOW + 2 * SECOND);
    assertThat(tatNanos(1, 1)).isEqualTo(NOW + 4 * SECOND);
    assertThat(tatNanos(2, 1)).isEqualTo(NOW + SECOND);
    assertThat(tatNanos(2, 2)).isEqualTo(NOW + SECOND);
    assertNothingLocked();
  }
}
