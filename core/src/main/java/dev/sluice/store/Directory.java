// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/*
 * With few segments, the arrays that lead to a slot stay in the processor's caches, and a small
 * table takes little memory. With many segments, little of the table is blocked while one grows. So
 * a table starts with few segments, and a segment that has become large is split (Segment.split).
 *
 * The upper ten bits of a key's place choose an entry. A segment has a run of entries, whose length
 * is a power of two; its halves have half of the run each. Each entry refers to its segment, and
 * also to the segment's slots, which saves one read on the way to a slot.
 *
 * Entries are replaced one after the other, under the lock of the segment that had them. A reader
 * may see some replaced and others not. That is safe: the old slots stay locked for ever, and so
 * does a segment that was split. A thread that finds a lock looks the entry up again.
 */

/** Maps keys to segments. Thread-safe. */
final class Directory {

  static final int BITS = 10;

  /** Number of entries; each segment has at least one. */
  static final int ENTRIES = 1 << BITS;

  private static final int FIRST_SEGMENTS = 64;
  private static final VarHandle SLOTS = MethodHandles.arrayElementVarHandle(long[][].class);
  private static final VarHandle SEGMENTS = MethodHandles.arrayElementVarHandle(Segment[].class);

  private final long[][] slots = new long[ENTRIES][];
  private final Segment[] segments = new Segment[ENTRIES];

  /**
   * Creates a directory of empty segments.
   *
   * @param mostLines a segment of several entries that needs more lines than this is split
   */
  Directory(LiveBucketCount bucketCount, int mostLines) {
    int entries = ENTRIES / FIRST_SEGMENTS;
    for (int entry = 0; entry < ENTRIES; entry += entries) {
      new Segment(bucketCount, this, mostLines, entry, entries).show();
    }
  }

  static int entryOf(long place) {
    return (int) (place >>> (Long.SIZE - BITS));
  }

  /** Returns a place with the bits that a table uses: its entry, and the bits of its line. */
  static long place(int entry, int lineBits) {
    return (long) entry << (Long.SIZE - BITS) | lineBits;
  }

  /** Returns the slots of the segment of a key. */
  long[] slots(long place) {
    return (long[]) SLOTS.getAcquire(slots, entryOf(place));
  }

  Segment segment(int entry) {
    return (Segment) SEGMENTS.getAcquire(segments, entry);
  }

  /** Locks and returns the segment of an entry. The caller holds no lock. */
  Segment lock(int entry) {
    for (int spins = 0; ; spins = Spin.once(spins)) {
      Segment segment = segment(entry);
      if (segment.tryLock()) {
        return segment;
      }
    }
  }

  /** Publishes a segment and its slots in its entries. The caller has locked the old segment. */
  void show(Segment segment, long[] segmentSlots) {
    for (int entry = segment.firstEntry(); entry < segment.endEntry(); entry++) {
      SEGMENTS.setRelease(segments, entry, segment);
      SLOTS.setRelease(slots, entry, segmentSlots);
    }
  }
}
