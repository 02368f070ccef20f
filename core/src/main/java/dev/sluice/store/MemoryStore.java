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

  /** What a table can address at a load that is still easy: 2^10 segments of 2^16 lines of four. */
  static final long MOST_BUCKETS = 200_000_000;

  private static final int BYTES_A_BUCKET = 24;
  private static final int SHARE_OF_HEAP = 4;

  private final BucketTable table;

  MemoryStore(TimeSource time, long maxBuckets) {
    if (maxBuckets < 1 || maxBuckets > MOST_BUCKETS) {
      throw new IllegalArgumentException(
          "maxBuckets: found %d, expected 1 to %d".formatted(maxBuckets, MOST_BUCKETS));
    }
    this.table = new BucketTable(time, maxBuckets);
  }

  /** As many live buckets as fit in a quarter of the heap. */
  static long boundFor(long heapBytes) {
    return Math.min(Math.max(heapBytes / SHARE_OF_HEAP / BYTES_A_BUCKET, 1), MOST_BUCKETS);
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
