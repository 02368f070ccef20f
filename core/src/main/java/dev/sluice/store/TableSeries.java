// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.direct.IdBytes;
import dev.sluice.direct.ReadingMapper;
import dev.sluice.direct.Series;
import dev.sluice.direct.SipHash;
import dev.sluice.gcra.Effect;

/**
 * A series on a table. All lines are touched before the first decision, so that the processor
 * fetches many at a time.
 */
final class TableSeries implements Series {

  private final BucketTable table;
  private final SipHash prefixHash;
  private final long[] tags = new long[CAPACITY];
  private final long[] places = new long[CAPACITY];
  private int size;
  private long nowNanos;

  TableSeries(BucketTable table, SipHash prefixHash) {
    this.table = table;
    this.prefixHash = prefixHash;
  }

  @Override
  public void clear() {
    size = 0;
  }

  @Override
  public void add(IdBytes id) {
    SipHash hash = id.hashAfter(prefixHash);
    tags[size] = hash.first();
    places[size] = hash.second();
    size++;
  }

  @Override
  public void look() {
    if (size > 1) {
      table.touch(tags, places, 0, size);
    }
    nowNanos = table.nanos();
  }

  @Override
  public void notBefore(long decidedNanos) {
    nowNanos = Math.max(nowNanos, decidedNanos);
  }

  @Override
  public <R> R charge(int index, Effect effect, ReadingMapper<R> outcome) {
    return table.charge(tags[index], places[index], effect, null, outcome, nowNanos);
  }
}
