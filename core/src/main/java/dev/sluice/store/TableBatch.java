// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.internal.direct.IdBytes;
import dev.sluice.internal.direct.SipHash;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.BucketTable.Spin;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * An atomic batch over several buckets of a table.
 *
 * <p>The batch locks the segments of its keys in ascending order, then the slots of the existing
 * buckets. While the batch holds its locks, existing buckets cannot change, and other threads
 * cannot create missing buckets. The batch reads the clock once, decides, finds slots for the new
 * buckets, and only then writes. If another thread holds a lock, if the lines have no free slot, or
 * if the bound on buckets is reached, the batch releases its locks, waits or makes room, and starts
 * again. The batch never waits while it holds a lock. A reader that finds a locked slot waits, so a
 * reader sees the buckets either before the whole batch or after the whole batch.
 *
 * <p>A batch object is used once, by one thread.
 */
final class TableBatch {

  /** The result of one attempt to charge the buckets of the batch. */
  private enum Attempt {
    DONE,
    /** Another thread holds the lock of a segment or slot. */
    BUSY,
    /** No slot was found for the bucket of the charge with the index {@link #failed}. */
    CROWDED,
    /** The new buckets would exceed the bound on live buckets. */
    REFUSED
  }

  private final BucketTable table;
  private final List<Charge> charges;
  private final long[] tags;
  private final long[] places;
  private final int[] slotAt; // the slot of each charge, -1 for none
  private final long[] storedNanos; // the TAT in each charge's slot, 0 for none
  private final long[] afterNanos;
  private final int[] entries; // indexes in the directory, ascending
  private final Segment[] segments; // the segments to lock, in ascending order
  private long nowNanos;
  private int missing; // the number of charges whose bucket must be created
  private int reserved; // the number of slots reserved in the count of buckets
  private int taggedBefore; // the number of tagged slots before new slots were claimed
  private int failed; // index of the charge that found no slot
  private int locked; // the number of locked segments

  static TableBatch of(BucketTable table, List<Charge> charges) {
    long[] tags = new long[charges.size()];
    long[] places = new long[charges.size()];
    IdBytes key = IdBytes.ofThisThread();
    for (int i = 0; i < tags.length; i++) {
      key.set(charges.get(i).key());
      SipHash hash = key.hashKey(table.keyedHash());
      tags[i] = BucketTable.tag(hash.first());
      places[i] = hash.second();
    }
    return new TableBatch(table, charges, tags, places);
  }

  /** Creates a batch of charges whose keys are already hashed; the tags must differ. */
  TableBatch(BucketTable table, List<Charge> charges, long[] tags, long[] places) {
    this.table = table;
    this.charges = charges;
    this.tags = tags;
    this.places = places;
    this.slotAt = new int[tags.length];
    this.storedNanos = new long[tags.length];
    this.afterNanos = new long[tags.length];
    this.entries = Arrays.stream(places).mapToInt(Directory::entryOf).sorted().toArray();
    this.segments = new Segment[tags.length];
  }

  List<Reading> charge() {
    int crowded = 0;
    for (int spins = 0; ; spins = Spin.once(spins)) {
      Attempt attempt;
      try {
        attempt = lockSegments() ? attempt() : Attempt.BUSY;
        if (attempt == Attempt.CROWDED) {
          crowded++;
          table.grow(segment(failed), crowded * withSegmentOf(failed), nowNanos);
        }
      } finally {
        unlockSegments();
      }
      if (attempt == Attempt.DONE) {
        table.cleaner().now(nowNanos);
        return readings();
      }
      if (attempt == Attempt.REFUSED) {
        table.cleaner().makeRoom(missing, nowNanos);
      }
    }
  }

  private int withSegmentOf(int charge) {
    int count = 0;
    for (int i = 0; i < slotAt.length; i++) {
      count += segment(i) == segment(charge) ? 1 : 0;
    }
    return count;
  }

  private boolean lockSegments() {
    for (int entry : entries) {
      Segment segment = table.segmentAt(entry);
      if (locked > 0 && segments[locked - 1] == segment) {
        continue;
      }
      if (!segment.tryLock()) {
        return false;
      }
      segments[locked] = segment;
      locked++;
    }
    return true;
  }

  private void unlockSegments() {
    while (locked > 0) {
      locked--;
      segments[locked].unlock();
    }
  }

  /** Makes one attempt to charge the batch: decides and writes, or changes nothing. */
  private Attempt attempt() {
    Arrays.fill(slotAt, -1);
    boolean written = false;
    try {
      if (!lockSlots()) {
        return Attempt.BUSY;
      }
      nowNanos = table.nanos();
      decide();
      Attempt attempt = claimSlots();
      if (attempt == Attempt.DONE) {
        tellDeaths();
        written = true;
      }
      return attempt;
    } finally {
      // settle() comes after tellDeaths(): otherwise another caller could be told that the table
      // has no room although a full bucket can be removed.
      settle();
      for (int i = 0; i < slotAt.length; i++) {
        if (slotAt[i] >= 0) {
          SlotArray.unlock(segment(i).slots(), slotAt[i], written ? afterNanos[i] : storedNanos[i]);
        }
      }
    }
  }

  private boolean lockSlots() {
    for (int i = 0; i < slotAt.length; i++) {
      long[] slots = segment(i).slots();
      int at = SlotArray.find(slots, tags[i], places[i]);
      storedNanos[i] = at < 0 ? Gcra.NO_TAT : SlotArray.tryLock(slots, at);
      if (storedNanos[i] == SlotArray.LOCKED) {
        return false;
      }
      slotAt[i] = at;
    }
    return true;
  }

  private void decide() {
    boolean passes = true;
    for (int i = 0; i < slotAt.length; i++) {
      passes &= charges.get(i).passes(nowNanos, tatNanos(i));
    }
    for (int i = 0; i < slotAt.length; i++) {
      long tatNanos = tatNanos(i);
      long newNanos = charges.get(i).tatAfterNanos(nowNanos, tatNanos, passes);
      boolean forgets = passes && charges.get(i).op() == Op.RESET;
      // A charge that does not change the TAT keeps the stored TAT, even if the bucket is full.
      // Only a reset removes the stored TAT.
      afterNanos[i] = newNanos == tatNanos && !forgets ? storedNanos[i] : newNanos;
    }
  }

  /** Finds slots for all new buckets, or for none. */
  private Attempt claimSlots() {
    missing = 0;
    for (int i = 0; i < slotAt.length; i++) {
      missing += isMissing(i) ? 1 : 0;
    }
    if (missing == 0) {
      return Attempt.DONE;
    }
    if (!table.bucketCount().tryReserve(missing)) {
      return Attempt.REFUSED;
    }
    reserved = missing;
    taggedBefore = tagged();
    return claimReserved() ? Attempt.DONE : Attempt.CROWDED;
  }

  private void tellDeaths() {
    for (int i = 0; i < slotAt.length; i++) {
      boolean earlier = Long.compareUnsigned(afterNanos[i], storedNanos[i]) < 0;
      if (slotAt[i] >= 0 && (earlier || storedNanos[i] == Gcra.NO_TAT)) {
        table.cleaner().diesAt(places[i], afterNanos[i]);
      }
    }
  }

  private void settle() {
    if (reserved > 0) {
      table.bucketCount().settle(reserved, tagged() - taggedBefore);
      reserved = 0;
    }
  }

  private boolean claimReserved() {
    long fullNanos = table.cleaner().fullNanos(nowNanos);
    boolean[] claimed = new boolean[slotAt.length];
    for (int i = 0; i < slotAt.length; i++) {
      if (isMissing(i)) {
        slotAt[i] = segment(i).claimReserved(tags[i], places[i], fullNanos);
        claimed[i] = slotAt[i] >= 0;
        if (!claimed[i]) {
          failed = i;
          release(claimed);
          return false;
        }
      }
    }
    return true;
  }

  /** Releases the slots that were claimed before a claim failed. */
  private void release(boolean[] claimed) {
    for (int i = 0; i < slotAt.length; i++) {
      if (claimed[i]) {
        segment(i).releaseReserved(slotAt[i]);
        slotAt[i] = -1;
      }
    }
  }

  private int tagged() {
    int tagged = 0;
    for (int i = 0; i < locked; i++) {
      tagged += segments[i].tagged();
    }
    return tagged;
  }

  private boolean isMissing(int i) {
    return slotAt[i] < 0 && afterNanos[i] != Gcra.NO_TAT;
  }

  private List<Reading> readings() {
    List<Reading> readings = new ArrayList<>(slotAt.length);
    for (int i = 0; i < slotAt.length; i++) {
      readings.add(new Reading(nowNanos, tatNanos(i)));
    }
    return readings;
  }

  private long tatNanos(int i) {
    return SlotArray.isDead(storedNanos[i], nowNanos) ? Gcra.NO_TAT : storedNanos[i];
  }

  /**
   * Returns the segment of a charge's key. While the segment is locked, the key stays in the
   * segment.
   */
  private Segment segment(int i) {
    return table.segmentAt(Directory.entryOf(places[i]));
  }
}
