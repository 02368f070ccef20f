// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A subject of the benchmark: a limiter in Redis, or an upper bound for the speed of such limiters.
 * A call spends from one or several buckets and is always allowed. Thread-safe.
 */
interface Client extends AutoCloseable {

  /** Returns the loads under which this subject is measured. */
  List<Load> loads();

  /**
   * Returns the Redis key of a bucket, for measuring the memory of the bucket; null if the subject
   * has no buckets.
   */
  @Nullable String redisKey(int bucket);

  /** Returns the number of buckets that a call charges. */
  default int charges() {
    return 1;
  }

  /** Spends from a bucket. Blocks until the response arrives. */
  void spend(int bucket);

  /**
   * Spends from a bucket without blocking. This method is called only if one of the loads needs
   * asynchronous calls.
   */
  default CompletionStage<?> spendAsync(int bucket) {
    return CompletableFuture.failedFuture(new UnsupportedOperationException());
  }

  @Override
  void close();
}
