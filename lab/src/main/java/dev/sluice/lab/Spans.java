// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.text.GoDuration;
import java.time.Duration;

/** Spans of time for people. Pure and thread-safe. */
public final class Spans {

  private static final long MILLI = 1_000_000;
  private static final long SECOND = 1000 * MILLI;
  private static final long MINUTE = 60 * SECOND;
  private static final long HOUR = 60 * MINUTE;

  private Spans() {}

  /**
   * A span without its zeros at the end: {@code 1h}, {@code 1h30m}, {@code 36s}.
   *
   * @param nanos the span, not negative
   * @return the text, which {@link GoDuration} reads
   */
  public static String exact(long nanos) {
    return GoDuration.format(Duration.ofNanos(nanos))
        .replaceFirst("(?<=[hm])0s$", "")
        .replaceFirst("(?<=h)0m$", "");
  }

  /**
   * A span to about three digits.
   *
   * @param nanos the span, not negative
   * @return the text
   */
  public static String rounded(long nanos) {
    long unit;
    if (nanos >= 10 * HOUR) {
      unit = MINUTE;
    } else if (nanos >= MINUTE) {
      unit = SECOND;
    } else if (nanos >= SECOND) {
      unit = 10 * MILLI;
    } else {
      unit = 1;
      while (nanos / unit >= 1000) {
        unit *= 10;
      }
    }
    return exact((nanos + unit / 2) / unit * unit);
  }

  /**
   * A span in one unit, for a sentence: {@code 36 s}, {@code 59 min}, {@code 2.5 h}.
   *
   * @param nanos the span, not negative
   * @return the text
   */
  public static String words(long nanos) {
    if (nanos < SECOND) {
      return Numbers.brief((double) nanos / MILLI) + " ms";
    }
    if (nanos < 90 * SECOND) {
      return Math.round((double) nanos / SECOND) + " s";
    }
    if (nanos < 59 * MINUTE + 30 * SECOND) {
      return Math.round((double) nanos / MINUTE) + " min";
    }
    return Numbers.scaled((double) nanos / HOUR, 1) + " h";
  }
}
