// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/*
 * Few segments are few arrays: what leads to a slot stays in the processor's caches, and a small
 * table is small. Many segments stop little of the table when one of them grows. So a table starts
 * with few, and one that has become large is split into two halves (Segment.split).
 *
 * The upper ten bits of a key's place choose an entry. A segment has a run of entries, as many as a
 * power of two; its halves have half of them each. Each entry shows its segment, and again the
 * segment's slots: one read less on the way to a slot.
 *
 * Entries are replaced one after the other, under the lock of the segment that had them. A reader
 * may find some replaced and others not: the old slots are locked for good, and so is a segment
 * that was split. A thread that meets a lock comes back here.
 */

/** Which segment a key belongs to. Thread-safe. */
final class Directory {

  static final int BITS = 10;

  /** How many entries there are; no segment has less than one. */
  static final int ENTRIES = 1 << BITS;

  private static final int FIRST_SEGMENTS = 64;
  private static final VarHandle SLOTS = MethodHandles.arrayElementVarHandle(long[][].class);
  private static final VarHandle SEGMENTS = MethodHandles.arrayElementVarHandle(Segment[].class);

  private final long[][] slots = new long[ENTRIES][];
  private final Segment[] segments = new Segment[ENTRIES];

  /**
   * A directory of empty segments.
   *
   * @param mostLines a segment that needs more of them is split if it has more than one entry
   */
  Directory(Census census, int mostLines) {
    int entries = ENTRIES / FIRST_SEGMENTS;
    for (int entry = 0; entry < ENTRIES; entry += entries) {
      new Segment(census, this, mostLines, entry, entries).show();
    }
  }

  static int entryOf(long place) {
    return (int) (place >>> (Long.SIZE - BITS));
  }

  /** A place with what a table looks at of it: its entry, and the bits that choose its line. */
  static long place(int entry, int lineBits) {
    return (long) entry << (Long.SIZE - BITS) | lineBits;
  }

  /** The slots among which a key's is. */
  long[] slots(long place) {
    return (long[]) SLOTS.getAcquire(slots, entryOf(place));
  }

  Segment segment(int entry) {
    return (Segment) SEGMENTS.getAcquire(segments, entry);
  }

  /** The segment of a key, locked. The caller holds no lock. */
  Segment lock(int entry) {
    for (int spins = 0; ; spins = Spin.once(spins)) {
      Segment segment = segment(entry);
      if (segment.tryLock()) {
        return segment;
      }
    }
  }

  /** Shows a segment and its slots at all its entries. The caller has locked what was there. */
  void show(Segment segment, long[] segmentSlots) {
    for (int entry = segment.firstEntry(); entry < segment.endEntry(); entry++) {
      SEGMENTS.setRelease(segments, entry, segment);
      SLOTS.setRelease(slots, entry, segmentSlots);
    }
  }
}
