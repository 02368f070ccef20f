// SPDX-License-Identifier: Apache-2.0
package dev.sluice.direct;

import dev.sluice.gcra.Effect;
import java.util.ArrayList;
import java.util.List;

/** A bulk on a store that knows nothing better than to be asked one by one. */
final class KeyedBulk implements Bulk {

  private final Buckets buckets;
  private final List<String> ids;

  KeyedBulk(Buckets buckets, int capacity) {
    this.buckets = buckets;
    this.ids = new ArrayList<>(capacity);
  }

  @Override
  public void add(IdBytes id) {
    ids.add(id.toString());
  }

  @Override
  public void charge(Effect effect, ReadingMapper<Boolean> outcome, boolean[] answers) {
    IdBytes bytes = IdBytes.ofThisThread();
    for (int i = 0; i < ids.size(); i++) {
      bytes.set(ids.get(i));
      answers[i] = buckets.charge(bytes, null, effect, outcome);
    }
  }
}
