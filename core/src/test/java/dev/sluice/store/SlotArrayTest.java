// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.store.SlotArray.EarliestExpiry;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The slots of a segment: which one is a key's, which one a new key gets, and what moves for it.
 */
class SlotArrayTest {

  private static final long NOW = 1_000;
  private static final long LIVE = 2_000;
  private static final int LONGS = 8; // of a line

  private final LiveBucketCount bucketCount = new LiveBucketCount(1_000_000);
  private int keys;

  /** A place with this first line. The number of lines is a power of two in these tests. */
  private static long place(int line, int lines) {
    return (long) line * (1 << 16) / lines;
  }

  /** A tag with this other line. */
  private static long tag(int first, int second, int lines, int number) {
    long sum = ((long) first + second) % lines;
    return (sum * (1 << 16) / lines) << 48 | number;
  }

  private static int find(SlotArray lines, int first, int second, int number) {
    int count = lines.count();
    return SlotArray.find(lines.slots, tag(first, second, count, number), place(first, count));
  }

  /** Makes a bucket, and returns the index of its slot; -1 where there is none. */
  private int add(SlotArray lines, int first, int second, int number, long tatNanos) {
    int count = lines.count();
    int kept = SlotArray.kept(place(first, count));
    int at = lines.claim(tag(first, second, count, number), kept, NOW, bucketCount);
    if (at >= 0) {
      SlotArray.unlock(lines.slots, at, tatNanos);
    }
    return at;
  }

  /** Fills a line with buckets that have the same other line. */
  private void fill(SlotArray lines, int line, int other) {
    for (int slot = 0; slot < 4; slot++) {
      keys++;
      assertThat(add(lines, line, other, keys, LIVE + keys)).isEqualTo(LONGS * line + 2 * slot);
    }
  }

  @ParameterizedTest
  @CsvSource({"2,1,0", "4,3,0", "4,3,1", "128,127,0", "128,90,80", "256,255,0", "256,200,100"})
  void find_inTablesOfAnySize_looksAtBothLines(int count, int first, int second) {
    SlotArray lines = new SlotArray(count);
    int[] at = new int[8];
    for (int number = 1; number <= 8; number++) {
      at[number - 1] = add(lines, first, second, number, LIVE);
    }
    int a = LONGS * first;
    int b = LONGS * second;
    assertThat(at).containsExactly(a, a + 2, a + 4, a + 6, b, b + 2, b + 4, b + 6);
    for (int number = 1; number <= 8; number++) {
      assertThat(find(lines, first, second, number)).isEqualTo(at[number - 1]);
      assertThat(find(lines, second, first, number)).as("reversed").isEqualTo(at[number - 1]);
    }
    assertThat(find(lines, first, second, 9)).isEqualTo(-1);
    assertThat(find(lines, second, first, 9)).isEqualTo(-1);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 16, 256})
  void find_sameTagInTheLineBehind_isAnotherKey(int count) {
    SlotArray lines = new SlotArray(count);
    long tag = tag(1, 0, count, 7); // of the keys of line 1, and of those of line 0
    SlotArray.unlock(lines.slots, LONGS, LIVE);
    lines.slots[LONGS] = tag;
    assertThat(SlotArray.find(lines.slots, tag, place(1, count))).isEqualTo(LONGS);
    assertThat(SlotArray.find(lines.slots, tag, place(0, count))).as("its other").isEqualTo(LONGS);
    long others = tag(0, 0, count, 7);
    lines.slots[LONGS] = others;
    assertThat(SlotArray.find(lines.slots, others, place(0, count))).isEqualTo(-1);
  }

  @Test
  void find_inNoLines_isNothing() {
    assertThat(SlotArray.find(SlotArray.NONE.slots, 1, 0)).isEqualTo(-1);
    assertThat(SlotArray.NONE.claim(1, 0, NOW, bucketCount)).isEqualTo(-1);
    assertThat(SlotArray.touch(SlotArray.NONE.slots, 1, 0)).isZero();
  }

  @Test
  void touch_readsBothEndsOfBothLines() {
    long[] slots = new long[4 * LONGS];
    Arrays.setAll(slots, at -> 1L << at); // the sum says which were read
    assertThat(SlotArray.touch(slots, tag(1, 3, 4, 1), place(1, 4)))
        .isEqualTo(1L << 8 | 1L << 15 | 1L << 24 | 1L << 31);
  }

  @Test
  void linesFor_aLoadOfFourFifths_withinTheirBounds() {
    assertThat(SlotArray.linesFor(-5)).isEqualTo(1);
    assertThat(SlotArray.linesFor(0)).isEqualTo(1);
    assertThat(SlotArray.linesFor(3)).isEqualTo(1);
    assertThat(SlotArray.linesFor(4)).isEqualTo(2);
    assertThat(SlotArray.linesFor(16)).isEqualTo(5);
    assertThat(SlotArray.linesFor(17)).isEqualTo(6);
    assertThat(SlotArray.linesFor(Integer.MAX_VALUE)).isEqualTo(1 << 16);
    assertThat(SlotArray.mostLinesFor(1)).isEqualTo(64);
    assertThat(SlotArray.mostLinesFor(25)).isEqualTo(64);
    assertThat(SlotArray.mostLinesFor(26)).isEqualTo(72);
  }

  /** A segment has at most 256 entries, so eight bits tell them apart wherever they begin. */
  @ParameterizedTest
  @ValueSource(ints = {0, 16, 200, 256, 768})
  void entry_ofWhatIsKept_isThatOfThePlace(int firstEntry) {
    long notKept = 0x0012_3456_789a_0000L;
    for (int entry = firstEntry; entry < firstEntry + 256; entry++) {
      int kept = SlotArray.kept(Directory.place(entry, 0xabcd) | notKept);
      assertThat(SlotArray.entry(kept, firstEntry)).isEqualTo(entry);
      assertThat(kept & 0xffff).isEqualTo(0xabcd);
      assertThat(kept >>> 24).isZero();
    }
  }

  @Test
  void claim_slotOfADeadBucket_isGivenAndCountedOnce() {
    SlotArray lines = new SlotArray(1);
    for (int number = 1; number <= 4; number++) {
      assertThat(add(lines, 0, 0, number, NOW + 1)).isEqualTo(2 * number - 2);
    }
    SlotArray.unlock(lines.slots, 4, NOW);
    assertThat(add(lines, 0, 0, 5, LIVE)).as("the dead one's").isEqualTo(4);
    assertThat(find(lines, 0, 0, 3)).isEqualTo(-1);
    assertThat(find(lines, 0, 0, 5)).isEqualTo(4);
    assertThat(add(lines, 0, 0, 6, LIVE)).isEqualTo(-1);
    assertThat(lines.refused()).isFalse();
    assertThat(lines.tagged()).isEqualTo(4);
    assertThat(bucketCount.tagged()).isEqualTo(4);
  }

  @Test
  void claim_isLocked_untilItsTatIsWritten() {
    SlotArray lines = new SlotArray(1);
    assertThat(lines.claim(9, 0, NOW, bucketCount)).isZero();
    assertThat(SlotArray.tatNanos(lines.slots, 0)).isEqualTo(SlotArray.LOCKED);
    assertThat(SlotArray.tag(lines.slots, 0)).isEqualTo(9);
  }

  @Test
  void claim_overTheBound_isRefusedAndKeepsNoLock() {
    LiveBucketCount one = new LiveBucketCount(1);
    SlotArray lines = new SlotArray(2);
    assertThat(lines.claim(1, 0, NOW, one)).isZero();
    SlotArray.unlock(lines.slots, 0, LIVE);
    assertThat(lines.claim(2, 0, NOW, one)).isEqualTo(-1);
    assertThat(lines.refused()).isTrue();
    assertThat(lines.tagged()).isEqualTo(1);
    assertThat(lines.slots).containsExactly(slots(2, 1, LIVE));

    SlotArray.unlock(lines.slots, 0, NOW);
    assertThat(lines.claim(2, 0, NOW, one)).as("a dead one's slot").isZero();
    assertThat(lines.refused()).isFalse();
    assertThat(one.tagged()).isEqualTo(1);
  }

  private static long[] slots(int count, long... first) {
    return Arrays.copyOf(first, count * LONGS);
  }

  @Test
  void claim_bothLinesFull_movesABucketToItsOtherLine() {
    SlotArray lines = new SlotArray(8);
    fill(lines, 1, 0);
    fill(lines, 2, 2);
    assertThat(add(lines, 1, 2, 100, LIVE)).isEqualTo(LONGS);
    assertThat(find(lines, 1, 2, 100)).isEqualTo(LONGS);
    assertThat(find(lines, 1, 0, 1)).as("the one that moved").isZero();
    assertThat(SlotArray.tatNanos(lines.slots, 0)).isEqualTo(LIVE + 1);
    assertThat(lines.tagged()).isEqualTo(9);
    assertThat(bucketCount.tagged()).isEqualTo(9);
    assertThat(lines.live(0, NOW)).startsWith(place(1, 8), tag(1, 0, 8, 1), LIVE + 1);
  }

  @Test
  void claim_otherLinesFullToo_movesTwoBuckets() {
    SlotArray lines = new SlotArray(8);
    fill(lines, 1, 1); // these have no other line
    fill(lines, 2, 3);
    fill(lines, 3, 4);
    assertThat(add(lines, 1, 2, 100, LIVE)).isEqualTo(2 * LONGS);
    assertThat(find(lines, 2, 3, 5)).isEqualTo(3 * LONGS);
    assertThat(find(lines, 3, 4, 9)).isEqualTo(4 * LONGS);
    assertThat(SlotArray.tatNanos(lines.slots, 3 * LONGS)).isEqualTo(LIVE + 5);
    assertThat(SlotArray.tatNanos(lines.slots, 4 * LONGS)).isEqualTo(LIVE + 9);
    assertThat(lines.tagged()).isEqualTo(13);
  }

  @Test
  void claim_onlyThreeMovesWouldDo_changesNothing() {
    SlotArray lines = new SlotArray(8);
    fill(lines, 1, 1);
    fill(lines, 2, 3);
    fill(lines, 3, 4);
    fill(lines, 4, 5);
    long[] before = lines.slots.clone();
    assertThat(add(lines, 1, 2, 100, LIVE)).isEqualTo(-1);
    assertThat(lines.refused()).isFalse();
    assertThat(lines.slots).containsExactly(before);
    assertThat(lines.tagged()).isEqualTo(16);
    assertThat(bucketCount.tagged()).isEqualTo(16);
  }

  /** Another thread works on them. */
  @Test
  void claim_lockedBuckets_areNotMoved() {
    SlotArray lines = new SlotArray(8);
    fill(lines, 1, 0);
    fill(lines, 2, 3);
    for (int at = LONGS; at < 2 * LONGS + 4; at += 2) {
      assertThat(SlotArray.tryLock(lines.slots, at)).isNotEqualTo(SlotArray.LOCKED);
    }
    assertThat(add(lines, 1, 2, 100, LIVE)).isEqualTo(2 * LONGS + 4);
    assertThat(find(lines, 2, 3, 7)).as("the first that is free").isEqualTo(3 * LONGS);
    assertThat(Arrays.copyOf(lines.slots, LONGS)).containsOnly(0);
    assertThat(Arrays.copyOfRange(lines.slots, 3 * LONGS, 4 * LONGS))
        .containsExactly(slots(1, tag(2, 3, 8, 7), LIVE + 7));
    assertThat(lines.tagged()).isEqualTo(9);
    assertThat(bucketCount.tagged()).isEqualTo(9);
  }

  @Test
  void clear_emptiesASlot_andCountsItWhereItIsTold() {
    SlotArray lines = new SlotArray(1);
    assertThat(add(lines, 0, 0, 1, LIVE)).isZero();
    assertThat(add(lines, 0, 0, 2, LIVE)).isEqualTo(2);
    lines.clear(0, null);
    assertThat(lines.slots).containsExactly(slots(1, 0, 0, 2, LIVE));
    assertThat(lines.tagged()).isEqualTo(1);
    assertThat(bucketCount.tagged()).isEqualTo(2);
    lines.clear(2, bucketCount);
    assertThat(lines.slots).containsOnly(0);
    assertThat(lines.tagged()).isZero();
    assertThat(bucketCount.tagged()).isEqualTo(1);
  }

  @Test
  void clearDead_emptiesTheirSlots_andTellsTheNextDeath() {
    SlotArray lines = new SlotArray(2);
    long[] tatsNanos = {NOW, Long.MIN_VALUE, NOW + 3, NOW - 1, NOW + 5};
    for (int i = 0; i < tatsNanos.length; i++) {
      assertThat(add(lines, 0, 1, 1 + i, LIVE)).isEqualTo(2 * i);
    }
    for (int i = 0; i < tatsNanos.length; i++) {
      SlotArray.unlock(lines.slots, 2 * i, tatsNanos[i]);
    }
    assertThat(lines.clearDead(NOW, bucketCount)).isEqualTo(NOW + 3);
    assertThat(lines.tagged()).isEqualTo(3);
    assertThat(bucketCount.tagged()).isEqualTo(3);
    assertThat(find(lines, 0, 1, 1)).isEqualTo(-1);
    assertThat(find(lines, 0, 1, 3)).isEqualTo(4);
    assertThat(find(lines, 0, 1, 4)).isEqualTo(-1);
    assertThat(lines.clearDead(NOW + 3, bucketCount)).isEqualTo(NOW + 5);
    assertThat(SlotArray.tryLock(lines.slots, 2)).isEqualTo(Long.MIN_VALUE);
    assertThat(lines.clearDead(NOW + 4, bucketCount)).isEqualTo(EarliestExpiry.UNKNOWN);
    SlotArray.unlock(lines.slots, 2, NOW);
    assertThat(lines.clearDead(NOW + 5, bucketCount)).as("never").isEqualTo(-1L);
    assertThat(lines.slots).containsOnly(0);
  }

  @Test
  void tryLock_besideAnotherThread_changesNothing() {
    SlotArray lines = new SlotArray(1);
    assertThat(add(lines, 0, 0, 1, LIVE)).isZero();
    assertThat(SlotArray.tryLock(lines.slots, 0)).isEqualTo(LIVE);
    assertThat(SlotArray.tryLock(lines.slots, 0)).isEqualTo(SlotArray.LOCKED);
    assertThat(lines.slots).containsExactly(slots(1, 1, SlotArray.LOCKED));
    SlotArray.unlock(lines.slots, 0, LIVE + 1);
    assertThat(SlotArray.tatNanos(lines.slots, 0)).isEqualTo(LIVE + 1);
  }

  @Test
  void replace_onlyWhatWasSeen() {
    SlotArray lines = new SlotArray(1);
    assertThat(add(lines, 0, 0, 1, LIVE)).isZero();
    assertThat(SlotArray.replace(lines.slots, 0, 1, LIVE - 1, LIVE + 5)).isFalse();
    assertThat(lines.slots).containsExactly(slots(1, 1, LIVE));
    assertThat(SlotArray.replace(lines.slots, 0, 2, LIVE, LIVE + 5)).as("a new tenant").isFalse();
    assertThat(lines.slots).containsExactly(slots(1, 1, LIVE));
    assertThat(SlotArray.replace(lines.slots, 0, 1, LIVE, LIVE + 5)).isTrue();
    assertThat(lines.slots).containsExactly(slots(1, 1, LIVE + 5));
  }

  @Test
  void tryLockAll_besideALockedSlot_isTakenBack() {
    SlotArray lines = new SlotArray(1);
    for (int number = 1; number <= 3; number++) {
      assertThat(add(lines, 0, 0, number, LIVE + number)).isEqualTo(2 * number - 2);
    }
    assertThat(SlotArray.tryLock(lines.slots, 2)).isEqualTo(LIVE + 2);
    long[] found = new long[4];
    assertThat(lines.tryLockAll(found)).isFalse();
    assertThat(lines.slots)
        .containsExactly(slots(1, 1, LIVE + 1, 2, SlotArray.LOCKED, 3, LIVE + 3));
    SlotArray.unlock(lines.slots, 2, LIVE + 9);
    assertThat(lines.tryLockAll(found)).isTrue();
    assertThat(found).containsExactly(LIVE + 1, LIVE + 9, LIVE + 3, 0);
    assertThat(lines.slots).containsExactly(1, -1, 2, -1, 3, -1, 0, -1);
    lines.unlockAll(found);
    assertThat(lines.slots).containsExactly(slots(1, 1, LIVE + 1, 2, LIVE + 9, 3, LIVE + 3));
  }

  @Test
  void countLive_countsNeitherTheDeadNorEmptySlots() {
    SlotArray lines = new SlotArray(1);
    assertThat(lines.countLive(NOW)).isZero();
    assertThat(add(lines, 0, 0, 1, LIVE)).isZero();
    assertThat(add(lines, 0, 0, 2, NOW + 1)).isEqualTo(2);
    assertThat(lines.countLive(NOW)).isEqualTo(2);
    SlotArray.unlock(lines.slots, 0, NOW);
    assertThat(lines.countLive(NOW)).isEqualTo(1);
    assertThat(SlotArray.tryLock(lines.slots, 2)).isEqualTo(NOW + 1);
    assertThat(lines.countLive(NOW)).as("who works on it will leave it live").isEqualTo(1);
    assertThat(SlotArray.tryLock(lines.slots, 6)).as("an empty one").isZero();
    assertThat(lines.countLive(NOW)).isEqualTo(1);
  }

  @Test
  void live_areWholePlacesTagsAndTats() {
    SlotArray lines = new SlotArray(4);
    long[] places = {Directory.place(1023, 0xf1a2), Directory.place(768, 0x00ff)};
    for (int i = 0; i < places.length; i++) {
      int at = lines.claim(77 + i, SlotArray.kept(places[i]), NOW, bucketCount);
      SlotArray.unlock(lines.slots, at, LIVE + i);
    }
    int dead = lines.claim(99, 0, NOW, bucketCount);
    SlotArray.unlock(lines.slots, dead, NOW);
    assertThat(lines.live(768, NOW)).containsExactly(places[1], 78, LIVE + 1, places[0], 77, LIVE);
    assertThat(SlotArray.tryLock(lines.slots, 6)).as("another thread's").isZero();
    assertThat(lines.live(768, NOW)).isNull();
  }

  /** Half of a segment's entries: the others' buckets stay away, and so do the dead. */
  @Test
  void copy_ofAPart_hasItsLiveBuckets() {
    Segment part = new Segment(bucketCount, new Directory(bucketCount, 1), 1, 8, 8);
    SlotArray lines = new SlotArray(2);
    for (int entry = 7; entry <= 9; entry++) {
      int at = lines.claim(entry, SlotArray.kept(Directory.place(entry, 0)), NOW, bucketCount);
      SlotArray.unlock(lines.slots, at, LIVE + entry);
    }
    int dead = lines.claim(10, SlotArray.kept(Directory.place(8, 0)), NOW, bucketCount);
    SlotArray.unlock(lines.slots, dead, NOW);
    long[] found = new long[8];
    assertThat(lines.tryLockAll(found)).isTrue();
    assertThat(lines.countLive(found, NOW, part)).isEqualTo(2);
    SlotArray copy = lines.copy(found, 1, NOW, part);
    assertThat(copy).isNotNull();
    assertThat(copy.slots).containsExactly(slots(1, 8, LIVE + 8, 9, LIVE + 9));
    assertThat(copy.tagged()).isEqualTo(2);
    assertThat(bucketCount.tagged()).as("the caller counts").isEqualTo(4);
    assertThat(copy.live(8, NOW))
        .containsExactly(Directory.place(8, 0), 8, LIVE + 8, Directory.place(9, 0), 9, LIVE + 9);
  }

  @Test
  void copy_thatDoesNotFit_isNone() {
    Segment all = new Segment(bucketCount, new Directory(bucketCount, 1), 1, 0, 16);
    SlotArray lines = new SlotArray(2);
    for (int number = 1; number <= 5; number++) {
      assertThat(add(lines, 0, 1, number, LIVE)).isEqualTo(2 * number - 2);
    }
    long[] found = new long[8];
    assertThat(lines.tryLockAll(found)).isTrue();
    assertThat(lines.copy(found, 1, NOW, all)).isNull();
  }
}
