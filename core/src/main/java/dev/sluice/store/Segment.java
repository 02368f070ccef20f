// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/*
 * The locking protocol, and why it is enough.
 *
 * There are two locks. A slot is locked by swapping its TAT for LOCKED: that is the right to write
 * its TAT. The segment is locked by making its version odd: that is the right to change which slot
 * belongs to which key, together with the lock of each slot concerned. So
 *
 *   - who holds a slot's lock and finds the key's tag in it has the one slot of this key: tags
 *     don't change under that lock, and a key has one slot. (The tag must be looked at after
 *     locking: the TAT that was swapped may by chance be the same as that of a new tenant.)
 *   - who holds the segment's lock and does not find a key knows that it has no slot: slots are
 *     given only under that lock.
 *   - who holds none, and reads version, tag, TAT and version again, and finds the version even and
 *     unchanged, has read the TAT of this key: no slot changed hands in between. So a denial, a
 *     check and the answer for an absent bucket write nothing.
 *
 * A bucket that has filled up needs nobody to remove it: its slot is free by the passing of time. A
 * key that comes back to its old slot and a key that is given this slot both lock it first; the
 * loser looks again.
 *
 * Rebuilding (more lines, fewer, or the same without the dead) locks all slots of the old lines and
 * never unlocks them, copies, and shows the new lines. A thread that meets a lock for long finds
 * the new lines by looking the key up again, which every attempt does anyway. Splitting does the
 * same with the segment: it stays locked for good, and two new ones are shown in its place, locked
 * until both can be seen. So a thread that has locked a segment of the directory has the one of the
 * key that it looked up. Either stops one segment for the time of the copy.
 *
 * No thread waits while it holds a lock. It tries to take the next one, a bounded number of times;
 * if it can't have it, it lets go of all that it holds, waits, and starts again. So a thread that
 * holds a lock needs no other thread to go on, and a scheduler that runs waiting threads only (that
 * of virtual threads may) stops nobody. Segments are taken in ascending order: of those that wait
 * for each other, the one with the highest segment goes on.
 */

/** A part of the table with a lock of its own for what is rare. Thread-safe. */
final class Segment {

  private static final VarHandle VERSION;

  static {
    try {
      VERSION = MethodHandles.lookup().findVarHandle(Segment.class, "version", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Census census;
  private final Directory directory;
  private final int mostLines;
  private final int firstEntry;
  private final int entries;
  private final FirstDeath firstDeath = new FirstDeath();
  private Lines lines = Lines.NONE;
  private boolean replaced; // by its halves

  private long version;

  /**
   * A segment without lines, which nobody sees yet.
   *
   * @param mostLines if it needs more it is split, provided that it has more than one entry
   * @param firstEntry where its entries begin
   * @param entries how many it has, a power of two
   */
  Segment(Census census, Directory directory, int mostLines, int firstEntry, int entries) {
    this.census = census;
    this.directory = directory;
    this.mostLines = mostLines;
    this.firstEntry = firstEntry;
    this.entries = entries;
  }

  int firstEntry() {
    return firstEntry;
  }

  /** The entry after its last one. */
  int endEntry() {
    return firstEntry + entries;
  }

  /** Shows its lines as they are now. */
  void show() {
    directory.show(this, lines.slots);
  }

  long version() {
    return (long) VERSION.getAcquire(this);
  }

  /** Whether no slot has changed hands since, nor is about to. */
  boolean isStill(long thenVersion) {
    return (thenVersion & 1) == 0 && version() == thenVersion;
  }

  FirstDeath firstDeath() {
    return firstDeath;
  }

  /** Takes the lock if it is free; that of a segment that was split never is. */
  boolean tryLock() {
    long seen = version();
    return (seen & 1) == 0 && VERSION.compareAndSet(this, seen, seen + 1);
  }

  void unlock() {
    if (!replaced) {
      VERSION.setRelease(this, version + 1);
    }
  }

  // Under the lock

  /** The lines as they are now. */
  long[] slots() {
    return lines.slots;
  }

  /**
   * Finds a slot for a key that has none, and leaves it locked with the key's tag.
   *
   * @param fullNanos buckets that were full by then may be forgotten
   * @return its index in {@link #slots}, -1 where there is none
   */
  int claim(long tag, long place, long fullNanos) {
    return lines.claim(tag, Lines.kept(place), fullNanos, census);
  }

  /** The same for a batch, which has reserved its slots and settles for {@link #tagged}. */
  int claimReserved(long tag, long place, long fullNanos) {
    return lines.claim(tag, Lines.kept(place), fullNanos, null);
  }

  /** Gives back a slot that {@link #claimReserved} gave, still locked. */
  void releaseReserved(int at) {
    lines.clear(at, null);
  }

  /** How many slots bear a tag. */
  int tagged() {
    return lines.tagged();
  }

  /** Whether {@link #claim} failed because of the bound, and not because the lines are crowded. */
  boolean isRefused() {
    return lines.refused();
  }

  /** The outcome of an attempt to make room in the lines. */
  enum Growth {
    /** There is more room. */
    DONE,
    /** Another thread keeps a slot: let go of the segment, wait, and try again. */
    BUSY,
    /** No number of lines would do: the keys were chosen to meet. */
    CROWDED
  }

  /**
   * Makes room for some more buckets. The caller holds no slot's lock. Afterwards the segment may
   * have been split: the caller lets go of it and looks its key up again.
   */
  Growth grow(int buckets, long fullNanos) {
    int live = lines.countLive(fullNanos);
    boolean crowded = live == lines.tagged(); // without the dead it would be no better
    int more = crowded ? enlarged(lines.count()) : 0;
    int least = Math.max(more, Lines.linesFor(live + buckets));
    return least > mostLines && entries > 1
        ? split(buckets, fullNanos)
        : rebuild(least, Lines.mostLinesFor(live + buckets), fullNanos);
  }

  /**
   * Gives up what is not used: empties slots of the dead, and gives lines back if half is too much.
   */
  void tidy(long fullNanos) {
    if (!firstDeath.mayBeBy(fullNanos)) {
      return;
    }
    clearDead(fullNanos);
    int enough = Lines.linesFor(lines.tagged());
    if (lines.count() > 2 * enough) {
      rebuild(enough, lines.count(), fullNanos); // if not now, another time
    }
  }

  /** Empties the slots of the dead. Returns whether there were some. */
  @CanIgnoreReturnValue
  boolean clearDead(long fullNanos) {
    int before = lines.tagged();
    firstDeath.startOver();
    firstDeath.tell(lines.clearDead(fullNanos, census));
    return lines.tagged() < before;
  }

  /** Place, tag and TAT of each live bucket, null if another thread keeps a slot. */
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
          Lines fresh = copy(tatsNanos, atLeast, most, fullNanos, this);
          if (fresh == null) {
            return false;
          }
          census.remove(lines.tagged() - fresh.tagged());
          lines = fresh;
          show();
          return true;
        });
  }

  /** Puts two segments in the place of this one, with room for some more buckets in each. */
  private Growth split(int buckets, long fullNanos) {
    return withLockedSlots(
        tatsNanos -> {
          Segment lower = half(firstEntry, tatsNanos, buckets, fullNanos);
          Segment upper = half(firstEntry + entries / 2, tatsNanos, buckets, fullNanos);
          if (lower == null || upper == null) {
            return false;
          }
          replaced = true;
          census.remove(lines.tagged() - lower.lines.tagged() - upper.lines.tagged());
          lower.firstDeath.tell(firstDeath.nanos());
          upper.firstDeath.tell(firstDeath.nanos());
          lower.show();
          upper.show();
          lower.unlock();
          upper.unlock();
          return true;
        });
  }

  /**
   * Locks all slots, and unlocks them again unless they are replaced.
   *
   * @param replacing is given their TATs; returns false where keys are crowded
   */
  private Growth withLockedSlots(Predicate<long[]> replacing) {
    Lines old = lines;
    long[] tatsNanos = new long[old.slots.length / 2];
    if (!old.tryLockAll(tatsNanos)) {
      return Growth.BUSY;
    }
    boolean done = false;
    try {
      done = replacing.test(tatsNanos);
      return done ? Growth.DONE : Growth.CROWDED;
    } finally {
      if (!done) { // crowded, or no memory: everything stays as it was
        old.unlockAll(tatsNanos);
      }
    }
  }

  /** A locked segment with the buckets of half the entries, null if no number of lines would do. */
  private @Nullable Segment half(int first, long[] tatsNanos, int buckets, long fullNanos) {
    Segment half = new Segment(census, directory, mostLines, first, entries / 2);
    half.version = 1;
    int live = lines.countLive(tatsNanos, fullNanos, half);
    int least = Lines.linesFor(live + buckets);
    Lines fresh = copy(tatsNanos, least, Lines.mostLinesFor(live + buckets), fullNanos, half);
    if (fresh == null) {
      return null;
    }
    half.lines = fresh;
    return half;
  }

  /** Copies a segment's live buckets to new lines; null if no number of lines would do. */
  private @Nullable Lines copy(
      long[] tatsNanos, int least, int most, long fullNanos, Segment part) {
    Lines fresh = null;
    for (int count = least; fresh == null && count <= most; count = enlarged(count)) {
      fresh = lines.copy(tatsNanos, count, fullNanos, part);
    }
    return fresh;
  }

  /**
   * Whether a bucket that this segment, or the one of which it is a half, has kept is its own.
   *
   * @param keptPlace what {@link Lines} has kept of its place
   */
  boolean has(int keptPlace) {
    return Lines.entry(keptPlace, firstEntry) < endEntry();
  }
}
