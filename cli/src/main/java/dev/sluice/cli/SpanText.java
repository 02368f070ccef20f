// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.util.concurrent.TimeUnit;

/** Spans of time for people: two units at most, rounded up. Pure. */
final class SpanText {

  private static final long SECONDS_PER_MINUTE = 60;
  private static final long SECONDS_PER_HOUR = 3600;
  private static final long SECONDS_PER_DAY = 86_400;

  private SpanText() {}

  /** Writes {@code 30 s}, {@code 1 min 30 s}, {@code 2 h 5 min}, {@code 3 d 4 h}. */
  static String of(long nanos) {
    long millis = roundedUp(nanos, TimeUnit.MILLISECONDS.toNanos(1));
    if (millis < TimeUnit.SECONDS.toMillis(1)) {
      return millis + " ms";
    }
    long seconds = roundedUp(nanos, TimeUnit.SECONDS.toNanos(1));
    if (seconds < SECONDS_PER_HOUR) {
      return two(seconds, SECONDS_PER_MINUTE, "min", 1, "s");
    }
    // By the minutes that would be shown: 23 h 59 min 56 s is 1 d, not 24 h.
    long minutes = roundedUp(seconds, SECONDS_PER_MINUTE);
    return minutes * SECONDS_PER_MINUTE < SECONDS_PER_DAY
        ? two(seconds, SECONDS_PER_HOUR, "h", SECONDS_PER_MINUTE, "min")
        : two(seconds, SECONDS_PER_DAY, "d", SECONDS_PER_HOUR, "h");
  }

  private static String two(long seconds, long large, String name, long small, String smallName) {
    long smalls = roundedUp(seconds, small);
    long whole = smalls / (large / small);
    long rest = smalls % (large / small);
    String tail = rest + " " + smallName;
    return whole == 0 ? tail : whole + " " + name + (rest == 0 ? "" : " " + tail);
  }

  private static long roundedUp(long value, long unit) {
    return value / unit + (value % unit == 0 ? 0 : 1);
  }
}
