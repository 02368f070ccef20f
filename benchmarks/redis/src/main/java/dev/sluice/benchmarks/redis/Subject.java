// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The thing to measure: one decision on one of many buckets, all of which allow. Thread-safe. */
interface Subject extends AutoCloseable {

  String name();

  /** The key of a bucket in Redis, to ask for the memory that it takes; null where it has none. */
  @Nullable String redisKey(int bucket);

  void spend(int bucket);

  /** The same without blocking; null where the subject has no such form. */
  default @Nullable CompletionStage<?> spendAsync(int bucket) {
    return null;
  }

  @Override
  void close();
}
