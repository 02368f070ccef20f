// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How many slots bear a tag, in the whole table, and how many may: the bound on live buckets.
 *
 * <p>A tagged slot holds a live bucket or one that has filled up and was not cleared yet; so the
 * count is never below the number of live buckets. It changes only where an empty slot is tagged or
 * a tag is cleared: a table in steady use does not touch it.
 *
 * <p>A batch reserves as many slots as it may need before it claims the first one, and settles for
 * what it has used. While there is a reservation nobody is told that the table is full: part of it
 * may come back. A batch settles without waiting for anybody.
 *
 * <p>Thread-safe and lock-free.
 */
final class Census {

  /** Whether some more slots may be tagged. */
  enum Room {
    /** They may. */
    FOUND,
    /** A reservation is about to be settled: ask again. */
    UNSETTLED,
    /** They would be over the bound. */
    NONE
  }

  private static final int RESERVED_SHIFT = 32;
  private static final long TAGGED = (1L << RESERVED_SHIFT) - 1;

  private final long bound;

  /** Reserved slots in the upper half; tagged and reserved ones in the lower half. */
  private final AtomicLong counts = new AtomicLong();

  Census(long bound) {
    this.bound = bound;
  }

  long bound() {
    return bound;
  }

  /** The tagged slots, and those that a batch has reserved at this moment. */
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
    while (room(known, slots) == Room.FOUND) { // never over the bound, not even for a moment
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
   * @param reserved what was reserved
   * @param used how many more slots bear a tag now; negative where fewer do
   */
  void settle(int reserved, int used) {
    counts.addAndGet(used - reserved - ((long) reserved << RESERVED_SHIFT));
  }

  void remove(int slots) {
    counts.addAndGet(-slots);
  }
}
