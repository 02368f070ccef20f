// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.direct.Bulk;
import dev.sluice.direct.IdBytes;
import dev.sluice.direct.ReadingMapper;
import dev.sluice.direct.SipHash;
import dev.sluice.gcra.Effect;

/**
 * A bulk on a table. Decisions one by one would each wait for memory; here all lines are touched
 * before the first decision, so that the processor fetches many at a time.
 */
final class TableBulk implements Bulk {

  private static final int AT_ONCE = 32; // more than a core fetches at once

  private final BucketTable table;
  private final SipHash prefixHash;
  private final long[] tags;
  private final long[] places;
  private int size;

  TableBulk(BucketTable table, SipHash prefixHash, int capacity) {
    this.table = table;
    this.prefixHash = prefixHash;
    this.tags = new long[capacity];
    this.places = new long[capacity];
  }

  @Override
  public void add(IdBytes id) {
    SipHash hash = id.hashAfter(prefixHash);
    tags[size] = hash.first();
    places[size] = hash.second();
    size++;
  }

  @Override
  public void charge(Effect effect, ReadingMapper<Boolean> outcome, boolean[] answers) {
    for (int from = 0; from < size; from += AT_ONCE) {
      int to = Math.min(from + AT_ONCE, size);
      table.touch(tags, places, from, to);
      long nowNanos = table.nanos();
      for (int i = from; i < to; i++) {
        answers[i] = table.charge(tags[i], places[i], effect, null, outcome, nowNanos);
      }
    }
  }
}
