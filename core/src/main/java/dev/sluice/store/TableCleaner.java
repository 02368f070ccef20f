// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.store.BucketTable.Spin;
import dev.sluice.store.BucketTable.UnchargedException;
import dev.sluice.store.LiveBucketCount.Room;
import dev.sluice.store.MemoryStore.SteppingTime;
import dev.sluice.store.SlotArray.EarliestExpiry;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Removes full ("dead") buckets from a table: now and then from one segment, and from all segments
 * when the table's bound is reached. The threads that charge buckets remove full buckets.
 */
final class TableCleaner {

  private static final long TIDY_EVERY_NANOS = 1_000_000;
  // Tidying a segment takes about 1 ns per long. The next segment is tidied at least 50 ns per long
  // later, so tidying takes at most 2 % of the time.
  private static final long TIDY_NANOS_PER_LONG = 50;

  private final Directory directory;
  private final LiveBucketCount bucketCount;
  private final long keptNanos;
  private final @Nullable SteppingTime stepping;
  private final EarliestExpiry earliestExpiry = new EarliestExpiry();
  private final ReentrantLock makingRoom = new ReentrantLock();
  private final AtomicLong tidiedNanos = new AtomicLong();
  private final AtomicInteger toTidy = new AtomicInteger();
  private volatile long tidyEveryNanos = TIDY_EVERY_NANOS;

  /**
   * Creates the cleaner of a table.
   *
   * @param time the table's clock
   * @param keptNanos the shortest time for which a full bucket is kept
   */
  TableCleaner(Directory directory, LiveBucketCount bucketCount, TimeSource time, long keptNanos) {
    this.directory = directory;
    this.bucketCount = bucketCount;
    this.keptNanos = keptNanos;
    this.stepping = time instanceof SteppingTime its ? its : null;
  }

  /**
   * Returns an instant: buckets that were full at this instant can be removed now. For a clock that
   * is declared to step back, the returned instant never decreases. If the returned instant
   * decreased, the random hash key would influence which charges are refused because the table is
   * full.
   */
  long fullNanos(long nowNanos) {
    long latestNanos = stepping == null ? nowNanos : stepping.latestNanos();
    return Math.max(latestNanos - keptNanos, 0);
  }

  /**
   * Records the instant at which a bucket becomes full ("dies"), for a new bucket, or for a bucket
   * that now dies earlier. The caller holds the lock of the bucket's slot or segment, so that no
   * thread sees the bucket before this method has recorded when it becomes full. Without the lock,
   * a caller could get a "store full" error although a full bucket can be removed.
   */
  void diesAt(long place, long tatNanos) {
    directory.segment(Directory.entryOf(place)).earliestExpiry().tell(tatNanos);
    earliestExpiry.tell(tatNanos);
  }

  /** Called after each decision that changed a TAT. The caller must not hold any slot's lock. */
  void now(long nowNanos) {
    long sinceNanos = nowNanos - tidiedNanos.getPlain();
    if (sinceNanos >= tidyEveryNanos || sinceNanos < 0) {
      tidy(nowNanos);
    }
  }

  /**
   * Removes full buckets from the next segment, unless another caller has just started to do so.
   */
  private void tidy(long nowNanos) {
    long thenNanos = tidiedNanos.get();
    if (!tidiedNanos.compareAndSet(thenNanos, nowNanos)) {
      return;
    }
    Segment segment = directory.segment(toTidy.get());
    toTidy.set(segment.endEntry() % Directory.ENTRIES);
    if (segment.tryLock()) {
      try {
        segment.tidy(fullNanos(nowNanos));
      } catch (OutOfMemoryError e) {
        // Ignored: the caller's decision is made already, and a later call can tidy this segment.
      } finally {
        tidyEveryNanos = Math.max(TIDY_EVERY_NANOS, TIDY_NANOS_PER_LONG * segment.slots().length);
        segment.unlock();
      }
    }
  }

  /**
   * Makes room by emptying slots of full buckets, unless another caller has just made room. The
   * caller must not hold any lock.
   *
   * <p>Only one caller at a time empties slots to make room. While one caller recomputes when the
   * next bucket becomes full, a second caller could read a time that is too late, and report a full
   * table although the table has room.
   *
   * @param slots the total number of slots that the caller needs
   * @throws StoreException if the table is full
   */
  void makeRoom(int slots, long nowNanos) {
    long fullNanos = fullNanos(nowNanos);
    for (int spins = 0; ; spins = Spin.once(spins)) {
      makingRoom.lock();
      try {
        Room room = bucketCount.roomFor(slots);
        if (room == Room.NONE && earliestExpiry.mayBeBy(fullNanos)) {
          room = look(fullNanos);
        }
        if (room == Room.NONE) { // other threads may have freed slots since the first check
          room = bucketCount.roomFor(slots);
        }
        if (room == Room.NONE) {
          throw full();
        }
        if (room == Room.FOUND) {
          return;
        }
      } finally {
        makingRoom.unlock();
      }
    }
  }

  StoreException full() {
    return new UnchargedException(
        "memory store full: %s live buckets; raise maxBuckets or the heap"
            .formatted(bucketCount.bound()));
  }

  /** Removes the full buckets of the first segment that has full buckets; skips locked segments. */
  private Room look(long fullNanos) {
    Room room = Room.NONE;
    earliestExpiry.startOver();
    for (int entry = 0; entry < Directory.ENTRIES; ) {
      Segment segment = directory.segment(entry);
      long version = segment.version();
      long diesNanos = segment.earliestExpiry().nanos();
      if (room != Room.FOUND && SlotArray.isDead(diesNanos, fullNanos)) {
        room = clear(segment, fullNanos, room);
      } else if (segment.isStill(version)) {
        earliestExpiry.tell(diesNanos);
      } else { // another thread can be changing the segment's earliest expiry
        earliestExpiry.tell(EarliestExpiry.UNKNOWN);
        room = room == Room.FOUND ? room : Room.UNSETTLED;
      }
      entry = segment.endEntry();
    }
    // A bucket may have become full after this method read the bucket's segment.
    boolean mayHaveDied = room == Room.NONE && earliestExpiry.mayBeBy(fullNanos);
    return mayHaveDied ? Room.UNSETTLED : room;
  }

  /**
   * Removes the full buckets of a segment, and records when the segment's next bucket becomes full.
   */
  private Room clear(Segment segment, long fullNanos, Room before) {
    if (!segment.tryLock()) {
      earliestExpiry.tell(EarliestExpiry.UNKNOWN);
      return Room.UNSETTLED;
    }
    try {
      boolean found = segment.clearDead(fullNanos);
      // The segment is still locked here: otherwise, another thread could change the segment's
      // earliest expiry.
      earliestExpiry.tell(segment.earliestExpiry().nanos());
      if (found) {
        return Room.FOUND;
      }
      // If another thread holds the slot's lock, the full bucket is still in the slot.
      boolean kept = segment.earliestExpiry().mayBeBy(fullNanos);
      return kept ? Room.UNSETTLED : before;
    } finally {
      segment.unlock();
    }
  }
}
