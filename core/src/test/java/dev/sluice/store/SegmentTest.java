// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.store.Segment.Growth;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A part of the table: its lock, how it grows and shrinks, and how it is split. */
class SegmentTest {

  private static final long NOW = 1_000;
  private static final long LIVE = 2_000;
  private static final int LONGS = 8; // of a line

  private final LiveBucketCount bucketCount = new LiveBucketCount(1_000_000);

  /** The first segment of a table, locked. It has the entries 0 to 15. */
  private Segment locked(int mostLines) {
    Segment segment = new Directory(bucketCount, mostLines).segment(0);
    assertThat(segment.tryLock()).isTrue();
    return segment;
  }

  private static boolean add(Segment segment, int entry, int lineBits, long tag, long tatNanos) {
    int at = segment.claim(tag, Directory.place(entry, lineBits), NOW);
    if (at >= 0) {
      SlotArray.unlock(segment.slots(), at, tatNanos);
    }
    return at >= 0;
  }

  private static int lines(Segment segment) {
    return segment.slots().length / LONGS;
  }

  @Test
  void tryLock_whileItIsLocked_fails() {
    Segment segment = new Directory(bucketCount, 8).segment(0);
    long version = segment.version();
    assertThat(segment.isStill(version)).isTrue();
    assertThat(segment.tryLock()).isTrue();
    assertThat(segment.tryLock()).isFalse();
    assertThat(segment.isStill(version)).isFalse();
    assertThat(segment.isStill(segment.version())).as("its slots may be changing").isFalse();
    segment.unlock();
    assertThat(segment.isStill(version)).as("slots may have changed").isFalse();
    assertThat(segment.isStill(segment.version())).isTrue();
    assertThat(segment.tryLock()).isTrue();
  }

  @Test
  void grow_isSeenAtEveryEntry() {
    Directory directory = new Directory(bucketCount, 64);
    Segment segment = directory.segment(20);
    assertThat(segment.firstEntry()).isEqualTo(16);
    assertThat(segment.endEntry()).isEqualTo(32);
    assertThat(segment.tryLock()).isTrue();
    assertThat(segment.claim(1, 0, NOW)).isEqualTo(-1);
    assertThat(segment.isRefused()).isFalse();
    assertThat(segment.grow(1, NOW)).isEqualTo(Growth.DONE);
    assertThat(lines(segment)).isEqualTo(1);
    for (int entry = 16; entry < 32; entry++) {
      assertThat(directory.slots(Directory.place(entry, 5))).isSameAs(segment.slots());
      assertThat(directory.segment(entry)).isSameAs(segment);
    }
    assertThat(directory.slots(Directory.place(15, 5))).isEmpty();
    assertThat(directory.slots(Directory.place(32, 5))).isEmpty();
  }

  @Test
  void grow_crowdedLines_addsAnEighthAndOne() {
    Segment segment = locked(64);
    assertThat(segment.grow(26, NOW)).isEqualTo(Growth.DONE);
    assertThat(lines(segment)).isEqualTo(9);
    assertThat(segment.grow(1, NOW)).isEqualTo(Growth.DONE);
    assertThat(lines(segment)).isEqualTo(11);
  }

  @Test
  void grow_linesWithDeadBuckets_needsNoMoreThanTheLiving() {
    Segment segment = locked(64);
    assertThat(segment.grow(26, NOW)).isEqualTo(Growth.DONE);
    for (int tag = 1; tag <= 6; tag++) {
      assertThat(add(segment, tag, 0, tag, NOW + tag % 2)).isTrue();
    }
    assertThat(segment.grow(1, NOW)).isEqualTo(Growth.DONE);
    assertThat(lines(segment)).isEqualTo(2);
    assertThat(segment.tagged()).isEqualTo(3);
    assertThat(bucketCount.tagged()).isEqualTo(3);
    assertThat(segment.live(NOW)).hasSize(9).contains(Directory.place(5, 0), Directory.place(1, 0));
  }

  /**
   * Keys that share their lines in all tables of up to 63 lines. Where a hash spreads them, they
   * fit long before: as many lines as this are tried, and no more.
   */
  @Test
  void grow_keysThatMeet_upToTheMostLinesThatAreTried() {
    Segment segment = locked(8_192);
    assertThat(segment.grow(1, NOW)).isEqualTo(Growth.DONE);
    for (int tag = 1; tag <= 4; tag++) {
      assertThat(add(segment, 0, 1_023, tag, LIVE)).isTrue();
    }
    while (!add(segment, 0, 1_024, 5, LIVE)) {
      assertThat(segment.grow(1, NOW)).isEqualTo(Growth.DONE);
    }
    assertThat(lines(segment)).isEqualTo(64);
    long[] before = segment.slots().clone();
    assertThat(add(segment, 0, 1_023, 6, LIVE)).isFalse();
    assertThat(segment.grow(1, NOW)).isEqualTo(Growth.CROWDED);
    assertThat(segment.slots()).as("unlocked again").containsExactly(before);
    assertThat(bucketCount.tagged()).isEqualTo(5);
  }

  /** Five keys that fit in 73 lines or more; so many are tried for those that are to come. */
  private static void addFiveThatNeed73Lines(Segment segment, int entry) {
    for (int tag = 1; tag <= 5; tag++) {
      assertThat(add(segment, entry, tag < 5 ? 897 : 898, tag, LIVE)).isTrue();
    }
  }

  @Test
  void grow_forManyMore_triesAsManyLinesAsTheyMayNeed() {
    Segment segment = locked(8_192);
    assertThat(segment.grow(234, NOW)).isEqualTo(Growth.DONE);
    assertThat(lines(segment)).isEqualTo(74);
    addFiveThatNeed73Lines(segment, 0);
    assertThat(add(segment, 0, 0, 6, NOW)).as("a dead one").isTrue();
    assertThat(segment.grow(26, NOW)).isEqualTo(Growth.DONE);
    assertThat(lines(segment)).isEqualTo(73);
    assertThat(segment.tagged()).isEqualTo(5);
  }

  @Test
  void grow_besideALockedSlot_isBusyAndChangesNothing() {
    Segment segment = locked(64);
    assertThat(segment.grow(1, NOW)).isEqualTo(Growth.DONE);
    assertThat(add(segment, 0, 0, 1, LIVE)).isTrue();
    assertThat(add(segment, 0, 0, 2, LIVE)).isTrue();
    assertThat(SlotArray.tryLock(segment.slots(), 2)).isEqualTo(LIVE);
    long[] slots = segment.slots();
    long[] before = slots.clone();
    assertThat(segment.grow(1, NOW)).isEqualTo(Growth.BUSY);
    assertThat(segment.slots()).isSameAs(slots).containsExactly(before);
    SlotArray.unlock(slots, 2, LIVE);
    assertThat(segment.grow(1, NOW)).isEqualTo(Growth.DONE);
    assertThat(lines(segment)).isEqualTo(2);
    assertThat(slots).as("locked for good").containsExactly(1, -1, 2, -1, 0, -1, 0, -1);
  }

  @Test
  void grow_ofAsManyLinesAsItMayHave_splitsNothing() {
    Segment segment = locked(2);
    assertThat(segment.grow(6, NOW)).isEqualTo(Growth.DONE);
    assertThat(lines(segment)).isEqualTo(2);
    assertThat(segment.endEntry()).isEqualTo(16);
    segment.unlock();
    assertThat(segment.tryLock()).isTrue();
  }

  @Test
  void grow_segmentOfOneEntry_isNotSplit() {
    Directory directory = new Directory(bucketCount, 1);
    Segment segment = new Segment(bucketCount, directory, 1, 5, 1);
    assertThat(segment.tryLock()).isTrue();
    assertThat(segment.grow(7, NOW)).isEqualTo(Growth.DONE);
    assertThat(lines(segment)).isEqualTo(3);
    assertThat(directory.segment(5)).isSameAs(segment);
    assertThat(directory.segment(4)).isNotSameAs(segment);
    assertThat(directory.segment(6)).isNotSameAs(segment);
  }

  @Test
  void grow_overTheMostLines_splitsIntoHalves() {
    Directory directory = new Directory(bucketCount, 2);
    Segment segment = directory.segment(0);
    assertThat(segment.tryLock()).isTrue();
    assertThat(segment.grow(6, NOW)).isEqualTo(Growth.DONE);
    int[] entries = {0, 7, 8, 15, 9};
    for (int i = 0; i < entries.length; i++) {
      assertThat(add(segment, entries[i], i % 2 << 15, 1 + i, i == 4 ? NOW : LIVE + i)).isTrue();
    }
    segment.earliestExpiry().tell(NOW);
    assertThat(segment.grow(3, NOW)).as("the dead one's slot will do").isEqualTo(Growth.DONE);
    assertThat(directory.segment(0)).as("which takes 3 lines").isNotSameAs(segment);
    segment.unlock();
    assertThat(segment.tryLock()).as("nobody may change it any more").isFalse();
    for (int first : new int[] {0, 8}) {
      Segment half = directory.segment(first);
      assertThat(half.firstEntry()).isEqualTo(first);
      assertThat(half.endEntry()).isEqualTo(first + 8);
      assertThat(directory.segment(first + 7)).isSameAs(half);
      assertThat(directory.slots(Directory.place(first + 7, 0))).isSameAs(half.slots());
      assertThat(half.earliestExpiry().nanos()).isEqualTo(NOW);
      assertThat(lines(half)).as("for three more").isEqualTo(2);
      assertThat(half.tagged()).isEqualTo(2);
      assertThat(half.tryLock()).isTrue();
      assertThat(half.live(NOW))
          .contains(Directory.place(first, 0), Directory.place(first + 7, 1 << 15));
    }
    assertThat(bucketCount.tagged()).as("without the dead one").isEqualTo(4);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 8})
  void grow_whereAHalfIsCrowded_changesNothing(int entry) {
    Segment segment = locked(74);
    assertThat(segment.grow(234, NOW)).isEqualTo(Growth.DONE);
    for (int tag = 1; tag <= 5; tag++) {
      assertThat(add(segment, entry, 897, tag, LIVE)).isTrue();
    }
    long[] slots = segment.slots();
    long[] before = slots.clone();
    assertThat(segment.grow(1, NOW)).isEqualTo(Growth.CROWDED);
    assertThat(segment.slots()).isSameAs(slots).containsExactly(before);
    assertThat(bucketCount.tagged()).isEqualTo(5);
    segment.unlock();
    assertThat(segment.tryLock()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 8})
  void grow_forManyMore_triesAsManyLinesInEachHalf(int entry) {
    Directory directory = new Directory(bucketCount, 74);
    Segment segment = directory.segment(0);
    assertThat(segment.tryLock()).isTrue();
    assertThat(segment.grow(234, NOW)).isEqualTo(Growth.DONE);
    addFiveThatNeed73Lines(segment, entry);
    assertThat(segment.grow(26, NOW)).isEqualTo(Growth.DONE);
    assertThat(lines(directory.segment(entry))).isEqualTo(73);
    assertThat(lines(directory.segment(8 - entry))).isEqualTo(9);
  }

  @Test
  void tidy_beforeTheFirstDeath_looksAtNothing() {
    Segment segment = locked(64);
    assertThat(segment.grow(26, NOW)).isEqualTo(Growth.DONE);
    assertThat(add(segment, 0, 0, 1, NOW)).isTrue();
    segment.earliestExpiry().tell(NOW);
    segment.tidy(NOW - 1);
    assertThat(segment.tagged()).isEqualTo(1);
    assertThat(lines(segment)).isEqualTo(9);
    segment.tidy(NOW);
    assertThat(segment.tagged()).isZero();
    assertThat(lines(segment)).isEqualTo(1);
  }

  @Test
  void tidy_givesLinesBack_whereHalfIsTooMuch() {
    Segment segment = locked(64);
    assertThat(segment.grow(32, NOW)).isEqualTo(Growth.DONE);
    for (int tag = 1; tag <= 16; tag++) {
      assertThat(add(segment, tag % 16, tag << 12, tag, tag < 5 ? NOW + 1 : LIVE)).isTrue();
    }
    segment.earliestExpiry().tell(NOW);
    segment.tidy(NOW);
    assertThat(segment.earliestExpiry().nanos()).isEqualTo(NOW + 1);
    assertThat(lines(segment)).as("twice what is enough for 16").isEqualTo(10);
    segment.tidy(NOW + 1);
    assertThat(lines(segment)).as("enough for 12").isEqualTo(4);
    assertThat(segment.tagged()).isEqualTo(12);
    assertThat(bucketCount.tagged()).isEqualTo(12);
    assertThat(segment.earliestExpiry().nanos()).isEqualTo(LIVE);
  }

  @Test
  void clearDead_saysWhetherThereWereSome() {
    Segment segment = locked(64);
    assertThat(segment.grow(3, NOW)).isEqualTo(Growth.DONE);
    assertThat(add(segment, 0, 0, 1, LIVE)).isTrue();
    assertThat(add(segment, 0, 0, 2, LIVE + 1)).isTrue();
    segment.earliestExpiry().tell(NOW);
    assertThat(segment.clearDead(LIVE - 1)).isFalse();
    assertThat(segment.earliestExpiry().nanos()).isEqualTo(LIVE);
    assertThat(segment.clearDead(LIVE)).isTrue();
    assertThat(segment.earliestExpiry().nanos()).isEqualTo(LIVE + 1);
    assertThat(segment.tagged()).isEqualTo(1);
    assertThat(bucketCount.tagged()).isEqualTo(1);
  }

  @Test
  void claimReserved_isCountedByTheCaller() {
    Segment segment = locked(64);
    assertThat(segment.grow(2, NOW)).isEqualTo(Growth.DONE);
    assertThat(segment.claimReserved(1, 0, NOW)).isZero();
    assertThat(segment.tagged()).isEqualTo(1);
    assertThat(bucketCount.tagged()).isZero();
    segment.releaseReserved(0);
    assertThat(segment.tagged()).isZero();
    assertThat(bucketCount.tagged()).isZero();
    assertThat(segment.slots()).containsOnly(0);
  }

  @Test
  void claim_overTheBound_isRefused() {
    Segment segment = new Directory(new LiveBucketCount(1), 64).segment(0);
    assertThat(segment.tryLock()).isTrue();
    assertThat(segment.grow(2, NOW)).isEqualTo(Growth.DONE);
    assertThat(add(segment, 0, 0, 1, LIVE)).isTrue();
    assertThat(segment.isRefused()).isFalse();
    assertThat(add(segment, 0, 0, 2, LIVE)).isFalse();
    assertThat(segment.isRefused()).isTrue();
  }
}
