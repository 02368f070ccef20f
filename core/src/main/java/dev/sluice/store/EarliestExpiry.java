// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A lower bound for the instant at which the first bucket of a segment or table becomes full. With
 * this bound, a full table can refuse a charge without reading every bucket. The bound can be too
 * early, so that a scan finds no full bucket, but never too late.
 *
 * <p>A scan first {@linkplain #startOver resets} the bound, and then reports each bucket, so that
 * the new bound includes reports from other threads during the scan.
 *
 * <p>Thread-safe and lock-free.
 */
final class EarliestExpiry {

  private static final long NEVER = -1L;

  /** The bound if a bucket may be full already, so that the next caller must scan. */
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
