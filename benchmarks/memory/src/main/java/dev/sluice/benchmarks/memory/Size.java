// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.util.Locale;

/**
 * The memory of a live bucket.
 *
 * @param keys the number of buckets
 * @param bytes the heap per bucket, everything included
 */
record Size(Subjects subject, int keys, double bytes) {

  String line() {
    return String.format(
        Locale.ROOT,
        "bytes of heap per live bucket, %,10d keys   %-16s %8.1f",
        keys,
        subject.title(),
        bytes);
  }

  String markdown() {
    return String.format(Locale.ROOT, "| %,d | %s | %.1f |", keys, subject.title(), bytes);
  }
}
