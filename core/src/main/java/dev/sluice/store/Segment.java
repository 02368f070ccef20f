package dev.sluice.store;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/*
 * Who may do what, and why that is enough.
 *
 * There are two locks. A slot is locked by swapping its TAT for LOCKED: that is the right to write
 * its TAT. The segment is locked by making its version odd: that is the right to change which slot
 * belongs to which key, together with the lock of each slot concerned. So
 *
 *   - who holds a slot's lock and finds the key's tag in it has the one slot of this key: tags don't
 *     change under that lock, and a key has one slot. (The tag must be looked at after locking: the
 *     TAT that was swapped may by chance be the same as that of a new tenant.)
 *   - who holds the segment's lock and does not find a key knows that it has no slot: slots are given
 *     only under that lock.
 *   - who holds none, and reads version, tag, TAT and version again, and finds the version even and
 *     unchanged, has read the TAT of this key: meanwhile no slot changed hands. So a denial, a check
 *     and the answer for an absent bucket write nothing.
 *
 * A bucket that has filled up needs nobody to remove it: its slot is free by the passing of time. A
 * key that comes back to its old slot and a key that is given this slot both lock it first; the loser
 * looks again.
 *
 * Rebuilding (more lines, fewer, or the same without the dead) locks all slots of the old lines and
 * never unlocks them, copies, and shows the new lines; whoever meets a lock for long finds the new
 * lines by looking the segment up again, which every attempt does anyway. It stops one segment, a
 * thousandth of the table, for the time of the copy.
 *
 * Nobody waits for a segment with a slot locked, and who takes several segments takes them in
 * ascending order: there is no deadlock.
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
   * @return its index in {@link #slots}, -1 where there is none
   */
  int claim(long tag, long place, long nowNanos) {
    return lines.claim(tag, (char) place, nowNanos, census);
  }

  /**
   * Gives back a slot that the caller has locked: {@link #claim} gave it, or its bucket is none.
   */
  void release(int at) {
    lines.clear(at, census);
  }

  /** Whether {@link #claim} failed because of the bound, and not because the lines are crowded. */
  boolean isRefused() {
    return lines.refused();
  }

  /** Makes room for some more buckets. The caller holds no slot's lock. */
  void grow(int buckets, long nowNanos) {
    int live = lines.countLive(nowNanos);
    boolean crowded = live == lines.tagged(); // without the dead it would be no better
    int more = crowded ? enlarged(lines.count()) : 0;
    rebuild(Math.max(more, Lines.linesFor(live + buckets)), nowNanos);
  }

  /**
   * Gives up what is not used: empties slots of the dead, and gives lines back if half is too much.
   */
  void tidy(long nowNanos) {
    if (!firstDeath.mayBeBy(nowNanos)) {
      return;
    }
    clearDead(nowNanos);
    int enough = Lines.linesFor(lines.tagged());
    if (lines.count() > 2 * enough) {
      rebuild(enough, nowNanos);
    }
  }

  /** Empties the slots of the dead. Returns whether there were some. */
  @CanIgnoreReturnValue
  boolean clearDead(long nowNanos) {
    int before = lines.tagged();
    firstDeath.startOver();
    firstDeath.tell(lines.clearDead(nowNanos, census));
    return lines.tagged() < before;
  }

  /** Place, tag and TAT of each live bucket. */
  long[] live(long segmentBits, long nowNanos) {
    return lines.live(segmentBits, nowNanos);
  }

  private static int enlarged(int lines) {
    return lines + 1 + lines / 8;
  }

  private void rebuild(int atLeast, long nowNanos) {
    Lines old = lines;
    long[] tatsNanos = new long[old.slots.length / 2];
    old.lockAll(tatsNanos);
    try {
      Lines fresh = null;
      for (int count = atLeast; fresh == null; count = enlarged(count)) {
        fresh = old.copy(tatsNanos, count, nowNanos);
      }
      census.remove(old.tagged() - fresh.tagged());
      show(fresh);
    } catch (Throwable e) { // no memory: everything stays as it was
      old.unlockAll(tatsNanos);
      throw e;
    }
  }
}
