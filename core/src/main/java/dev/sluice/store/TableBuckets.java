// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.gcra.Effect;
import dev.sluice.internal.direct.DirectStore.BucketPipeline;
import dev.sluice.internal.direct.DirectStore.Buckets;
import dev.sluice.internal.direct.DirectStore.ReadingMapper;
import dev.sluice.internal.direct.IdBytes;
import dev.sluice.internal.direct.SipHash;
import org.jspecify.annotations.Nullable;

/** The buckets of one limit in a table; hashes the common prefix of all keys once. Thread-safe. */
final class TableBuckets implements Buckets {

  private final BucketTable table;
  private final SipHash prefixHash;

  TableBuckets(BucketTable table, String prefix) {
    IdBytes bytes = new IdBytes();
    bytes.set(prefix);
    this.table = table;
    this.prefixHash =
        new SipHash(0, 0).message(table.keyedHash(), bytes.bytes(), 0, bytes.length());
  }

  @Override
  public <R extends @Nullable Object> R charge(
      IdBytes id, @Nullable String text, Effect effect, ReadingMapper<R> outcome) {
    SipHash hash = id.hashAfter(prefixHash);
    long tag = hash.first();
    long place = hash.second();
    return table.charge(tag, place, effect, text, outcome);
  }

  @Override
  public BucketPipeline pipeline(int capacity) {
    return new TablePipeline(table, prefixHash, capacity);
  }

  /**
   * Decides on a series of charges in groups. All lines of a group are prefetched before the
   * group's first decision, so that the processor fetches many lines at the same time.
   */
  private static final class TablePipeline implements BucketPipeline {

    private final BucketTable table;
    private final SipHash prefixHash;
    private final long[] tags;
    private final long[] places;
    private int size;
    private int end; // the end of the group that shares one clock reading
    private long nowNanos;

    TablePipeline(BucketTable table, SipHash prefixHash, int capacity) {
      this.table = table;
      this.prefixHash = prefixHash;
      this.tags = new long[capacity];
      this.places = new long[capacity];
    }

    @Override
    public void clear() {
      size = 0;
      end = 0;
    }

    @Override
    public void add(IdBytes id) {
      SipHash hash = id.hashAfter(prefixHash);
      tags[size] = hash.first();
      places[size] = hash.second();
      size++;
    }

    @Override
    public void notBefore(long decidedNanos) {
      nowNanos = Math.max(nowNanos, decidedNanos);
    }

    @Override
    public <R extends @Nullable Object> R charge(
        int index, Effect effect, ReadingMapper<R> outcome) {
      if (index >= end) {
        look(index);
      }
      return table.charge(tags[index], places[index], effect, null, outcome, nowNanos);
    }

    private void look(int from) {
      int to = Math.min(from + GROUP, size);
      if (to - from > 1) {
        table.touch(tags, places, from, to);
      }
      // If the table is closed, nanos() throws, and the next decision reads the clock again.
      nowNanos = table.nanos();
      end = to;
    }
  }
}
