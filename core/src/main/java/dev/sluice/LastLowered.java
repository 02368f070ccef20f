// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * When this process last lowered a bucket: by a refund, a reset, a cancellation, or a forgiven
 * debt. Buckets share an entry by the hash of their keys, so one may seem to have been lowered
 * later than it was. Of fixed size. Thread-safe; never blocks.
 */
final class LastLowered {

  private static final int ENTRIES = 1_024; // a power of two

  private final AtomicLongArray lastNanos = new AtomicLongArray(ENTRIES);

  LastLowered() {
    for (int i = 0; i < ENTRIES; i++) {
      lastNanos.set(i, Long.MIN_VALUE);
    }
  }

  /** Returns the entry of a bucket. */
  static int entry(String key) {
    int hash = key.hashCode();
    return (hash ^ (hash >>> 16)) & (ENTRIES - 1);
  }

  /** The store has decided by a time on a charge that lowers a bucket. */
  void decidedBy(String key, long nanos) {
    lastNanos.accumulateAndGet(entry(key), nanos, Math::max);
  }

  /** Whether the store may have decided on such a charge at a time or later. */
  boolean isSince(String key, long nanos) {
    return lastNanos.get(entry(key)) >= nanos;
  }
}
