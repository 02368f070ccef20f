// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.util.Locale;

/**
 * The memory of a live bucket.
 *
 * @param keys how many there were
 * @param bytes of heap for each, all included
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
