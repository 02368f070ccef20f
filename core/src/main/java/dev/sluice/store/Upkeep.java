// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.store.Census.Room;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What a table does beside deciding: it forgets buckets that have filled up, a segment now and then
 * or all where the bound is reached. Callers do it; there is no thread.
 *
 * <p>Thread-safe.
 */
final class Upkeep {

  private static final long TIDY_EVERY_NANOS = 1_000_000;
  private static final long TIDY_NANOS_PER_LONG = 50; // going through it takes about 1: 2 % at most

  private final Directory directory;
  private final Census census;
  private final long keptNanos;
  private final @Nullable SteppingTime stepping;
  private final FirstDeath firstDeath = new FirstDeath();
  private final ReentrantLock makingRoom = new ReentrantLock();
  private final AtomicLong tidiedNanos = new AtomicLong();
  private final AtomicInteger toTidy = new AtomicInteger();
  private volatile long tidyEveryNanos = TIDY_EVERY_NANOS;

  /**
   * The upkeep of a table.
   *
   * @param time its clock
   * @param keptNanos how long a full bucket is kept at least
   */
  Upkeep(Directory directory, Census census, TimeSource time, long keptNanos) {
    this.directory = directory;
    this.census = census;
    this.keptNanos = keptNanos;
    this.stepping = time instanceof SteppingTime its ? its : null;
  }

  /**
   * The instant by which a bucket must have been full to be forgotten now. A step back of the clock
   * does not move it back: which buckets were tidied before depends on the hash. That must not
   * decide whether the table is full.
   */
  long fullNanos(long nowNanos) {
    long latestNanos = stepping == null ? nowNanos : stepping.latestNanos();
    return Math.max(latestNanos - keptNanos, 0);
  }

  /**
   * Takes down that a bucket dies at an instant that may be earlier than those known: that of a
   * bucket that is new, or an earlier one than before. The caller has locked the bucket's slot, or
   * its segment, and unlocks it afterwards: nobody sees the bucket before the table knows when it
   * dies. Else a caller could see it dead, and be told that the table is full.
   */
  void diesAt(long place, long tatNanos) {
    directory.segment(Directory.entryOf(place)).firstDeath().tell(tatNanos);
    firstDeath.tell(tatNanos);
  }

  /** Called after each decision that wrote. The caller has no slot locked. */
  void now(long nowNanos) {
    long sinceNanos = nowNanos - tidiedNanos.getPlain();
    if (sinceNanos >= tidyEveryNanos || sinceNanos < 0) {
      tidy(nowNanos);
    }
  }

  /** A little upkeep by one caller now and then: one segment of all, in turn. */
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
        // The caller has its decision; upkeep can wait.
      } finally {
        tidyEveryNanos = Math.max(TIDY_EVERY_NANOS, TIDY_NANOS_PER_LONG * segment.slots().length);
        segment.unlock();
      }
    }
  }

  /**
   * Sees to room: empties slots of buckets that have filled up, unless another caller just did. The
   * caller holds no lock.
   *
   * <p>One at a time: a caller that sees a first death while it is being recomputed would refuse
   * though there is room.
   *
   * @param slots how many the caller is short of, all in all
   * @throws StoreException if there is none: the table is full
   */
  void makeRoom(int slots, long nowNanos) {
    long fullNanos = fullNanos(nowNanos);
    for (int spins = 0; ; spins = Spin.once(spins)) {
      makingRoom.lock();
      try {
        Room room = census.roomFor(slots);
        if (room == Room.NONE && firstDeath.mayBeBy(fullNanos)) {
          room = look(fullNanos);
        }
        if (room == Room.NONE) { // others may have freed or reserved some since it was asked
          room = census.roomFor(slots);
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
            .formatted(census.bound()));
  }

  /** Looks for the dead, up to the first segment that has some; passes by those that are locked. */
  private Room look(long fullNanos) {
    Room room = Room.NONE;
    firstDeath.startOver();
    for (int entry = 0; entry < Directory.ENTRIES; ) {
      Segment segment = directory.segment(entry);
      long version = segment.version();
      long diesNanos = segment.firstDeath().nanos();
      if (room != Room.FOUND && Lines.isDead(diesNanos, fullNanos)) {
        room = clear(segment, fullNanos, room);
      } else if (segment.isStill(version)) {
        firstDeath.tell(diesNanos);
      } else { // it may be finding out
        firstDeath.tell(FirstDeath.UNKNOWN);
        room = room == Room.FOUND ? room : Room.UNSETTLED;
      }
      entry = segment.endEntry();
    }
    // One may have died in a segment that was passed, before the one ahead came to life again.
    boolean mayHaveDied = room == Room.NONE && firstDeath.mayBeBy(fullNanos);
    return mayHaveDied ? Room.UNSETTLED : room;
  }

  /** Forgets the dead of a segment, and tells the table when the next one may follow. */
  private Room clear(Segment segment, long fullNanos, Room before) {
    if (!segment.tryLock()) {
      firstDeath.tell(FirstDeath.UNKNOWN);
      return Room.UNSETTLED;
    }
    try {
      boolean found = segment.clearDead(fullNanos);
      // While it is locked: the next one that locks it may be finding out.
      firstDeath.tell(segment.firstDeath().nanos());
      if (found) {
        return Room.FOUND;
      }
      boolean kept = segment.firstDeath().mayBeBy(fullNanos); // another thread keeps a slot
      return kept ? Room.UNSETTLED : before;
    } finally {
      segment.unlock();
    }
  }
}
