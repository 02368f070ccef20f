// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.store.SlotArray.EarliestExpiry;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/*
 * The locking protocol, and why it prevents races.
 *
 * There are two locks. A slot is locked by replacing its TAT by LOCKED; the holder can write the
 * slot's TAT. The segment is locked by making its version odd; the holder can change which slot
 * belongs to which key, if it also holds the locks of these slots. So
 *
 *   - a thread that holds a slot's lock and finds the key's tag in the slot has the only slot of
 *     this key: a tag does not change while its slot is locked, and a key has one slot. The tag
 *     must be read after locking, since the replaced TAT can by chance equal the TAT of the slot's
 *     next key.
 *   - a thread that holds the segment's lock and does not find a key knows that the key has no
 *     slot: slots are assigned only under the segment's lock.
 *   - a thread that holds no lock, reads version, tag, TAT and version again, and finds the version
 *     even and unchanged, has read the TAT of this key: no slot has changed its key in between. So
 *     a denial, a check and the reading of an absent bucket write nothing.
 *
 * A full bucket need not be removed: its slot counts as free from then on. If the slot's key is
 * charged again while the slot is assigned to another key, both threads try to lock the slot first.
 * The thread that does not get the lock searches again.
 *
 * Rebuilding gives a segment more lines, fewer lines, or the same lines without dead buckets. A
 * rebuild locks all slots of the old lines for good, copies the slots, and publishes the new lines.
 * A thread that finds a slot locked looks the key up again at each attempt, and so finds the new
 * lines. Splitting does the same with the segment: the old segment stays locked for good, and two
 * new segments are published in its place, locked until both are visible. So a thread that has
 * locked the segment in a key's directory entry has the only segment of this key. Rebuilding or
 * splitting blocks one segment while it is copied.
 *
 * No thread waits while it holds a lock. A thread tries to take the next lock a bounded number of
 * times; if that fails, it releases all its locks, waits, and starts again. So a thread that holds
 * a lock never depends on another thread. A scheduler that runs only waiting threads, as the
 * scheduler of virtual threads may do, therefore causes no deadlock. Segments are locked in
 * ascending order: among threads that wait for each other, the thread with the highest segment
 * makes progress.
 */

/** A part of the table of buckets. The lock of a segment guards which slot belongs to which key. */
final class Segment {

  private static final VarHandle VERSION;

  static {
    try {
      VERSION = MethodHandles.lookup().findVarHandle(Segment.class, "version", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final LiveBucketCount bucketCount;
  private final Directory directory;
  private final int mostLines;
  private final int firstEntry;
  private final int entries;
  private final EarliestExpiry earliestExpiry = new EarliestExpiry();
  private SlotArray lines = SlotArray.NONE;
  private boolean replaced; // whether this segment was split

  private long version;

  /**
   * Creates a segment that has no lines of slots and is not in the directory yet.
   *
   * @param mostLines the largest number of lines of slots; a larger segment with several directory
   *     entries is split
   * @param firstEntry the segment's first entry in the directory
   * @param entries the number of directory entries, a power of two
   */
  Segment(
      LiveBucketCount bucketCount,
      Directory directory,
      int mostLines,
      int firstEntry,
      int entries) {
    this.bucketCount = bucketCount;
    this.directory = directory;
    this.mostLines = mostLines;
    this.firstEntry = firstEntry;
    this.entries = entries;
  }

  int firstEntry() {
    return firstEntry;
  }

  /** Returns the directory entry after the segment's last entry. */
  int endEntry() {
    return firstEntry + entries;
  }

  void show() {
    directory.show(this, lines.slots);
  }

  long version() {
    return (long) VERSION.getAcquire(this);
  }

  /** Returns whether every slot still has the key that it had at {@code thenVersion}. */
  boolean isStill(long thenVersion) {
    return (thenVersion & 1) == 0 && version() == thenVersion;
  }

  EarliestExpiry earliestExpiry() {
    return earliestExpiry;
  }

  /** Takes the lock if no thread holds it; always returns false after the segment was split. */
  boolean tryLock() {
    long seen = version();
    return (seen & 1) == 0 && VERSION.compareAndSet(this, seen, seen + 1);
  }

  void unlock() {
    if (!replaced) {
      VERSION.setRelease(this, version + 1);
    }
  }

  // The following methods require that the caller holds the lock.

  long[] slots() {
    return lines.slots;
  }

  /**
   * Finds a slot for a new key, sets the slot's tag to the key's tag, and leaves the slot locked.
   *
   * @param fullNanos buckets that were full at this instant may be removed to free a slot
   * @return the slot's index in {@link #slots}, -1 if no slot was found
   */
  int claim(long tag, long place, long fullNanos) {
    return lines.claim(tag, SlotArray.kept(place), fullNanos, bucketCount);
  }

  /**
   * Claims a slot like {@link #claim}, for a batch that has already reserved its slots in the count
   * of buckets.
   */
  int claimReserved(long tag, long place, long fullNanos) {
    return lines.claim(tag, SlotArray.kept(place), fullNanos, null);
  }

  /** Empties a locked slot that {@link #claimReserved} returned. */
  void releaseReserved(int at) {
    lines.clear(at, null);
  }

  int tagged() {
    return lines.tagged();
  }

  /** Returns whether the last {@link #claim} failed because of the bound on live buckets. */
  boolean isRefused() {
    return lines.refused();
  }

  /** The result of an attempt to make room in a segment. */
  enum Growth {
    /** The segment was rebuilt or split, and now has more room. */
    DONE,
    /** Another thread holds a slot's lock: release the segment, wait, and try again. */
    BUSY,
    /** The keys were chosen to collide, so no table is large enough for them. */
    CROWDED
  }

  /**
   * Makes room for more buckets. The caller must not hold a slot's lock. This method may split the
   * segment, so after the call, the caller must unlock the segment and look up the key again.
   */
  Growth grow(int buckets, long fullNanos) {
    int live = lines.countLive(fullNanos);
    boolean crowded = live == lines.tagged(); // no bucket is dead, so none can be removed
    int more = crowded ? enlarged(lines.count()) : 0;
    int least = Math.max(more, SlotArray.linesFor(live + buckets));
    return least > mostLines && entries > 1
        ? split(buckets, fullNanos)
        : rebuild(least, SlotArray.mostLinesFor(live + buckets), fullNanos);
  }

  /**
   * Empties the slots of full buckets, and frees unneeded lines of slots if less than half of the
   * lines are needed.
   */
  void tidy(long fullNanos) {
    if (!earliestExpiry.mayBeBy(fullNanos)) {
      return;
    }
    clearDead(fullNanos);
    int enough = SlotArray.linesFor(lines.tagged());
    if (lines.count() > 2 * enough) {
      // If the memory does not suffice to rebuild the lines, a later call tries again.
      rebuild(enough, lines.count(), fullNanos);
    }
  }

  /** Empties the slots of full buckets, and returns whether there were any full buckets. */
  @CanIgnoreReturnValue
  boolean clearDead(long fullNanos) {
    int before = lines.tagged();
    earliestExpiry.startOver();
    earliestExpiry.tell(lines.clearDead(fullNanos, bucketCount));
    return lines.tagged() < before;
  }

  /**
   * Returns the key's hash (place and tag) and the TAT of each live bucket; null if a slot is
   * locked.
   */
  long @Nullable [] live(long nowNanos) {
    return lines.live(firstEntry, nowNanos);
  }

  private static int enlarged(int lines) {
    return lines + 1 + lines / 8;
  }

  @CanIgnoreReturnValue
  private Growth rebuild(int atLeast, int most, long fullNanos) {
    return withLockedSlots(
        tatsNanos -> {
          SlotArray fresh = copy(tatsNanos, atLeast, most, fullNanos, this);
          if (fresh == null) {
            return false;
          }
          bucketCount.remove(lines.tagged() - fresh.tagged());
          lines = fresh;
          show();
          return true;
        });
  }

  /** Splits this segment into two segments, each with room for more buckets. */
  private Growth split(int buckets, long fullNanos) {
    return withLockedSlots(
        tatsNanos -> {
          Segment lower = half(firstEntry, tatsNanos, buckets, fullNanos);
          Segment upper = half(firstEntry + entries / 2, tatsNanos, buckets, fullNanos);
          if (lower == null || upper == null) {
            return false;
          }
          replaced = true;
          bucketCount.remove(lines.tagged() - lower.lines.tagged() - upper.lines.tagged());
          lower.earliestExpiry.tell(earliestExpiry.nanos());
          upper.earliestExpiry.tell(earliestExpiry.nanos());
          lower.show();
          upper.show();
          lower.unlock();
          upper.unlock();
          return true;
        });
  }

  /**
   * Locks all slots, and unlocks them if {@code replacing} returns false or throws.
   *
   * @param replacing a function that receives the slots' TATs, and returns false if it keeps the
   *     slots
   */
  private Growth withLockedSlots(Predicate<long[]> replacing) {
    SlotArray old = lines;
    long[] tatsNanos = new long[old.slots.length / 2];
    if (!old.tryLockAll(tatsNanos)) {
      return Growth.BUSY;
    }
    boolean done = false;
    try {
      done = replacing.test(tatsNanos);
      return done ? Growth.DONE : Growth.CROWDED;
    } finally {
      if (!done) { // too crowded, or no memory: the old array stays in use
        old.unlockAll(tatsNanos);
      }
    }
  }

  /** Returns a new, locked segment with half of the entries; null if too many keys collide. */
  private @Nullable Segment half(int first, long[] tatsNanos, int buckets, long fullNanos) {
    Segment half = new Segment(bucketCount, directory, mostLines, first, entries / 2);
    half.version = 1;
    int live = lines.countLive(tatsNanos, fullNanos, half);
    int least = SlotArray.linesFor(live + buckets);
    SlotArray fresh =
        copy(tatsNanos, least, SlotArray.mostLinesFor(live + buckets), fullNanos, half);
    if (fresh == null) {
      return null;
    }
    half.lines = fresh;
    return half;
  }

  /** Copies the live buckets to new lines; null if no allowed number of lines suffices. */
  private @Nullable SlotArray copy(
      long[] tatsNanos, int least, int most, long fullNanos, Segment part) {
    SlotArray fresh = null;
    for (int count = least; fresh == null && count <= most; count = enlarged(count)) {
      fresh = lines.copy(tatsNanos, count, fullNanos, part);
    }
    return fresh;
  }

  /**
   * Returns whether a bucket belongs to this half of a split segment.
   *
   * @param keptPlace the bits of the key's hash that {@link SlotArray#kept} returns
   */
  boolean has(int keptPlace) {
    return SlotArray.entry(keptPlace, firstEntry) < endEntry();
  }
}
