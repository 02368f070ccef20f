// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.util.concurrent.atomic.AtomicLong;

/**
 * An instant before which none of some buckets fills up, so that a full table can refuse without
 * looking at each. It may be too early, which costs a look, never too late.
 *
 * <p>A thread that goes through the buckets to find a later instant {@linkplain #startOver starts
 * over}, and then tells what is found: what other threads report during that time is kept.
 *
 * <p>Thread-safe and lock-free.
 */
final class FirstDeath {

  private static final long NEVER = -1L;

  /** One may die at any time, or has died: each caller that asks looks, by any clock. */
  static final long UNKNOWN = 0;

  private final AtomicLong nanos = new AtomicLong(NEVER); // unsigned

  boolean mayBeBy(long nowNanos) {
    return Long.compareUnsigned(nanos.get(), nowNanos) <= 0;
  }

  long nanos() {
    return nanos.get();
  }

  void startOver() {
    nanos.set(NEVER);
  }

  void tell(long tatNanos) {
    long known = nanos.get();
    while (Long.compareUnsigned(tatNanos, known) < 0 && !nanos.compareAndSet(known, tatNanos)) {
      known = nanos.get();
    }
  }
}
