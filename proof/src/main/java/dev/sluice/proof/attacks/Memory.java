// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.benchmarks.report.ServerFlags;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a server under attack may use: little of a small machine, or a heap of a given size and no
 * bound on the rest. The archive may be started in the second way. Immutable.
 *
 * @param heap such as 256m; null for a small machine
 */
record Memory(@Nullable String heap) {

  static final Memory SMALL = new Memory(null);

  List<String> flags() {
    return heap == null ? ServerFlags.small() : ServerFlags.asLaunched("-Xmx" + heap);
  }

  Map<String, String> environment() {
    return heap == null ? ServerFlags.SMALL_ENVIRONMENT : Map.of();
  }

  /** Whether the server may have had that much of the machine's memory at a time. */
  boolean allows(long peakMib) {
    return heap != null || peakMib <= ServerFlags.SMALL_MIB;
  }

  /** Returns what is promised of it. */
  String promise() {
    return heap == null
        ? String.format(Locale.ROOT, "lives within %d MiB", ServerFlags.SMALL_MIB)
        : "lives with a heap of " + heap + " and no other bound";
  }
}
