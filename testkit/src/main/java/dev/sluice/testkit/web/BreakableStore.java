// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;

/** A memory store that a test can make fail with a {@link StoreException}. */
final class BreakableStore implements BucketStore {

  private final BucketStore memory;
  private final AtomicInteger calls = new AtomicInteger();
  private volatile int breaksAfter = Integer.MAX_VALUE;

  BreakableStore(TimeSource time) {
    this.memory = BucketStore.inMemory(time);
  }

  void breakDown() {
    breakAfter(0);
  }

  /** Lets {@code more} calls succeed, and makes all later calls fail. */
  void breakAfter(int more) {
    breaksAfter = calls.get() + more;
  }

  void repair() {
    breaksAfter = Integer.MAX_VALUE;
  }

  int calls() {
    return calls.get();
  }

  @Override
  public OptionalLong nowNanos() {
    return memory.nowNanos();
  }

  @Override
  public List<Reading> charge(List<Charge> charges) {
    if (calls.incrementAndGet() > breaksAfter) {
      throw new StoreException("the store is broken, as the test wants");
    }
    return memory.charge(charges);
  }
}
