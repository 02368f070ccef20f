// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.gcra.Effect;
import dev.sluice.internal.direct.BucketPipeline;
import dev.sluice.internal.direct.Buckets;
import dev.sluice.internal.direct.IdBytes;
import dev.sluice.internal.direct.ReadingMapper;
import dev.sluice.internal.direct.SipHash;
import org.jspecify.annotations.Nullable;

/** The buckets of one limit in a table: the hash of the prefix is kept. Thread-safe. */
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
}
