// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.direct.Buckets;
import dev.sluice.direct.DirectStore;
import dev.sluice.direct.IdBytes;
import dev.sluice.direct.ReadingMapper;
import dev.sluice.gcra.Effect;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The buckets of one limit in a store that charges batches only. Thread-safe. */
record KeyedBuckets(BucketStore store, String prefix) implements Buckets {

  /** Returns the store's own view of these buckets if it has one. */
  static Buckets of(BucketStore store, String prefix) {
    Buckets direct = store instanceof DirectStore own ? own.buckets(prefix) : null;
    return direct == null ? new KeyedBuckets(store, prefix) : direct;
  }

  @Override
  public <R> R charge(IdBytes id, @Nullable String text, Effect effect, ReadingMapper<R> outcome) {
    Charge charge = new Charge(prefix + (text == null ? id : text), effect);
    Reading reading = store.charge(List.of(charge)).get(0);
    return outcome.of(text, effect, reading.nowNanos(), reading.tatNanos());
  }
}
