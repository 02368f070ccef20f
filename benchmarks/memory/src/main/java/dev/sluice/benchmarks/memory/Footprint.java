// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Locale;

/** A process that measures the heap memory of one live bucket, and prints the number of bytes. */
final class Footprint {

  private Footprint() {}

  public static void main(String[] args) {
    Subjects subject = Subjects.valueOf(args[0]);
    int keys = Integer.parseInt(args[1]);
    Spender decider = subject.make(keys, 1_000, Duration.ofHours(1));
    decider.trySpend("warm");
    long before = used();
    for (int i = 0; i < keys; i++) {
      decider.trySpend(Keys.text(i));
    }
    System.out.printf(Locale.ROOT, "%.2f%n", (used() - before) / (double) keys);
    if (!decider.trySpend("still here")) {
      throw new IllegalStateException("found a denial, expected an allowance");
    }
  }

  /** Returns the size of the used heap. Collects garbage until the used heap no longer shrinks. */
  private static long used() {
    long last = Long.MAX_VALUE;
    while (true) {
      System.gc();
      long now = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
      if (now >= last) {
        return last;
      }
      last = now;
    }
  }

  /**
   * The heap memory of a live bucket.
   *
   * @param keys the number of buckets
   * @param bytes the total heap memory of the limiter, divided by the number of buckets
   */
  record Size(Subjects subject, int keys, double bytes) {

    String line() {
      return String.format(Locale.ROOT, "| %,d | %s | %.1f |", keys, subject.title(), bytes);
    }
  }
}
