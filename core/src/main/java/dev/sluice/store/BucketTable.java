// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.internal.direct.DirectStore.ReadingMapper;
import dev.sluice.internal.direct.SipHash;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/*
 * When the clock is read.
 *
 * The clock is read before the TAT. So the time from reading the TAT to locking the slot is as
 * short as possible, and other threads that charge the same bucket seldom interfere. Besides, the
 * memory fence of the clock read does not wait for the slot's cache line.
 *
 * The TAT can therefore be newer than the clock reading, if another thread charged the bucket in
 * between. A spend that fits at the older clock reading also fits immediately after the other
 * charge, and leaves the same TAT at both moments. The moment after the other charge lies within
 * the call, so the decision is correct at that moment. In four cases the clock is read again after
 * the TAT: a spend that did not fit could fit by now; a TAT beyond now + τ would be lowered; a
 * refund with an end gives back less the later the refund is made; and a spend-up-to takes more the
 * later the spend is made. So the clock reading of a denial is never older than the TAT that the
 * denial is based on.
 */

/**
 * All buckets of a memory store, in segments. Decides on charges of single buckets. Thread-safe.
 */
final class BucketTable {

  /** The most lines of slots in a segment before it is split: copying them takes 1 to 3 ms. */
  private static final int MOST_LINES = 8_192;

  private static final long EXISTS = -1;

  private final TimeSource time;
  private volatile boolean closed;
  private final LiveBucketCount bucketCount;
  private final long key0;
  private final long key1;
  private final SipHash keyed;
  private final Directory directory;
  private final TableCleaner cleaner;

  @SuppressWarnings("UnusedVariable") // touch() writes it only to keep the JIT from removing reads
  private volatile long touched;

  /** Creates a table with a random hash key, so that nobody can predict which keys collide. */
  BucketTable(TimeSource time, long bound) {
    this(time, bound, 0);
  }

  /**
   * Creates a table for a clock that can step back.
   *
   * @param keptNanos the shortest time for which a full bucket is kept
   */
  BucketTable(TimeSource time, long bound, long keptNanos) {
    this(time, bound, keptNanos, new SecureRandom());
  }

  private BucketTable(TimeSource time, long bound, long keptNanos, SecureRandom random) {
    this(time, bound, keptNanos, random.nextLong(), random.nextLong());
  }

  /** Creates a table with the hash key of another table. */
  BucketTable(TimeSource time, long bound, long keptNanos, long key0, long key1) {
    this(time, bound, keptNanos, key0, key1, MOST_LINES);
  }

  /**
   * Creates a table with segments of a different size, for tests.
   *
   * @param mostLines the largest number of lines of slots in a segment; a larger segment is split
   */
  BucketTable(TimeSource time, long bound, long keptNanos, long key0, long key1, int mostLines) {
    this.time = time;
    this.key0 = key0;
    this.key1 = key1;
    this.keyed = new SipHash(key0, key1);
    this.bucketCount = new LiveBucketCount(bound);
    this.directory = new Directory(bucketCount, mostLines);
    this.cleaner = new TableCleaner(directory, bucketCount, time, keptNanos);
  }

  /** Returns a hash state that contains this table's key; callers copy the state for each hash. */
  SipHash keyedHash() {
    return keyed;
  }

  long bound() {
    return bucketCount.bound();
  }

  long key0() {
    return key0;
  }

  long key1() {
    return key1;
  }

  /**
   * Returns the key's hash (place and tag) and the TAT of every live bucket, in one array per
   * segment.
   */
  List<long[]> live() {
    long nowNanos = TimeSource.read(time); // reads the clock even after close()
    List<long[]> live = new ArrayList<>();
    int spins = 0;
    for (int entry = 0; entry < Directory.ENTRIES; ) {
      Segment segment = directory.lock(entry);
      long[] part;
      try {
        part = segment.live(nowNanos);
      } finally {
        segment.unlock();
      }
      if (part == null) {
        spins = Spin.once(spins);
      } else {
        live.add(part);
        entry = segment.endEntry();
      }
    }
    return live;
  }

  /**
   * Inserts a bucket of a snapshot, unless the bucket is full.
   *
   * @throws IllegalArgumentException if the bucket exists already, or if no table of this program
   *     can contain the bucket
   * @throws StoreException if the table is full
   */
  void restore(long place, long tag, long tatNanos, long nowNanos) {
    if (tag == 0 || tatNanos == SlotArray.LOCKED || SlotArray.isDead(tatNanos, nowNanos)) {
      return;
    }
    for (boolean grown = true; grown; ) {
      Segment segment = lockedSegment(place);
      try {
        if (SlotArray.find(segment.slots(), tag, place) >= 0) {
          throw new IllegalArgumentException("a bucket twice");
        }
        grown = !claimed(segment, tag, place, nowNanos, tatNanos);
        if (grown && segment.isRefused()) {
          throw cleaner.full();
        }
        if (grown && segment.grow(1, nowNanos) == Segment.Growth.CROWDED) {
          throw new IllegalArgumentException(
              "more buckets in one line of slots than a table of this program can contain");
        }
      } finally {
        segment.unlock();
      }
    }
  }

  /** Refuses every charge from now on. */
  void close() {
    closed = true;
  }

  long nanos() {
    if (closed) {
      throw new StoreException("the memory store is closed; close it only after the last request");
    }
    return TimeSource.read(time);
  }

  TableCleaner cleaner() {
    return cleaner;
  }

  LiveBucketCount bucketCount() {
    return bucketCount;
  }

  long tagged() {
    return bucketCount.tagged();
  }

  long slots() {
    long longs = 0;
    for (int entry = 0; entry < Directory.ENTRIES; ) {
      Segment segment = directory.segment(entry);
      longs += segment.slots().length;
      entry = segment.endEntry();
    }
    return longs / 2;
  }

  /**
   * Prefetches the table lines of some keys, so that the processor fetches many lines at the same
   * time. The method uses the sum of the read values, so that the compiler keeps the reads.
   *
   * @param hashTags the keys' tag hashes, which determine the keys' tags
   * @param places the keys' place hashes, which determine the keys' segments and first lines
   * @param from the index of the first key to prefetch
   * @param to the index after the last key to prefetch
   */
  void touch(long[] hashTags, long[] places, int from, int to) {
    long sum = 0;
    for (int i = from; i < to; i++) {
      sum += SlotArray.touch(directory.slots(places[i]), tag(hashTags[i]), places[i]);
    }
    if (sum == 1) { // almost never true, but the compiler cannot know this
      touched = sum;
    }
  }

  Segment segmentAt(int entry) {
    return directory.segment(entry);
  }

  private Segment segment(long place) {
    return directory.segment(Directory.entryOf(place));
  }

  /** Locks and returns the segment of a key. The caller must not hold any lock. */
  Segment lockedSegment(long place) {
    return directory.lock(Directory.entryOf(place));
  }

  /**
   * Decides on one charge of one bucket. Allocates nothing, except to rebuild the slots of a
   * segment.
   *
   * @param hashTag the key's tag hash, which determines the key's tag
   * @param place the key's place hash, which determines the key's segment and first line of slots
   * @param id the id to pass to {@code outcome}
   */
  <R extends @Nullable Object> R charge(
      long hashTag, long place, Effect effect, @Nullable String id, ReadingMapper<R> outcome) {
    return charge(hashTag, place, effect, id, outcome, nanos());
  }

  /** Decides on one charge, at a time that the caller has just read from the clock. */
  <R extends @Nullable Object> R charge(
      long hashTag,
      long place,
      Effect effect,
      @Nullable String id,
      ReadingMapper<R> outcome,
      long readNanos) {
    long tag = tag(hashTag);
    if (effect.op() == Op.SPEND) {
      long tatNanos = spend(tag, place, effect, readNanos);
      if (tatNanos != SlotArray.LOCKED) {
        return outcome.of(id, effect, readNanos, tatNanos);
      }
    }
    return chargeAny(tag, place, effect, id, outcome, readNanos);
  }

  /**
   * Handles the common case: spends from a bucket that has a slot, if the spend fits and no other
   * thread holds the slot's lock. Reads only the slot, neither the segment nor its version. {@link
   * #chargeAny} handles every denial, and every charge that {@code spend} cannot make.
   *
   * <p>With one key, {@code spend} is possibly 2 to 4 % faster because it does not call {@link
   * Effect#tatAfterNanos}; the measured ranges overlap. Reading only the slot makes a single
   * decision 5 % faster, and each of 32 decisions made together 8 % faster.
   *
   * @return the TAT before the spend, {@link SlotArray#LOCKED} if nothing was done
   */
  private long spend(long tag, long place, Effect effect, long nowNanos) {
    long incrementNanos = effect.incrementNanos();
    long[] slots = directory.slots(place);
    int at = SlotArray.find(slots, tag, place);
    if (at < 0 || incrementNanos == 0) { // a cost of 0 must not write a full bucket
      return SlotArray.LOCKED;
    }
    long storedNanos = SlotArray.tatNanos(slots, at);
    if (storedNanos == Gcra.NO_TAT) { // chargeForgotten() decides after a reset
      return SlotArray.LOCKED;
    }
    long tatNanos = SlotArray.isDead(storedNanos, nowNanos) ? Gcra.NO_TAT : storedNanos;
    long aheadNanos = tatNanos == Gcra.NO_TAT ? 0 : tatNanos - nowNanos;
    // A spend never fits if the TAT is LOCKED: as a time, LOCKED lies more than 2^63 ns after any
    // time.
    boolean fits = aheadNanos >= 0 && aheadNanos <= effect.offsetNanos() - incrementNanos;
    long afterNanos = nowNanos + aheadNanos + incrementNanos;
    if (!fits || !SlotArray.replace(slots, at, tag, storedNanos, afterNanos)) {
      return SlotArray.LOCKED;
    }
    cleaner.now(nowNanos);
    return tatNanos;
  }

  /** Decides on any charge of any bucket. */
  private <R extends @Nullable Object> R chargeAny(
      long tag,
      long place,
      Effect effect,
      @Nullable String id,
      ReadingMapper<R> outcome,
      long readNanos) {
    Op act = effect.op();
    long roomNanos =
        Long.compareUnsigned(effect.incrementNanos(), effect.offsetNanos()) < 0
            ? effect.offsetNanos() - effect.incrementNanos()
            : 0;
    for (int spins = 0; ; spins = Spin.once(spins)) {
      Segment segment = segment(place);
      long version = segment.version();
      long[] slots = directory.slots(place);
      int at = SlotArray.find(slots, tag, place);
      long storedNanos = at < 0 ? Gcra.NO_TAT : SlotArray.tatNanos(slots, at);
      if (storedNanos == SlotArray.LOCKED) {
        continue;
      }
      boolean fits =
          SlotArray.isDead(storedNanos, readNanos)
              || Long.compareUnsigned(storedNanos - readNanos, roomNanos) <= 0;
      long nowNanos = fits && !act.hasEnd() ? readNanos : nanos();
      long tatNanos = SlotArray.isDead(storedNanos, nowNanos) ? Gcra.NO_TAT : storedNanos;
      long afterNanos = effect.tatAfterNanos(nowNanos, tatNanos, effect.passes(nowNanos, tatNanos));
      // A reset also clears the TAT of a full bucket, which would be in the future again if the
      // clock stepped back. Only a reset changes the TAT of a bucket that stays full.
      boolean writes = afterNanos != (act == Op.RESET ? storedNanos : tatNanos);
      if (!writes && segment.isStill(version)) {
        return outcome.of(id, effect, nowNanos, tatNanos);
      }
      if (storedNanos == Gcra.NO_TAT) {
        nowNanos = at < 0 ? insert(tag, place, effect) : chargeForgotten(slots, at, tag, effect);
        if (nowNanos != EXISTS) {
          cleaner.now(nowNanos);
          return outcome.of(id, effect, nowNanos, Gcra.NO_TAT);
        }
      } else if (SlotArray.lock(slots, at, storedNanos)) {
        boolean still = SlotArray.tag(slots, at) == tag;
        boolean written = still && writes;
        if (written && Long.compareUnsigned(afterNanos, storedNanos) < 0) {
          cleaner.diesAt(place, afterNanos);
        }
        SlotArray.unlock(slots, at, written ? afterNanos : storedNanos);
        if (still) {
          cleaner.now(nowNanos);
          return outcome.of(id, effect, nowNanos, tatNanos);
        }
      }
    }
  }

  /**
   * Decides on a charge of a bucket that has a slot and was reset. A slot that was reset does not
   * show the time of the reset, so this method reads the clock while it holds the slot's lock. A
   * decision with a time before the reset would leave too many tokens in the bucket.
   *
   * @return the time of the decision, {@link #EXISTS} if another thread has changed the slot
   */
  private long chargeForgotten(long[] slots, int at, long tag, Effect effect) {
    if (!SlotArray.lock(slots, at, Gcra.NO_TAT)) {
      return EXISTS;
    }
    long nowNanos;
    long afterNanos = Gcra.NO_TAT;
    try {
      if (SlotArray.tag(slots, at) != tag) {
        return EXISTS;
      }
      nowNanos = nanos();
      afterNanos = tatAfterNanos(effect, nowNanos);
    } finally {
      SlotArray.unlock(slots, at, afterNanos);
    }
    return nowNanos;
  }

  /** Returns the TAT after a charge of a bucket without a TAT. */
  private static long tatAfterNanos(Effect effect, long nowNanos) {
    boolean passes = effect.passes(nowNanos, Gcra.NO_TAT);
    return effect.tatAfterNanos(nowNanos, Gcra.NO_TAT, passes);
  }

  /**
   * Decides on a charge of a bucket that does not exist, and creates the bucket if the charge
   * leaves a TAT.
   *
   * @return the time of the decision, {@link #EXISTS} if another thread has created the bucket
   */
  private long insert(long tag, long place, Effect effect) {
    for (int spins = 0; ; spins = Spin.once(spins)) {
      long nowNanos;
      Segment segment = lockedSegment(place);
      try {
        if (SlotArray.find(segment.slots(), tag, place) >= 0) {
          return EXISTS;
        }
        nowNanos = nanos();
        long afterNanos = tatAfterNanos(effect, nowNanos);
        if (afterNanos == Gcra.NO_TAT || claimed(segment, tag, place, nowNanos, afterNanos)) {
          return nowNanos;
        }
        if (!segment.isRefused()) {
          grow(segment, 1, nowNanos);
          continue;
        }
      } finally {
        segment.unlock();
      }
      cleaner.makeRoom(1, nowNanos);
    }
  }

  /**
   * Makes room in a segment that the caller has locked, unless another thread holds a slot's lock.
   * Whether room was made or not, the caller must unlock the segment, wait, and try again.
   *
   * @throws StoreException if so many keys collide that no number of lines gives each key a slot
   */
  void grow(Segment segment, int buckets, long nowNanos) {
    if (segment.grow(buckets, cleaner.fullNanos(nowNanos)) == Segment.Growth.CROWDED) {
      throw new UnchargedException(
          "the memory store has no slot for a bucket: too many keys need the same slots as this bucket, as if"
              + " an attacker who knows the store's hash key had chosen the keys");
    }
  }

  private boolean claimed(Segment segment, long tag, long place, long nowNanos, long afterNanos) {
    boolean mayCount = bucketCount.roomFor(1) == LiveBucketCount.Room.FOUND;
    if (mayCount) { // the death of a bucket that is not created would cause a useless scan
      // The time at which the bucket becomes full ("dies") is recorded before the bucket is
      // counted, because the bucket can already be full when it is counted.
      cleaner.diesAt(place, afterNanos);
    }
    int at = segment.claim(tag, place, cleaner.fullNanos(nowNanos));
    if (at < 0) {
      return false;
    }
    if (!mayCount) { // claim() reused a dead bucket's slot, so the death is recorded here
      cleaner.diesAt(place, afterNanos);
    }
    SlotArray.unlock(segment.slots(), at, afterNanos);
    return true;
  }

  /** Returns the tag for a hash: never 0, since 0 marks an empty slot. */
  static long tag(long hash) {
    return hash == 0 ? 1 : hash;
  }

  /**
   * Waits for another thread, which holds a lock for a few more nanoseconds, or for longer if the
   * operating system has suspended that thread.
   *
   * <p>The caller must not hold a lock of the table. Some schedulers, such as the scheduler of
   * virtual threads or a scheduler with strict priorities, may never resume a thread that yields
   * while other threads can run. No thread may therefore depend on a thread that waits in {@code
   * Spin}.
   */
  static final class Spin {

    private static final int BEFORE_YIELDING = 64;
    private static final int BEFORE_PARKING = 128;
    private static final long SHORTEST_PARK_NANOS = 20_000;
    // How often the wait for a lock is doubled; the longest wait is about 1 ms.
    private static final int LONGEST = 6;

    private Spin() {}

    /** Waits briefly after {@code spins} earlier waits; returns {@code spins + 1}. */
    @SuppressWarnings("ThreadPriorityCheck") // yield() is only an optimization
    static int once(int spins) {
      if (spins < BEFORE_YIELDING) {
        Thread.onSpinWait();
      } else if (spins < BEFORE_PARKING) {
        Thread.yield();
      } else {
        int doublings = Math.min((spins - BEFORE_PARKING) / 2, LONGEST);
        LockSupport.parkNanos(SHORTEST_PARK_NANOS << doublings);
      }
      return spins + 1;
    }
  }

  /** Thrown if nothing was charged; the message ends with "nothing was charged". */
  static final class UnchargedException extends StoreException {

    private static final long serialVersionUID = 1;

    UnchargedException(String why) {
      super(why + "; nothing was charged");
    }

    @Override
    public boolean chargedNothing() {
      return true;
    }
  }
}
