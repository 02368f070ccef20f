// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Finds round numbers for the axes of charts, and formats them. */
final class Axis {

  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final long MINUTE = 60 * SECOND;
  private static final long HOUR = 60 * MINUTE;
  private static final long DAY = 24 * HOUR;
  private static final long[] STEPS = {
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
    30 * DAY,
    60 * DAY,
    180 * DAY,
    360 * DAY,
    720 * DAY,
  };

  private static final int[] ROUND = {10, 12, 16, 20, 24, 30, 40, 50, 60, 80};

  private Axis() {}

  /** Returns the times of the ticks: 0, then at most {@code most} round steps. */
  static List<Long> times(long lengthNanos, int most) {
    long step = timeStep(lengthNanos, most);
    List<Long> times = new ArrayList<>();
    for (long at = 0; at <= lengthNanos; at += step) {
      times.add(at);
    }
    return times;
  }

  /** Returns the smallest round step that divides a length into at most {@code most} steps. */
  static long timeStep(long lengthNanos, int most) {
    if (lengthNanos < SECOND * most) {
      long step = 1;
      for (int i = 0; lengthNanos / step > most; i++) {
        step = i % 3 == 1 ? step / 2 * 5 : step * 2; // 1, 2, 5, 10, 20, 50
      }
      return step;
    }
    for (long step : STEPS) {
      if (lengthNanos / step <= most) {
        return step;
      }
    }
    return STEPS[STEPS.length - 1];
  }

  /** Formats the time below a tick. */
  static String time(long nanos, long lengthNanos) {
    if (nanos == 0) {
      return "0";
    }
    return lengthNanos > 2 * DAY && nanos % DAY == 0 ? nanos / DAY + "d" : Format.duration(nanos);
  }

  /** Formats the number next to a tick. */
  static String number(double value) {
    if (value < 10_000) {
      return Format.brief(value);
    }
    if (value < 1e6) {
      return Format.brief(value / 1e3) + "k";
    }
    return value < 1e9 ? Format.brief(value / 1e6) + "M" : Format.brief(value / 1e9) + "G";
  }

  /**
   * Returns the smallest number that is at least the value, is round, and whose half is also round.
   */
  static double roundUp(double value) {
    for (double unit = 1; ; unit *= 10) {
      for (int many : ROUND) {
        // Below 10, only 1 and the even numbers are round, since the half of an even number is
        // whole.
        double round = many * unit / 10;
        if (round >= value && (unit > 1 || many == 10 || many % 20 == 0)) {
          return round;
        }
      }
    }
  }
}
