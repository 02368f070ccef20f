// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts the tagged slots of the whole table, and enforces the bound on live buckets.
 *
 * <p>A tagged slot holds a live bucket, or a full one that was not cleared yet; so the count is
 * never below the number of live buckets. It changes only when an empty slot is tagged or a tag is
 * cleared: a table in steady use does not write it.
 *
 * <p>A batch reserves all slots that it may need before it claims the first one, and later returns
 * those it did not use. While a reservation is open, no caller is refused because the table is
 * full, since slots may be returned. A batch settles without waiting for other threads.
 *
 * <p>Thread-safe and lock-free.
 */
final class LiveBucketCount {

  /** Whether more slots may be tagged. */
  enum Room {
    /** There is room. */
    FOUND,
    /** A reservation is about to be settled: ask again. */
    UNSETTLED,
    /** More slots would exceed the bound. */
    NONE
  }

  private static final int RESERVED_SHIFT = 32;
  private static final long TAGGED = (1L << RESERVED_SHIFT) - 1;

  private final long bound;

  /** Reserved slots in the upper half; tagged and reserved ones in the lower half. */
  private final AtomicLong counts = new AtomicLong();

  LiveBucketCount(long bound) {
    this.bound = bound;
  }

  long bound() {
    return bound;
  }

  /** Returns the number of tagged slots, including those that batches have reserved. */
  long tagged() {
    return counts.get() & TAGGED;
  }

  Room roomFor(int slots) {
    return room(counts.get(), slots);
  }

  private Room room(long known, int slots) {
    if ((known & TAGGED) <= bound - slots) {
      return Room.FOUND;
    }
    return known >>> RESERVED_SHIFT == 0 ? Room.NONE : Room.UNSETTLED;
  }

  /** Counts another bucket, or refuses because that would exceed the bound. */
  boolean tryAdd() {
    return tryAdd(1, 1);
  }

  /** Reserves slots, all or none; {@link #settle} follows. */
  boolean tryReserve(int slots) {
    return tryAdd(slots, (long) slots << RESERVED_SHIFT | slots);
  }

  private boolean tryAdd(int slots, long added) {
    long known = counts.get();
    while (room(known, slots) == Room.FOUND) { // the count never exceeds the bound
      if (counts.compareAndSet(known, known + added)) {
        return true;
      }
      known = counts.get();
    }
    return false;
  }

  /**
   * Ends a reservation.
   *
   * @param reserved the number of reserved slots
   * @param used how many more slots are tagged now; negative if fewer are
   */
  void settle(int reserved, int used) {
    counts.addAndGet(used - reserved - ((long) reserved << RESERVED_SHIFT));
  }

  void remove(int slots) {
    counts.addAndGet(-slots);
  }
}
