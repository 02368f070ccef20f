// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** Formats numbers and times for people. Stateless. */
final class Words {

  private static final long SECOND = 1_000_000_000;
  private static final long MINUTE = 60 * SECOND;
  private static final long HOUR = 60 * MINUTE;
  private static final long DAY = 24 * HOUR;
  private static final DateTimeFormatter DATE =
      DateTimeFormatter.ofPattern("yyyy-MM-dd", Locale.ROOT);
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT);
  private static final DateTimeFormatter OFFSET = DateTimeFormatter.ofPattern("xx", Locale.ROOT);

  private Words() {}

  static String whole(long number) {
    return String.format(Locale.ROOT, "%,d", number);
  }

  /** Returns the number and its noun, such as {@code 1 client} or {@code 1,200 clients}. */
  static String counted(long number, String noun) {
    return whole(number) + " " + (number == 1 ? noun : noun + "s");
  }

  static String percent(long part, long whole) {
    double percent = whole == 0 ? 0 : 100.0 * part / whole;
    boolean isTiny = part > 0 && percent < 0.05;
    return isTiny ? "< 0.1 %" : String.format(Locale.ROOT, "%.1f %%", percent);
  }

  static String duration(long nanos) {
    if (nanos < SECOND) {
      return (nanos + 999_999) / 1_000_000 + " ms";
    }
    if (nanos < MINUTE) {
      return String.format(Locale.ROOT, nanos % SECOND == 0 ? "%.0f s" : "%.1f s", nanos / 1e9);
    }
    if (nanos < 2 * HOUR) {
      return Math.round((double) nanos / MINUTE) + " min";
    }
    return nanos < 2 * DAY
        ? String.format(Locale.ROOT, "%.1f h", (double) nanos / HOUR)
        : String.format(Locale.ROOT, "%.1f days", (double) nanos / DAY);
  }

  static Instant instant(long nanos) {
    return Instant.ofEpochSecond(Math.floorDiv(nanos, SECOND), Math.floorMod(nanos, SECOND));
  }

  static String date(long nanos, ZoneId zone) {
    return DATE.format(instant(nanos).atZone(zone));
  }

  static String time(long nanos, ZoneId zone) {
    return TIME.format(instant(nanos).atZone(zone));
  }

  static String minute(long nanos, ZoneId zone) {
    return time(nanos, zone).substring(0, "HH:mm".length());
  }

  /**
   * Formats a span of time. Leaves out the date of the end if the span ends on the date on which it
   * starts, and the offset of the start if it is also that of the end.
   */
  static String span(long firstNanos, long lastNanos, ZoneId zone) {
    String first = date(firstNanos, zone);
    String last = date(lastNanos, zone);
    String firstOffset = OFFSET.format(instant(firstNanos).atZone(zone));
    String lastOffset = OFFSET.format(instant(lastNanos).atZone(zone));
    return "%s %s%s to %s%s %s"
        .formatted(
            first,
            time(firstNanos, zone),
            firstOffset.equals(lastOffset) ? "" : " " + firstOffset,
            first.equals(last) ? "" : last + " ",
            time(lastNanos, zone),
            lastOffset);
  }
}
