// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A store that applies and answers the calls of {@code async()} when a test says so, others at
 * once. For one thread.
 */
final class SlowStore implements BucketStore {

  private final BucketStore memory;
  private final List<Call> calls = new ArrayList<>();

  SlowStore(TimeSource time) {
    this.memory = BucketStore.inMemory(time);
  }

  /** A call that was not answered yet. */
  final class Call {
    private final List<Charge> charges;
    private final CompletableFuture<List<Reading>> answer = new CompletableFuture<>();
    private List<Reading> readings = List.of();

    private Call(List<Charge> charges) {
      this.charges = charges;
    }

    Call apply() {
      readings = memory.charge(charges);
      return this;
    }

    void answer() {
      assertThat(answer.complete(readings)).isTrue();
    }

    void lose() {
      assertThat(answer.completeExceptionally(new StoreException("timed out"))).isTrue();
    }
  }

  @Override
  public List<Reading> charge(List<Charge> charges) {
    return memory.charge(charges);
  }

  @Override
  public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
    Call call = new Call(charges);
    calls.add(call);
    return call.answer;
  }

  Call last() {
    return calls.get(calls.size() - 1);
  }

  /** Applies and answers all calls that were not applied yet, in their order. */
  void answerAll() {
    for (int i = 0; i < calls.size(); i++) {
      Call call = calls.get(i);
      if (call.readings.isEmpty() && !call.answer.isDone()) {
        call.apply().answer();
      }
    }
  }
}
