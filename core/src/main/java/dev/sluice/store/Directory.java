// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.store.BucketTable.Spin;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/*
 * With few segments, the arrays that lead to a slot stay in the processor's caches, and a small
 * table takes little memory. With many segments, only a small part of the table is blocked while
 * one segment grows. So a table starts with few segments, and splits a segment when it is large.
 *
 * The upper ten bits of a key's place determine an entry. A segment has consecutive entries, whose
 * number is a power of two; each half of a split segment gets half of the entries. Each entry
 * refers to its segment, and also to the segment's slots, which saves one read on the way to a
 * slot.
 *
 * Entries are replaced one after the other, under the lock of the old segment. A reader can see
 * some new and some old entries. Both are safe to read: the slots and the lock of a segment that
 * was split stay locked for ever. A thread that finds a slot or segment locked looks the entry up
 * again.
 */

/** Maps keys to segments. Thread-safe. */
final class Directory {

  static final int BITS = 10;

  /** The number of entries; each segment has at least one entry. */
  static final int ENTRIES = 1 << BITS;

  private static final int FIRST_SEGMENTS = 64;
  private static final VarHandle SLOTS = MethodHandles.arrayElementVarHandle(long[][].class);
  private static final VarHandle SEGMENTS = MethodHandles.arrayElementVarHandle(Segment[].class);

  private final long[][] slots = new long[ENTRIES][];
  private final Segment[] segments = new Segment[ENTRIES];

  /**
   * Creates a directory of empty segments.
   *
   * @param mostLines the largest number of lines of slots in a segment; a larger segment with
   *     several directory entries is split
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

  /** Returns the place (one half of a key's hash) with a given entry and given bits of the line. */
  static long place(int entry, int lineBits) {
    return (long) entry << (Long.SIZE - BITS) | lineBits;
  }

  long[] slots(long place) {
    return (long[]) SLOTS.getAcquire(slots, entryOf(place));
  }

  Segment segment(int entry) {
    return (Segment) SEGMENTS.getAcquire(segments, entry);
  }

  /** Locks and returns the segment of an entry. The caller must not hold any lock. */
  Segment lock(int entry) {
    for (int spins = 0; ; spins = Spin.once(spins)) {
      Segment segment = segment(entry);
      if (segment.tryLock()) {
        return segment;
      }
    }
  }

  /** Writes a new segment and its slots into the directory entries of the segment. */
  void show(Segment segment, long[] segmentSlots) {
    for (int entry = segment.firstEntry(); entry < segment.endEntry(); entry++) {
      SEGMENTS.setRelease(segments, entry, segment);
      SLOTS.setRelease(slots, entry, segmentSlots);
    }
  }
}
