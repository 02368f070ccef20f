// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
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
 * never unlocks them, copies, and shows the new lines; a thread that meets a lock for long finds
 * the new lines by looking the segment up again, which every attempt does anyway. It stops one
 * segment, a thousandth of the table, for the time of the copy.
 *
 * No thread waits while it holds a lock. It tries to take the next one, a bounded number of times;
 * if it can't have it, it lets go of all that it holds, waits, and starts again. So a thread that
 * holds a lock needs no other thread to go on, and a scheduler that runs waiting threads only (that
 * of virtual threads may) stops nobody. Segments are taken in ascending order: of those that wait
 * for each other, the one with the highest segment goes on.
 */

/** A part of the table with a lock of its own for what is rare. Thread-safe. */
final class Segment {

  private static final VarHandle SHOWN = MethodHandles.arrayElementVarHandle(long[][].class);
  private static final VarHandle VERSION;

  static {
    try {
      VERSION = MethodHandles.lookup().findVarHandle(Segment.class, "version", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Census census;
  private final FirstDeath firstDeath = new FirstDeath();
  private final long[][] shown;
  private final int index;
  private Lines lines = Lines.NONE;

  private long version;

  /**
   * A segment without lines.
   *
   * @param shown the slots of all segments, where this one shows its own
   * @param index the place there
   */
  Segment(Census census, long[][] shown, int index) {
    this.census = census;
    this.shown = shown;
    this.index = index;
    show(Lines.NONE);
  }

  /** The lines as they are now, for {@link Lines#find} and what follows from it. */
  long[] slots() {
    return slots(shown, index);
  }

  /** The same for who does without the segment: one read less on the way to a slot. */
  static long[] slots(long[][] shown, int index) {
    return (long[]) SHOWN.getAcquire(shown, index);
  }

  private void show(Lines fresh) {
    lines = fresh;
    SHOWN.setRelease(shown, index, fresh.slots);
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

  /** Waits for the lock. The caller holds none. */
  void lock() {
    int spins = 0;
    while (!tryLock()) {
      spins = Spin.once(spins);
    }
  }

  boolean tryLock() {
    long seen = version();
    return (seen & 1) == 0 && VERSION.compareAndSet(this, seen, seen + 1);
  }

  void unlock() {
    VERSION.setRelease(this, version + 1);
  }

  // Under the lock

  /**
   * Finds a slot for a key that has none, and leaves it locked with the key's tag.
   *
   * @param fullNanos buckets that were full by then may be forgotten
   * @return its index in {@link #slots}, -1 where there is none
   */
  int claim(long tag, long place, long fullNanos) {
    return lines.claim(tag, (char) place, fullNanos, census);
  }

  /** The same for a batch, which has reserved its slots and settles for {@link #tagged}. */
  int claimReserved(long tag, long place, long fullNanos) {
    return lines.claim(tag, (char) place, fullNanos, null);
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

  /** Makes room for some more buckets. The caller holds no slot's lock. */
  Growth grow(int buckets, long fullNanos) {
    int live = lines.countLive(fullNanos);
    boolean crowded = live == lines.tagged(); // without the dead it would be no better
    int more = crowded ? enlarged(lines.count()) : 0;
    int most = Lines.mostLinesFor(live + buckets);
    return rebuild(Math.max(more, Lines.linesFor(live + buckets)), most, fullNanos);
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
      Growth unused = rebuild(enough, lines.count(), fullNanos); // if not now, another time
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
  long @Nullable [] live(long segmentBits, long nowNanos) {
    return lines.live(segmentBits, nowNanos);
  }

  private static int enlarged(int lines) {
    return lines + 1 + lines / 8;
  }

  private Growth rebuild(int atLeast, int most, long fullNanos) {
    Lines old = lines;
    long[] tatsNanos = new long[old.slots.length / 2];
    if (!old.tryLockAll(tatsNanos)) {
      return Growth.BUSY;
    }
    Lines fresh = null;
    try {
      for (int count = atLeast; fresh == null && count <= most; count = enlarged(count)) {
        fresh = old.copy(tatsNanos, count, fullNanos);
      }
      if (fresh == null) {
        return Growth.CROWDED;
      }
      census.remove(old.tagged() - fresh.tagged());
      show(fresh);
      return Growth.DONE;
    } finally {
      if (fresh == null) { // crowded, or no memory: everything stays as it was
        old.unlockAll(tatsNanos);
      }
    }
  }
}
