// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A subject to measure: its calls decide on one or more of many buckets, all of which allow.
 * Thread-safe.
 */
interface Client extends AutoCloseable {

  /** Returns the loads under which the subject is measured. */
  List<Load> loads();

  /** Returns the Redis key of a bucket, to measure its memory; null if there is none. */
  @Nullable String redisKey(int bucket);

  /** Returns the number of charges in a call. */
  default int charges() {
    return 1;
  }

  /** Spends from a bucket, and blocks until the answer arrives. */
  void spend(int bucket);

  /** Spends without blocking; only for subjects with a load that needs it. */
  default CompletionStage<?> spendAsync(int bucket) {
    return CompletableFuture.failedFuture(new UnsupportedOperationException());
  }

  @Override
  void close();
}
