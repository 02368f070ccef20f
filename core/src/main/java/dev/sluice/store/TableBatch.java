package dev.sluice.store;

import dev.sluice.gcra.Gcra;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A batch over several buckets of a table: all or nothing, at one moment.
 *
 * <p>It locks the segments of its keys in ascending order, then the slots of those buckets that
 * exist; so neither can change, nor can a missing one appear. Then it reads the clock once,
 * decides, finds slots for the new buckets, and only then writes. Until the first write everything
 * can be let go of unchanged: that is done where a slot is missing because lines are crowded or the
 * bound is reached, and the batch starts again with more room. A reader that meets a batch halfway
 * finds locked slots, and waits; so it sees all of it or nothing.
 *
 * <p>For one thread, once.
 */
final class TableBatch {

  private static final int ALL = -1;

  private final BucketTable table;
  private final List<Charge> charges;
  private final long[] tags;
  private final long[] places;
  private final int[] slotAt; // of each charge, -1 for none
  private final long[] storedNanos; // in that slot, 0 for none
  private final long[] afterNanos;
  private final int[] segments; // ascending
  private long nowNanos;
  private int missing; // slots, before some were claimed

  static TableBatch of(BucketTable table, List<Charge> charges) {
    long[] tags = new long[charges.size()];
    long[] places = new long[charges.size()];
    IdBytes key = IdBytes.ofThisThread();
    for (int i = 0; i < tags.length; i++) {
      boolean unused = key.set(charges.get(i).key());
      SipHash hash = key.hashKey(table.keyedHash());
      tags[i] = BucketTable.tag(hash.first());
      places[i] = hash.second();
    }
    return new TableBatch(table, charges, tags, places);
  }

  /** Charges whose keys are hashed already, to different tags. */
  TableBatch(BucketTable table, List<Charge> charges, long[] tags, long[] places) {
    this.table = table;
    this.charges = charges;
    this.tags = tags;
    this.places = places;
    this.slotAt = new int[tags.length];
    this.storedNanos = new long[tags.length];
    this.afterNanos = new long[tags.length];
    this.segments =
        Arrays.stream(places).mapToInt(BucketTable::segmentOf).sorted().distinct().toArray();
  }

  List<Reading> charge() {
    for (int attempts = 1; ; attempts++) {
      lockSegments();
      try {
        int failed = attempt();
        if (failed == ALL) {
          return readings();
        }
        if (!segment(failed).isRefused()) {
          segment(failed).grow(attempts * withSegmentOf(failed), nowNanos);
          continue;
        }
      } finally {
        unlockSegments();
      }
      table.makeRoom(missing, nowNanos);
    }
  }

  /** How many buckets of the batch are in the same segment: so many may be missing there. */
  private int withSegmentOf(int charge) {
    int segment = BucketTable.segmentOf(places[charge]);
    return (int)
        Arrays.stream(places).filter(place -> BucketTable.segmentOf(place) == segment).count();
  }

  private void lockSegments() {
    for (int index : segments) {
      table.segment(index).lock();
    }
  }

  private void unlockSegments() {
    for (int index : segments) {
      table.segment(index).unlock();
    }
  }

  /**
   * Returns {@link #ALL}, or the charge for whose bucket there is no slot; then nothing changed.
   */
  private int attempt() {
    Arrays.fill(slotAt, -1);
    int failed = ALL;
    boolean written = false;
    try {
      lockSlots();
      nowNanos = table.nanos();
      decide();
      failed = claimSlots();
      written = failed == ALL;
    } finally {
      for (int i = 0; i < slotAt.length; i++) {
        if (slotAt[i] >= 0) {
          if (!written && storedNanos[i] == Gcra.NO_TAT) {
            segment(i).release(slotAt[i]); // claimed in vain: others may need the room
          } else {
            Lines.unlock(segment(i).slots(), slotAt[i], written ? afterNanos[i] : storedNanos[i]);
          }
        }
      }
    }
    return failed;
  }

  private void lockSlots() {
    for (int i = 0; i < slotAt.length; i++) {
      long[] slots = segment(i).slots();
      int at = Lines.find(slots, tags[i], places[i]);
      storedNanos[i] = at < 0 ? Gcra.NO_TAT : Lines.lock(slots, at);
      slotAt[i] = at;
    }
  }

  private void decide() {
    boolean passes = true;
    for (int i = 0; i < slotAt.length; i++) {
      passes &= charges.get(i).passes(nowNanos, tatNanos(i));
    }
    for (int i = 0; i < slotAt.length; i++) {
      afterNanos[i] = charges.get(i).tatAfterNanos(nowNanos, tatNanos(i), passes);
    }
  }

  private int claimSlots() {
    missing = 0;
    for (int i = 0; i < slotAt.length; i++) {
      missing += isMissing(i) ? 1 : 0;
    }
    for (int i = 0; i < slotAt.length; i++) {
      if (isMissing(i)) {
        slotAt[i] = segment(i).claim(tags[i], places[i], nowNanos);
        if (slotAt[i] < 0) {
          return i;
        }
      }
    }
    return ALL;
  }

  /** Whether its bucket is to be made. */
  private boolean isMissing(int i) {
    return slotAt[i] < 0 && afterNanos[i] != Gcra.NO_TAT;
  }

  private List<Reading> readings() {
    List<Reading> readings = new ArrayList<>(slotAt.length);
    for (int i = 0; i < slotAt.length; i++) {
      readings.add(new Reading(nowNanos, tatNanos(i)));
      table.wrote(segment(i), nowNanos, tatNanos(i), afterNanos[i]);
    }
    return readings;
  }

  private long tatNanos(int i) {
    return Lines.isDead(storedNanos[i], nowNanos) ? Gcra.NO_TAT : storedNanos[i];
  }

  private Segment segment(int i) {
    return table.segment(BucketTable.segmentOf(places[i]));
  }
}
