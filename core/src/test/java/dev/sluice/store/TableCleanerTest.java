// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** When callers forget what has filled up: a segment at a time, and not too often. */
class TableCleanerTest {

  private static final long NOW = 1_700_000_000_000_000_000L;
  private static final long SECOND = 1_000_000_000;
  private static final long EVERY = 1_000_000; // nanoseconds between two segments
  private static final int SEGMENTS = 64; // of a small table

  private final Random random = new Random(1);
  private long nowNanos = NOW;
  private final BucketTable table = new BucketTable(() -> nowNanos, 1_000_000, 0, 3, 5);

  /** A bucket of a segment that is dead after the given time. */
  private void spend(int segment, long nanos) {
    long entry = (long) segment * Directory.ENTRIES / SEGMENTS;
    long place = entry << (Long.SIZE - Directory.BITS) | random.nextInt(1 << 16);
    boolean unused =
        table.<Boolean>charge(
            random.nextLong(),
            place,
            Effect.of(Op.SPEND, nanos, nanos),
            null,
            (id, effect, readNanos, tatNanos) -> true);
  }

  @Test
  void now_oneSegmentAtATime_inTurn() {
    for (int segment = 0; segment < SEGMENTS; segment++) {
      spend(segment, SECOND);
    }
    long then = NOW + 2 * SECOND;
    for (int segment = 1; segment < SEGMENTS; segment++) { // the first one was tidied by a spend
      long left = table.tagged();
      table.cleaner().now(then);
      assertThat(table.tagged()).isEqualTo(left - 1);
      table.cleaner().now(then);
      table.cleaner().now(then + EVERY - 1);
      assertThat(table.tagged()).as("too early for another").isEqualTo(left - 1);
      then += EVERY;
    }
    assertThat(table.tagged()).isEqualTo(1);
    table.cleaner().now(then);
    assertThat(table.tagged()).as("the first one again").isZero();
  }

  @Test
  void now_clockThatStepsBack_doesNotWaitForTheOldTime() {
    spend(0, SECOND);
    spend(1, SECOND);
    table.cleaner().now(NOW + 3_600 * SECOND);
    assertThat(table.tagged()).isEqualTo(1);
    for (int segment = 2; segment <= SEGMENTS; segment++) {
      table.cleaner().now(NOW + 3_600 * SECOND - segment);
    }
    assertThat(table.tagged()).isZero();
  }

  /** It takes time to go through a large one: there is a longer pause after it. */
  @Test
  void now_afterALargeSegment_waitsInProportion() {
    for (int i = 0; i < 12_000; i++) {
      spend(0, 3_600 * SECOND);
    }
    long pauseNanos = 50L * table.segmentAt(0).slots().length;
    assertThat(pauseNanos).isGreaterThan(EVERY);
    for (int segment = 1; segment < SEGMENTS; segment++) {
      nowNanos += EVERY;
      table.cleaner().now(nowNanos);
    }
    spend(1, SECOND);
    long then = nowNanos + 2 * SECOND;
    table.cleaner().now(then); // the large one
    table.cleaner().now(then + pauseNanos - 1);
    assertThat(table.tagged()).isEqualTo(12_001);
    table.cleaner().now(then + pauseNanos);
    assertThat(table.tagged()).isEqualTo(12_000);
  }

  /** A look is short: it clears no more than the first segment that has some dead. */
  @Test
  void makeRoom_severalSegmentsWithDead_clearsOne() {
    BucketTable full = fullTable(SECOND);
    full.cleaner().makeRoom(1, NOW + SECOND);
    assertThat(full.tagged()).isEqualTo(2);
    assertThat(full.segmentAt(0).tagged()).isZero();
  }

  @Test
  void makeRoom_aLockedSegmentBehindTheOneWithDead_clearsOneTheSame() {
    BucketTable full = fullTable(100 * SECOND);
    assertThat(full.segmentAt(Directory.ENTRIES / 4).tryLock()).isTrue();
    full.cleaner().makeRoom(1, NOW + SECOND);
    assertThat(full.tagged()).isEqualTo(2);
    assertThat(full.segmentAt(0).tagged()).isZero();
  }

  /** Three buckets, as many as may be: two die in a second, the one between as told. */
  private static BucketTable fullTable(long nanosBetween) {
    BucketTable full = new BucketTable(() -> NOW, 3, 0, 3, 5);
    for (int quarter = 0; quarter < 3; quarter++) {
      long place = Directory.place(quarter * Directory.ENTRIES / 4, 0);
      full.restore(place, 1, NOW + (quarter == 1 ? nanosBetween : SECOND), NOW);
    }
    return full;
  }

  @Test
  void fullNanos_isAsLongAgoAsAFullBucketIsKept_neverBelowZero() {
    LiveBucketCount bucketCount = new LiveBucketCount(1);
    TableCleaner cleaner =
        new TableCleaner(new Directory(bucketCount, 1), bucketCount, () -> NOW, 100);
    assertThat(cleaner.fullNanos(250)).isEqualTo(150);
    assertThat(cleaner.fullNanos(99)).isZero();
  }
}
