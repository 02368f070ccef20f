// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Remembers when this process last lowered a bucket's TAT, by a refund, a reset, a cancellation or
 * a forgiven debt. The table has a fixed size: buckets with the same hash share an entry, so the
 * time of a bucket can be too late. Thread-safe; never blocks.
 */
final class LastRefundTimes {

  private static final int ENTRIES = 1_024; // a power of two

  private final AtomicLongArray lastNanos = new AtomicLongArray(ENTRIES);

  LastRefundTimes() {
    for (int i = 0; i < ENTRIES; i++) {
      lastNanos.set(i, Long.MIN_VALUE);
    }
  }

  static int entry(String key) {
    int hash = key.hashCode();
    return (hash ^ (hash >>> 16)) & (ENTRIES - 1);
  }

  /** Records that the store lowers a bucket's TAT at the given time at the latest. */
  void decidedBy(String key, long nanos) {
    lastNanos.accumulateAndGet(entry(key), nanos, Math::max);
  }

  /** Returns whether the store may have lowered the bucket's TAT at the given time or later. */
  boolean isSince(String key, long nanos) {
    return lastNanos.get(entry(key)) >= nanos;
  }
}
