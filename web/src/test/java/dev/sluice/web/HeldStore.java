// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;

/** The store in memory, which can fail, and can hold its asynchronous answers back. */
final class HeldStore implements BucketStore {

  private final BucketStore memory = BucketStore.inMemory(() -> Bucket.START_NANOS);
  private final List<Runnable> held = new ArrayList<>();
  private final AtomicInteger charges = new AtomicInteger();
  private final AtomicInteger cancelled = new AtomicInteger();
  private boolean broken;
  private int holdsAfter = Integer.MAX_VALUE;

  void breakDown() {
    broken = true;
  }

  void repair() {
    broken = false;
  }

  void hold() {
    holdAfter(0);
  }

  /** Holds back all but the given number of the next answers. */
  void holdAfter(int more) {
    holdsAfter = charges.get() + more;
  }

  void release() {
    holdsAfter = Integer.MAX_VALUE;
    held.forEach(Runnable::run);
  }

  int charges() {
    return charges.get();
  }

  /** How many held calls were cancelled by their callers. */
  int cancelled() {
    return cancelled.get();
  }

  @Override
  public OptionalLong nowNanos() {
    return memory.nowNanos(); // it stands still
  }

  @Override
  public List<Reading> charge(List<Charge> batch) {
    charges.incrementAndGet();
    if (broken) {
      throw new StoreException("the store is broken, as the test wants");
    }
    return memory.charge(batch);
  }

  @Override
  public CompletionStage<List<Reading>> chargeAsync(List<Charge> batch) {
    if (charges.get() < holdsAfter) {
      try {
        return CompletableFuture.completedFuture(charge(batch));
      } catch (StoreException e) {
        return CompletableFuture.failedFuture(e);
      }
    }
    CompletableFuture<List<Reading>> answer = new CompletableFuture<>();
    held.add(
        () -> {
          if (answer.isCancelled()) {
            return;
          }
          answer.complete(charge(batch));
        });
    var unused =
        answer.whenComplete(
            (readings, failure) -> {
              if (answer.isCancelled()) {
                cancelled.incrementAndGet();
              }
            });
    return answer;
  }
}
