package dev.sluice.store;

import java.util.List;
import java.util.OptionalLong;

/**
 * Buckets in this process's memory: a table of TATs without keys, 18 bytes a slot.
 *
 * <p>Lock-free for a bucket that exists, a short lock of a thousandth of the table for one that
 * does not, no thread in the background. {@link Segment} says why it is right, {@link Lines} how it
 * is laid out.
 */
final class MemoryStore implements BucketStore {

  private final BucketTable table;

  MemoryStore(TimeSource time, long maxBuckets) {
    this.table = new BucketTable(time, maxBuckets);
  }

  @Override
  public List<Reading> charge(List<Charge> charges) {
    if (charges.size() > 1) {
      return new TableBatch(table, charges).charge();
    }
    Charge charge = charges.get(0);
    IdBytes key = IdBytes.ofThisThread();
    boolean unused = key.set(charge.key());
    SipHash hash = key.hash.startFrom(table.keyedHash()).key(key.bytes(), key.length());
    hash.end();
    long tag = hash.first();
    long place = hash.second();
    return table.charge(
        tag,
        place,
        charge.act(),
        charge.incrementNanos(),
        charge.offsetNanos(),
        charge.untilNanos(),
        null,
        (text, incrementNanos, nowNanos, tatNanos) -> List.of(new Reading(nowNanos, tatNanos)));
  }

  @Override
  public Buckets buckets(String prefix) {
    return new TableBuckets(table, prefix);
  }

  @Override
  public OptionalLong liveBuckets() {
    return OptionalLong.of(table.tagged());
  }

  /** How many slots there are, free or not. For tests. */
  long slots() {
    return table.slots();
  }
}
