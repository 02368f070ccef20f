// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.Locale;

/**
 * Formats numbers and durations for people. The text is the same on every JDK and in every locale.
 */
final class Format {

  private static final long MILLI = 1_000_000;
  private static final long SECOND = 1000 * MILLI;
  private static final long MINUTE = 60 * SECOND;
  private static final long HOUR = 60 * MINUTE;

  private Format() {}

  /** Formats a whole number, with a comma between thousands: {@code 12,345}. */
  static String whole(long number) {
    return String.format(Locale.ROOT, "%,d", number);
  }

  /** Formats a number that is not negative, to about three digits. */
  static String brief(double number) {
    if (number >= 100) {
      return whole(Math.round(number));
    }
    return decimal(number, number >= 10 ? 1 : 2);
  }

  /** Formats a number with at most {@code digits} decimal places, without trailing zeros. */
  static String decimal(double number, int digits) {
    BigDecimal rounded = new BigDecimal(number).setScale(digits, RoundingMode.HALF_UP);
    return rounded.signum() == 0 ? "0" : rounded.stripTrailingZeros().toPlainString();
  }

  /** Formats a share, 0 to 1, as {@code 12.5 %}. */
  static String percent(double share) {
    return decimal(100 * share, 1) + " %";
  }

  /**
   * Formats a duration exactly, without units that are zero: {@code 1h}, {@code 1h30m}, {@code
   * 36s}.
   */
  static String duration(long nanos) {
    return GoDuration.shortened(Duration.ofNanos(nanos));
  }

  /** Formats a quota as {@code 100/1h}, or {@code 100/1h,burst=20} if the burst differs. */
  static String quota(Quota quota) {
    String rate = quota.count() + "/" + GoDuration.shortened(quota.period());
    return quota.burst() == quota.count() ? rate : rate + ",burst=" + quota.burst();
  }

  /** Formats a duration that is not negative, to about three digits: {@code 59m24s}. */
  static String roundedDuration(long nanos) {
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
    return duration((nanos + unit / 2) / unit * unit);
  }

  /**
   * Formats a duration in one unit, for a sentence: {@code 36 s}, {@code 59 min}, {@code 2.5 h}.
   */
  static String durationInWords(long nanos) {
    if (nanos < SECOND) {
      return brief((double) nanos / MILLI) + " ms";
    }
    if (nanos < 90 * SECOND) {
      return Math.round((double) nanos / SECOND) + " s";
    }
    if (nanos < 59 * MINUTE + 30 * SECOND) {
      return Math.round((double) nanos / MINUTE) + " min";
    }
    return decimal((double) nanos / HOUR, 1) + " h";
  }

  /** Escapes text for HTML and SVG, in elements and in quoted attributes. */
  static String escaped(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }
}
