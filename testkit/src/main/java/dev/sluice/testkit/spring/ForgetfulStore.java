// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.spring;

import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.TimeSource;
import java.util.List;
import java.util.OptionalLong;

/** A memory store that can delete all of its buckets. Thread-safe. */
final class ForgetfulStore implements BucketStore {

  private final TimeSource time;
  private volatile BucketStore memory;

  ForgetfulStore(TimeSource time) {
    this.time = time;
    this.memory = BucketStore.inMemory(time);
  }

  void forget() {
    memory = BucketStore.inMemory(time);
  }

  @Override
  public List<Reading> charge(List<Charge> charges) {
    return memory.charge(charges);
  }

  @Override
  public OptionalLong nowNanos() {
    return memory.nowNanos();
  }

  @Override
  public OptionalLong liveBuckets() {
    return memory.liveBuckets();
  }

  @Override
  public OptionalLong maxLiveBuckets() {
    return memory.maxLiveBuckets();
  }
}
