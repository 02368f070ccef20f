// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/*
 * Slots in lines of four; a line has the size of a cache line. A slot consists of two longs: a tag,
 * which is 64 bits of the key's hash (0 marks an empty slot), and a TAT. A slot whose TAT has
 * passed is free, even if it has a tag.
 *
 * A key has two possible lines. The first line is computed from 16 bits of the key's place, which
 * is the other half of the hash. The second line is computed from the first line and the tag, and
 * the first line from the second line and the tag in the same way. So the content of a slot is
 * enough to move a bucket to its other line. A new key goes to its first line if the first line has
 * room, otherwise to its second line. If both lines are full, one of their eight buckets is moved
 * to its other line, at most two moves deep. In simulations, the first key for which no slot was
 * found came at a load of 0.90 to 0.95 with two moves, 0.71 to 0.85 with one move, and 0.27 to 0.54
 * without moves. If no slot is found, the lines are rebuilt with a load of at most 0.8.
 *
 * 24 bits of the key's place are stored beside each slot, so a slot takes 19 bytes in total. Keys
 * are not stored. The stored bits determine the bucket's position when the number of lines changes
 * (16 bits) or when the segment is split (8 bits). The bits of the tag do not determine the
 * position: otherwise the tags of the keys in one line would differ in fewer than 64 bits.
 */

/**
 * The slots of one segment. {@link Segment} documents the locks. The static methods are for the hot
 * path, and take an array of longs instead of a {@code SlotArray}.
 */
final class SlotArray {

  /** Marks a locked slot; never a TAT, since the largest TAT, now + τ, is 2^64 − 2. */
  static final long LOCKED = -1L;

  /** An array without lines, in which no key is found and no slot can be claimed. */
  static final SlotArray NONE = new SlotArray(0);

  private static final int SLOTS = 4;
  private static final int LONGS = 2 * SLOTS;
  private static final int MOST_LINES = 1 << 16; // the number of lines that 16 bits can address
  private static final int MOVES = 2;
  private static final int PLACE_BYTES = 3;
  private static final int LINE_BITS = 16;
  // The number of directory entries that 8 stored bits can address; 16 more bits address a line.
  private static final int ENTRIES_KEPT = 1 << 8;
  private static final int TRIES = 32;
  private static final int FEW_LINES = 64;
  private static final int FEW_LONGS = 2 * LONGS; // two lines
  // The size of a segment's array (8 KiB) in a table with about 26,000 buckets.
  private static final int NEAR_LONGS = 1 << 10;
  private static final int MOST_ENLARGED = 8;
  private static final double FRESH_LOAD = 0.8;
  private static final VarHandle AT = MethodHandles.arrayElementVarHandle(long[].class);

  final long[] slots;
  private final byte[] places;
  private int tagged;
  private boolean refused;

  SlotArray(int lines) {
    slots = new long[lines * LONGS];
    places = new byte[lines * SLOTS * PLACE_BYTES];
  }

  /** Returns the number of lines for a number of live buckets at {@link #FRESH_LOAD}. */
  static int linesFor(int buckets) {
    double lines = Math.ceil(buckets / (SLOTS * FRESH_LOAD));
    return (int) Math.min(Math.max(lines, 1), MOST_LINES);
  }

  /**
   * Returns the largest number of lines to try for a number of live buckets. Keys that are hashed
   * with an unknown secret need far fewer lines than the returned number. The keys of a forged
   * snapshot, or keys chosen by an attacker who has read a snapshot, may collide whatever the
   * number of lines is.
   */
  static int mostLinesFor(int buckets) {
    return Math.max(FEW_LINES, MOST_ENLARGED * linesFor(buckets));
  }

  // The bare array

  /** Returns the index of a key's slot, -1 if the key has no slot. */
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
   * Reads all eight slots of both lines of a key, without branches. The lines of a small table are
   * in the processor's caches, where a branch misprediction costs more than reading: without
   * branches a decision with 20,000 keys takes 11 % less time. With 300,000 keys, a decision
   * without branches would take 15 % longer. With a few keys, the processor predicts branches well.
   * Without branches, two threads that spend from one key would take twice as long, since each
   * thread would hold the cache line for longer before it writes.
   */
  private static int findNear(long[] slots, int first, int second, long tag) {
    int inFirst = afterIndexInLine(slots, first, tag);
    int inSecond = afterIndexInLine(slots, second, tag);
    return (inFirst | (inSecond & ((inFirst - 1) >> 31))) - 1; // prefers the first line
  }

  /** Returns 1 plus the index of a tag's slot in a line, 0 if the line does not have the tag. */
  private static int afterIndexInLine(long[] slots, int at, long tag) {
    return ((at + 1) & ifEqual(tag(slots, at), tag))
        | ((at + 3) & ifEqual(tag(slots, at + 2), tag))
        | ((at + 5) & ifEqual(tag(slots, at + 4), tag))
        | ((at + 7) & ifEqual(tag(slots, at + 6), tag));
  }

  /** Returns -1 (all bits set) if two numbers are equal, otherwise 0. */
  private static int ifEqual(long one, long other) {
    long difference = one ^ other;
    return (int) ~((difference | -difference) >> 63);
  }

  /**
   * Prefetches both lines of slots that can contain a key. An array can begin at any address, so a
   * line of slots can lie in two cache lines; this method therefore reads both ends of each line.
   *
   * @return a sum of the values, without which the JIT would remove the reads
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
   * Returns the index of a tag's slot in a line, -1 if the line does not have the tag. The loop
   * over the line's slots has branches, so the processor continues speculatively while it fetches
   * the line. Without branches, the processor would wait until the line is fetched, and a decision
   * would take 10 % longer.
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

  /**
   * Returns the bits of a key's hash that are stored beside a slot: the lower bits of the directory
   * entry, and the bits of the line.
   */
  static int kept(long place) {
    int entry = Directory.entryOf(place) & (ENTRIES_KEPT - 1);
    return entry << LINE_BITS | ((int) place & (MOST_LINES - 1));
  }

  /**
   * Returns the directory entry of a bucket.
   *
   * @param kept the bits of the key's hash that {@link #kept} returns
   * @param firstEntry the first entry of the bucket's segment, which has at most {@link
   *     #ENTRIES_KEPT} entries
   */
  static int entry(int kept, int firstEntry) {
    return firstEntry + (((kept >>> LINE_BITS) - firstEntry) & (ENTRIES_KEPT - 1));
  }

  /** Returns the one of a key's two lines that is not {@code line}. */
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
   * Replaces the TAT of a slot if the slot still has the expected TAT and tag.
   *
   * @return true if the TAT was replaced, false if the slot had another TAT or tag
   */
  static boolean replace(long[] slots, int at, long tag, long tatNanos, long afterNanos) {
    if (!lock(slots, at, tatNanos)) {
      return false;
    }
    boolean still = tag(slots, at) == tag;
    unlock(slots, at, still ? afterNanos : tatNanos);
    return still;
  }

  /**
   * Locks a slot if it still has the given TAT. The caller must check the tag of the locked slot.
   */
  static boolean lock(long[] slots, int at, long tatNanos) {
    return AT.compareAndSet(slots, at + 1, tatNanos, LOCKED);
  }

  /**
   * Locks a slot whose tag cannot change, or fails if another thread holds the slot's lock. Tries
   * to get the lock only a few times, since the caller holds the segment's lock.
   *
   * @return the TAT, {@link #LOCKED} if the slot could not be locked
   */
  static long tryLock(long[] slots, int at) {
    for (int tries = 0; tries < TRIES; tries++) {
      if (tatNanos(slots, at) == LOCKED) {
        continue;
      }
      // If the slot is already locked, writing LOCKED again changes nothing.
      long tatNanos = (long) AT.getAndSet(slots, at + 1, LOCKED);
      if (tatNanos != LOCKED) {
        return tatNanos;
      }
    }
    return LOCKED;
  }

  static void unlock(long[] slots, int at, long tatNanos) {
    AT.setRelease(slots, at + 1, tatNanos);
  }

  static boolean isDead(long tatNanos, long nowNanos) {
    return Long.compareUnsigned(tatNanos, nowNanos) <= 0;
  }

  // The following methods require that the caller holds the segment's lock.

  int count() {
    return slots.length / LONGS;
  }

  int tagged() {
    return tagged;
  }

  /** Returns whether the last {@link #claim} failed only because of the bound on live buckets. */
  boolean refused() {
    return refused;
  }

  /**
   * Finds a slot for a new key, sets its tag, and leaves the slot locked.
   *
   * @param place the bits of the key's hash that {@link #kept} returns
   * @param bucketCount the count to increase if the slot had no tag; null for no count
   * @return the slot's index, -1 if no slot was found
   */
  int claim(long tag, int place, long nowNanos, @Nullable LiveBucketCount bucketCount) {
    if (count() == 0) {
      return -1;
    }
    refused = false;
    int first = firstLine(place, count());
    int second = otherLine(first, tag, count());
    for (int moves = 0; moves <= MOVES; moves += MOVES) {
      int at = free(first, nowNanos, moves, bucketCount);
      if (at < 0) {
        at = free(second, nowNanos, moves, bucketCount);
      }
      if (at >= 0) {
        setTag(at, tag, place);
        return at;
      }
    }
    return -1;
  }

  /**
   * Returns a free slot of a line, if necessary after moving one of the line's buckets to that
   * bucket's other line.
   */
  private int free(int line, long nowNanos, int moves, @Nullable LiveBucketCount bucketCount) {
    int start = line * LONGS;
    for (int at = start; at < start + LONGS; at += 2) {
      long tatNanos = tatNanos(slots, at);
      if (isDead(tatNanos, nowNanos) && lock(slots, at, tatNanos)) {
        if (tag(slots, at) != 0 || countOneMore(bucketCount)) {
          return at;
        }
        unlock(slots, at, tatNanos);
      }
    }
    for (int at = start; moves > 0 && at < start + LONGS; at += 2) {
      long tag = tag(slots, at);
      int other = tag == 0 ? line : otherLine(line, tag, count());
      int to = other == line ? -1 : free(other, nowNanos, moves - 1, bucketCount);
      if (to >= 0 && move(at, to, bucketCount)) {
        return at;
      }
    }
    return -1;
  }

  private boolean countOneMore(@Nullable LiveBucketCount bucketCount) {
    if (bucketCount != null && !bucketCount.tryAdd()) {
      refused = true;
      return false;
    }
    tagged++;
    return true;
  }

  /** Moves a bucket, and leaves the old slot locked. */
  private boolean move(int at, int to, @Nullable LiveBucketCount bucketCount) {
    long tatNanos = tatNanos(slots, at);
    if (tatNanos == LOCKED || !lock(slots, at, tatNanos)) {
      clear(to, bucketCount);
      return false;
    }
    setTag(to, tag(slots, at), place(at));
    unlock(slots, to, tatNanos);
    return true;
  }

  /** Empties a slot that the caller has locked. */
  void clear(int at, @Nullable LiveBucketCount bucketCount) {
    setTag(at, 0, 0);
    unlock(slots, at, 0);
    tagged--;
    if (bucketCount != null) {
      bucketCount.remove(1);
    }
  }

  /** Empties the slots of full buckets, and returns the earliest TAT of the remaining buckets. */
  long clearDead(long nowNanos, LiveBucketCount bucketCount) {
    long firstNanos = -1L;
    for (int at = 0; at < slots.length; at += 2) {
      long tatNanos = tatNanos(slots, at);
      if (tag(slots, at) == 0) {
        continue;
      }
      if (isDead(tatNanos, nowNanos) && lock(slots, at, tatNanos)) {
        clear(at, bucketCount);
      } else {
        long diesNanos = tatNanos == LOCKED ? EarliestExpiry.UNKNOWN : tatNanos;
        firstNanos = Long.compareUnsigned(diesNanos, firstNanos) < 0 ? diesNanos : firstNanos;
      }
    }
    return firstNanos;
  }

  /**
   * Locks every slot of this array for ever. A thread that finds a locked slot looks up the new
   * array.
   *
   * @return false, without any change, if another thread held the lock of a slot
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

  /** Counts the live buckets of a segment, from the TATs that {@link #tryLockAll} has read. */
  int countLive(long[] tatsNanos, long nowNanos, Segment part) {
    int live = 0;
    for (int at = 0; at < slots.length; at += 2) {
      live += !isDead(tatsNanos[at >> 1], nowNanos) && part.has(place(at)) ? 1 : 0;
    }
    return live;
  }

  /**
   * Returns the key's hash (place and tag) and the TAT of each live bucket.
   *
   * @param firstEntry the first directory entry of the segment
   * @return the place, tag and TAT of each bucket, one after the other; null if another thread
   *     holds a slot's lock
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
   * Copies the live buckets of a segment to a new array. The caller has locked all slots.
   *
   * @param tatsNanos the TATs that {@link #tryLockAll} has read
   * @param lines the number of lines of the new array
   * @return the new array, null if the buckets do not fit
   */
  @Nullable SlotArray copy(long[] tatsNanos, int lines, long nowNanos, Segment part) {
    SlotArray copy = new SlotArray(lines);
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

  /** Returns the bits of a key's hash that are stored beside the key's slot. */
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

  /**
   * A lower bound for the instant at which the first of some buckets becomes full. While this lower
   * bound lies in the future, a full table can refuse a charge without reading every bucket. The
   * lower bound is never later than the first expiry. If the lower bound is earlier than the first
   * expiry, a caller may scan the buckets needlessly.
   *
   * <p>To raise the lower bound, a thread {@linkplain #startOver clears} the bound, then scans the
   * buckets, and reports the expiry of each bucket. The new lower bound therefore also covers each
   * expiry that another thread reports during the scan.
   *
   * <p>Thread-safe and lock-free.
   */
  static final class EarliestExpiry {

    private static final long NEVER = -1L;

    /** The lower bound if a bucket may be full already, so that every caller scans the buckets. */
    static final long UNKNOWN = 0;

    private final AtomicLong nanos = new AtomicLong(NEVER); // unsigned

    boolean mayBeBy(long nowNanos) {
      return Long.compareUnsigned(nanos.get(), nowNanos) <= 0;
    }

    long nanos() {
      return nanos.get();
    }

    void startOver() {
      nanos.set(NEVER);
    }

    void tell(long tatNanos) {
      long known = nanos.get();
      while (Long.compareUnsigned(tatNanos, known) < 0 && !nanos.compareAndSet(known, tatNanos)) {
        known = nanos.get();
      }
    }
  }
}
