// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts the tagged slots of the whole table, and enforces the bound on live buckets.
 *
 * <p>A tagged slot holds a live bucket, or a full bucket that was not cleared yet, so the count is
 * never below the number of live buckets. The count changes only when an empty slot gets a tag, or
 * a slot loses its tag, so charges of existing buckets do not write the count.
 *
 * <p>A batch reserves all slots that it may need before it claims the first slot, and later returns
 * unused slots. While a batch has reserved slots, the table is not reported as full, since the
 * batch may return slots. A batch returns unused slots without waiting for other threads.
 *
 * <p>Thread-safe and lock-free.
 */
final class LiveBucketCount {

  /** Whether the bound on live buckets allows more tagged slots. */
  enum Room {
    /** The bound on live buckets allows more tagged slots. */
    FOUND,
    /** A batch may return reserved slots soon, so the caller must try again. */
    UNSETTLED,
    /** More tagged slots would exceed the bound on live buckets. */
    NONE
  }

  private static final int RESERVED_SHIFT = 32;
  private static final long TAGGED = (1L << RESERVED_SHIFT) - 1;

  private final long bound;

  /** The upper 32 bits count reserved slots; the lower 32 bits count tagged and reserved slots. */
  private final AtomicLong counts = new AtomicLong();

  LiveBucketCount(long bound) {
    this.bound = bound;
  }

  long bound() {
    return bound;
  }

  /** Returns the number of tagged slots plus the number of slots that batches have reserved. */
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

  /** Counts one more bucket; returns false if the count has reached the bound. */
  boolean tryAdd() {
    return tryAdd(1, 1);
  }

  /**
   * Reserves slots until the caller calls {@link #settle}; returns false if the slots would exceed
   * the bound.
   */
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
   * Ends a reservation of slots: the unused slots no longer count.
   *
   * @param reserved the number of reserved slots
   * @param used the change of the number of tagged slots, possibly negative
   */
  void settle(int reserved, int used) {
    counts.addAndGet(used - reserved - ((long) reserved << RESERVED_SHIFT));
  }

  void remove(int slots) {
    counts.addAndGet(-slots);
  }
}
