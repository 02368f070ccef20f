// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.internal.async.Stages;
import dev.sluice.internal.direct.Buckets;
import dev.sluice.internal.direct.DirectStore;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.BucketStore.Tentative;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/**
 * A store for tests of asynchronous calls. A test can wait until all calls and the code that is
 * chained to the calls have completed. Thread-safe.
 */
final class SettlingStore implements BucketStore, DirectStore {

  private final BucketStore store;
  private final AtomicInteger inFlight = new AtomicInteger();

  SettlingStore(BucketStore store) {
    this.store = store;
  }

  void settle() {
    Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(1))
        .until(() -> inFlight.get() == 0);
  }

  private CompletionStage<List<Reading>> followed(CompletionStage<List<Reading>> charged) {
    CompletableFuture<List<Reading>> answer = new CompletableFuture<>();
    Stages.onEnd(
        charged,
        (readings, failure) -> {
          boolean first =
              failure == null ? answer.complete(readings) : answer.completeExceptionally(failure);
          inFlight.addAndGet(first ? -1 : 0);
        });
    Stages.onEnd(
        answer,
        (readings, failure) -> {
          if (answer.isCancelled()) {
            charged.toCompletableFuture().cancel(false);
            inFlight.decrementAndGet();
          }
        });
    return answer;
  }

  private CompletionStage<List<Reading>> counted(Supplier<CompletionStage<List<Reading>>> call) {
    inFlight.incrementAndGet();
    try {
      return followed(call.get());
    } catch (RuntimeException | Error e) {
      inFlight.decrementAndGet();
      throw e;
    }
  }

  @Override
  public boolean answersAtOnce() {
    return store instanceof DirectStore direct && direct.answersAtOnce();
  }

  @Override
  public List<Reading> charge(List<Charge> charges) {
    return store.charge(charges);
  }

  @Override
  public List<Reading> charge(List<Charge> charges, Tentative tentative) {
    return store.charge(charges, tentative);
  }

  @Override
  public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
    return counted(() -> store.chargeAsync(charges));
  }

  @Override
  public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges, Tentative tentative) {
    return counted(() -> store.chargeAsync(charges, tentative));
  }

  @Override
  public @Nullable Buckets buckets(String prefix) {
    return store instanceof DirectStore direct ? direct.buckets(prefix) : null;
  }

  @Override
  public void ping() {
    store.ping();
  }

  @Override
  public long clockSkewNanos() {
    return store.clockSkewNanos();
  }

  @Override
  public OptionalLong nowNanos() {
    return store.nowNanos();
  }

  @Override
  public OptionalLong liveBuckets() {
    return store.liveBuckets();
  }

  @Override
  public OptionalLong maxLiveBuckets() {
    return store.maxLiveBuckets();
  }

  @Override
  public void close() {
    store.close();
  }
}
