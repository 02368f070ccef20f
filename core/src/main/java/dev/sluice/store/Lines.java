// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/*
 * Slots in lines of four, as large as a cache line. A slot is two longs: a tag (64 bits of the
 * key's hash, 0 for an empty slot) and a TAT. A slot whose TAT has passed is free, whatever its
 * tag.
 *
 * A key may live in two lines. The first one follows from 16 bits of its place (the hash's other
 * half). The second one follows from the first and the tag, in a reversible way. So moving a bucket
 * to its other line needs only what is in the slot. A new key goes to its first line, then to its
 * second. If both are full, one of the eight buckets there is moved to its own other line, at most
 * two moves deep. In simulations this fails first at a load of 0.90 to 0.95 (without moves at 0.27
 * to 0.54, with one at 0.71 to 0.85). Then the lines are rebuilt, with a load of at most 0.8.
 *
 * Of the place, 24 bits are kept beside the slots, so a slot takes 19 bytes in all. No key is kept,
 * so these bits say where a bucket goes when the number of lines changes (16 bits) or the segment
 * is split (8). A tag must not say that, or keys of one line would have fewer than 64 bits to
 * differ in.
 */

/**
 * The slots of one segment. {@link Segment} says which methods take which lock; the static methods
 * on the bare array are the hot path's.
 */
final class Lines {

  /** The TAT of a slot that somebody works on. No TAT reaches it: now + τ is 2^64 − 2 at most. */
  static final long LOCKED = -1L;

  /** No lines at all: nothing is found, and nothing can be claimed. */
  static final Lines NONE = new Lines(0);

  private static final int SLOTS = 4;
  private static final int LONGS = 2 * SLOTS;
  private static final int MOST_LINES = 1 << 16; // what 16 bits can tell apart
  private static final int MOVES = 2;
  private static final int PLACE_BYTES = 3;
  private static final int LINE_BITS = 16;
  private static final int ENTRIES_KEPT = 1 << 8; // what the other 8 can
  private static final int TRIES = 32;
  private static final int FEW_LINES = 64;
  private static final int FEW_LONGS = 2 * LONGS; // two lines
  private static final int NEAR_LONGS = 1 << 10; // 8 KiB; 26,000 buckets in all segments
  private static final int MOST_ENLARGED = 8;
  private static final double FRESH_LOAD = 0.8;
  private static final VarHandle AT = MethodHandles.arrayElementVarHandle(long[].class);

  final long[] slots;
  private final byte[] places;
  private int tagged;
  private boolean refused;

  Lines(int lines) {
    slots = new long[lines * LONGS];
    places = new byte[lines * SLOTS * PLACE_BYTES];
  }

  /** The number of lines in which this many live buckets fit well. */
  static int linesFor(int buckets) {
    double lines = Math.ceil(buckets / (SLOTS * FRESH_LOAD));
    return (int) Math.min(Math.max(lines, 1), MOST_LINES);
  }

  /**
   * The most lines that are tried for this many live buckets. Keys that follow from a secret hash
   * fit in far fewer; a forged snapshot, or ids chosen by somebody who has read one, may fit in
   * none.
   */
  static int mostLinesFor(int buckets) {
    return Math.max(FEW_LINES, MOST_ENLARGED * linesFor(buckets));
  }

  // The bare array

  /** The index of a key's slot, -1 for none. */
  static int find(long[] slots, long tag, long place) {
    int lines = slots.length / LONGS;
    if (lines == 0) {
      return -1;
    }
    int line = firstLine(place, lines);
    if (slots.length <= NEAR_LONGS && slots.length > FEW_LONGS) {
      return findNear(slots, line * LONGS, otherLine(line, tag, lines) * LONGS, tag);
    }
    int at = findInLine(slots, line * LONGS, tag);
    return at >= 0 ? at : findInLine(slots, otherLine(line, tag, lines) * LONGS, tag);
  }

  /**
   * Looks at all eight slots, without a branch. The lines of a small table are in the processor's
   * caches, where a wrong guess costs more than the look: 11 % of a decision with 20,000 keys. With
   * 300,000 it would be 15 % slower instead. With a few keys no guess is wrong, and two threads on
   * one key would take twice as long: each has the line for longer before it writes.
   */
  private static int findNear(long[] slots, int first, int second, long tag) {
    int inFirst = afterIndexInLine(slots, first, tag);
    int inSecond = afterIndexInLine(slots, second, tag);
    return (inFirst | (inSecond & ((inFirst - 1) >> 31))) - 1; // the first one if it is there
  }

  /** The number after the index of a tag's slot in a line, 0 for none. */
  private static int afterIndexInLine(long[] slots, int at, long tag) {
    return ((at + 1) & ifEqual(tag(slots, at), tag))
        | ((at + 3) & ifEqual(tag(slots, at + 2), tag))
        | ((at + 5) & ifEqual(tag(slots, at + 4), tag))
        | ((at + 7) & ifEqual(tag(slots, at + 6), tag));
  }

  /** All bits for two equal numbers, none for others. */
  private static int ifEqual(long one, long other) {
    long difference = one ^ other;
    return (int) ~((difference | -difference) >> 63);
  }

  /**
   * Asks for both lines of a key. (A line begins wherever the collector has put the array, so it
   * lies in two lines of the processor's: both ends are read.)
   *
   * @return something of what was read
   */
  static long touch(long[] slots, long tag, long place) {
    int lines = slots.length / LONGS;
    if (lines == 0) {
      return 0;
    }
    int line = firstLine(place, lines);
    return ends(slots, line * LONGS) + ends(slots, otherLine(line, tag, lines) * LONGS);
  }

  private static long ends(long[] slots, int at) {
    return slots[at] + slots[at + LONGS - 1];
  }

  /**
   * The index of a tag's slot in a line, -1 for none. It stops where it finds it: the processor
   * goes on with its guess while the line is fetched. (Without branches a decision waited for the
   * line first, and took a tenth longer.)
   */
  private static int findInLine(long[] slots, int at, long tag) {
    for (int slot = at; slot < at + LONGS; slot += 2) {
      if (tag(slots, slot) == tag) {
        return slot;
      }
    }
    return -1;
  }

  private static int firstLine(long place, int lines) {
    return (int) (((place & (MOST_LINES - 1)) * lines) >>> LINE_BITS);
  }

  /** What is kept of a key's place: the lower bits of its entry, and those of its line. */
  static int kept(long place) {
    int entry = Directory.entryOf(place) & (ENTRIES_KEPT - 1);
    return entry << LINE_BITS | ((int) place & (MOST_LINES - 1));
  }

  /**
   * Where a bucket belongs in the directory.
   *
   * @param kept what is kept of its place
   * @param firstEntry the first entry of its segment, which has no more than are told apart
   */
  static int entry(int kept, int firstEntry) {
    return firstEntry + (((kept >>> LINE_BITS) - firstEntry) & (ENTRIES_KEPT - 1));
  }

  /** An involution: the other line of the other line is the line. */
  private static int otherLine(int line, long tag, int lines) {
    int sum = (int) (((tag >>> 48) * lines) >>> 16);
    int other = sum - line;
    return other < 0 ? other + lines : other;
  }

  static long tag(long[] slots, int at) {
    return (long) AT.getAcquire(slots, at);
  }

  static long tatNanos(long[] slots, int at) {
    return (long) AT.getAcquire(slots, at + 1);
  }

  /**
   * Gives a key's slot another TAT, if it still has the one that was seen and still is the key's.
   *
   * @return whether it did; otherwise nothing changed
   */
  static boolean replace(long[] slots, int at, long tag, long tatNanos, long afterNanos) {
    if (!lock(slots, at, tatNanos)) {
      return false;
    }
    boolean still = tag(slots, at) == tag;
    unlock(slots, at, still ? afterNanos : tatNanos);
    return still;
  }

  /** Locks a slot if it still has this TAT. A thread that succeeds looks at the tag again. */
  static boolean lock(long[] slots, int at, long tatNanos) {
    return AT.compareAndSet(slots, at + 1, tatNanos, LOCKED);
  }

  /**
   * Locks a slot whose tag cannot change, unless another thread keeps it. It does not wait: the
   * caller holds the segment's lock. It looks a few times, as a slot is mostly free in a moment.
   *
   * @return the TAT, {@link #LOCKED} if the slot was not locked
   */
  static long tryLock(long[] slots, int at) {
    for (int tries = 0; tries < TRIES; tries++) {
      if (tatNanos(slots, at) == LOCKED) {
        continue;
      }
      // Swapping LOCKED for LOCKED changes nothing, and no spend can get in between.
      long tatNanos = (long) AT.getAndSet(slots, at + 1, LOCKED);
      if (tatNanos != LOCKED) {
        return tatNanos;
      }
    }
    return LOCKED;
  }

  /** Unlocks a slot with the TAT that it has from now on. */
  static void unlock(long[] slots, int at, long tatNanos) {
    AT.setRelease(slots, at + 1, tatNanos);
  }

  static boolean isDead(long tatNanos, long nowNanos) {
    return Long.compareUnsigned(tatNanos, nowNanos) <= 0;
  }

  // Under the segment's lock

  int count() {
    return slots.length / LONGS;
  }

  int tagged() {
    return tagged;
  }

  /**
   * Returns whether the last {@link #claim} would have found a slot if the bound allowed another
   * bucket.
   */
  boolean refused() {
    return refused;
  }

  /**
   * Finds a slot for a key that has none, tags it, and leaves it locked.
   *
   * @param place what is {@linkplain #kept} of the key's place
   * @param census counts slots that are newly tagged, null where they are counted otherwise
   * @return its index, -1 where there is none
   */
  int claim(long tag, int place, long nowNanos, @Nullable Census census) {
    if (count() == 0) {
      return -1;
    }
    refused = false;
    int first = firstLine(place, count());
    int second = otherLine(first, tag, count());
    for (int moves = 0; moves <= MOVES; moves += MOVES) {
      int at = free(first, nowNanos, moves, census);
      if (at < 0) {
        at = free(second, nowNanos, moves, census);
      }
      if (at >= 0) {
        setTag(at, tag, place);
        return at;
      }
    }
    return -1;
  }

  /** A slot of the line that is free or was made free by moves; locked, its tag to be replaced. */
  private int free(int line, long nowNanos, int moves, @Nullable Census census) {
    int start = line * LONGS;
    for (int at = start; at < start + LONGS; at += 2) {
      long tatNanos = tatNanos(slots, at);
      if (isDead(tatNanos, nowNanos) && lock(slots, at, tatNanos)) {
        if (tag(slots, at) != 0 || countOneMore(census)) {
          return at;
        }
        unlock(slots, at, tatNanos);
      }
    }
    for (int at = start; moves > 0 && at < start + LONGS; at += 2) {
      long tag = tag(slots, at);
      int other = tag == 0 ? line : otherLine(line, tag, count());
      int to = other == line ? -1 : free(other, nowNanos, moves - 1, census);
      if (to >= 0 && move(at, to, census)) {
        return at;
      }
    }
    return -1;
  }

  private boolean countOneMore(@Nullable Census census) {
    if (census != null && !census.tryAdd()) {
      refused = true;
      return false;
    }
    tagged++;
    return true;
  }

  /** Moves a bucket, and leaves its slot locked; lets go of the target if somebody works on it. */
  private boolean move(int at, int to, @Nullable Census census) {
    long tatNanos = tatNanos(slots, at);
    if (tatNanos == LOCKED || !lock(slots, at, tatNanos)) {
      clear(to, census);
      return false;
    }
    setTag(to, tag(slots, at), place(at));
    unlock(slots, to, tatNanos);
    return true;
  }

  /** Empties a slot that the caller has locked. */
  void clear(int at, @Nullable Census census) {
    setTag(at, 0, 0);
    unlock(slots, at, 0);
    tagged--;
    if (census != null) {
      census.remove(1);
    }
  }

  /** Empties the slots of buckets that have filled up. Returns the first instant that is left. */
  long clearDead(long nowNanos, Census census) {
    long firstNanos = -1L;
    for (int at = 0; at < slots.length; at += 2) {
      long tatNanos = tatNanos(slots, at);
      if (tag(slots, at) == 0) {
        continue;
      }
      if (isDead(tatNanos, nowNanos) && lock(slots, at, tatNanos)) {
        clear(at, census);
      } else {
        long diesNanos = tatNanos == LOCKED ? FirstDeath.UNKNOWN : tatNanos;
        firstNanos = Long.compareUnsigned(diesNanos, firstNanos) < 0 ? diesNanos : firstNanos;
      }
    }
    return firstNanos;
  }

  /**
   * Locks every slot for good: a thread that finds one locked looks for newer lines.
   *
   * @return whether it did; otherwise another thread keeps a slot, and nothing changed
   */
  boolean tryLockAll(long[] tatsNanos) {
    for (int at = 0; at < slots.length; at += 2) {
      long tatNanos = tryLock(slots, at);
      if (tatNanos == LOCKED) {
        unlockAll(tatsNanos, at);
        return false;
      }
      tatsNanos[at >> 1] = tatNanos;
    }
    return true;
  }

  /** Takes back {@link #tryLockAll}. */
  void unlockAll(long[] tatsNanos) {
    unlockAll(tatsNanos, slots.length);
  }

  private void unlockAll(long[] tatsNanos, int end) {
    for (int at = 0; at < end; at += 2) {
      unlock(slots, at, tatsNanos[at >> 1]);
    }
  }

  int countLive(long nowNanos) {
    int live = 0;
    for (int at = 0; at < slots.length; at += 2) {
      live += tag(slots, at) != 0 && !isDead(tatNanos(slots, at), nowNanos) ? 1 : 0;
    }
    return live;
  }

  /** Counts the live buckets that are a segment's, by what {@link #tryLockAll} found. */
  int countLive(long[] tatsNanos, long nowNanos, Segment part) {
    int live = 0;
    for (int at = 0; at < slots.length; at += 2) {
      live += !isDead(tatsNanos[at >> 1], nowNanos) && part.has(place(at)) ? 1 : 0;
    }
    return live;
  }

  /**
   * Place, tag and TAT of each live bucket.
   *
   * @param firstEntry of the segment
   * @return them, null if another thread keeps a slot
   */
  long @Nullable [] live(int firstEntry, long nowNanos) {
    long[] live = new long[3 * tagged];
    int length = 0;
    for (int at = 0; at < slots.length; at += 2) {
      long tatNanos = tatNanos(slots, at);
      for (int tries = 0; tatNanos == LOCKED && tries < TRIES; tries++) {
        tatNanos = tatNanos(slots, at);
      }
      if (tatNanos == LOCKED) {
        return null;
      }
      if (tag(slots, at) != 0 && !isDead(tatNanos, nowNanos)) {
        int place = place(at);
        live[length++] = Directory.place(entry(place, firstEntry), place & (MOST_LINES - 1));
        live[length++] = tag(slots, at);
        live[length++] = tatNanos;
      }
    }
    return Arrays.copyOf(live, length);
  }

  /**
   * The live buckets that are a segment's, in new lines; of these lines, all slots are locked by
   * the caller.
   *
   * @param tatsNanos what {@link #tryLockAll} found
   * @param lines how many there should be
   * @return the new lines, null if the buckets do not fit
   */
  @Nullable Lines copy(long[] tatsNanos, int lines, long nowNanos, Segment part) {
    Lines copy = new Lines(lines);
    for (int at = 0; at < slots.length; at += 2) {
      long tatNanos = tatsNanos[at >> 1];
      if (!isDead(tatNanos, nowNanos) && part.has(place(at))) {
        int to = copy.claim(tag(slots, at), place(at), nowNanos, null);
        if (to < 0) {
          return null;
        }
        unlock(copy.slots, to, tatNanos);
      }
    }
    return copy;
  }

  /** What is kept of the place of a slot's key. */
  private int place(int at) {
    int first = (at >> 1) * PLACE_BYTES;
    return (places[first] & 0xff) << 16
        | (places[first + 1] & 0xff) << 8
        | (places[first + 2] & 0xff);
  }

  private void setTag(int at, long tag, int place) {
    AT.setRelease(slots, at, tag);
    int first = (at >> 1) * PLACE_BYTES;
    places[first] = (byte) (place >> 16);
    places[first + 1] = (byte) (place >> 8);
    places[first + 2] = (byte) place;
  }
}
