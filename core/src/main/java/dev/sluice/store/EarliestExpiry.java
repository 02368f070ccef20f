// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A lower bound for the instant at which the first of some buckets becomes full. With this bound, a
 * full table can refuse a charge without reading every bucket. The bound can be too early, so that
 * a caller scans the buckets in vain, but never too late.
 *
 * <p>A thread that scans the buckets for a later bound first {@linkplain #startOver starts over},
 * and then reports each bucket. So the bound includes reports from other threads during the scan.
 *
 * <p>Thread-safe and lock-free.
 */
final class EarliestExpiry {

  private static final long NEVER = -1L;

  /** The bound if a bucket can be full already, so that every caller scans. */
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
