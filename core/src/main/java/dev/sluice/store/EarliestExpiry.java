// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A lower bound for the instant at which the first of some buckets is full, so that a full table
 * can refuse without reading every bucket. The bound may be too early, which costs a scan, but
 * never too late.
 *
 * <p>A thread that scans the buckets for a later bound {@linkplain #startOver starts over} first,
 * and then reports each bucket; so reports from other threads during the scan are kept.
 *
 * <p>Thread-safe and lock-free.
 */
final class EarliestExpiry {

  private static final long NEVER = -1L;

  /** The bound if a bucket may already be full: every caller then scans. */
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
