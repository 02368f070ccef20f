// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The thing to measure: a call that decides on one of many buckets, or on several, all of which
 * allow. Thread-safe.
 */
interface Client extends AutoCloseable {

  /** The loads that it is measured under. */
  List<Load> loads();

  /** The key of a bucket in Redis, to ask for the memory that it takes; null where it has none. */
  @Nullable String redisKey(int bucket);

  /** How many charges a call has. */
  default int charges() {
    return 1;
  }

  /** Asks, and waits for the answer. */
  void spend(int bucket);

  /** The same without blocking; only where the subject has a load that needs it. */
  default CompletionStage<?> spendAsync(int bucket) {
    return CompletableFuture.failedFuture(new UnsupportedOperationException());
  }

  @Override
  void close();
}
