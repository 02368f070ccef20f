// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;

/** Parses the time at which an override or a penalty ends, and checks its range. */
public final class EndTime {

  private static final int DATE_LENGTH = "2027-03-01".length();
  private static final long NANOS_PER_SECOND = 1_000_000_000;

  /** The latest instant that fits into a long of nanoseconds since the Unix epoch. */
  private static final Instant LATEST =
      Instant.ofEpochSecond(Long.MAX_VALUE / NANOS_PER_SECOND, Long.MAX_VALUE % NANOS_PER_SECOND);

  private EndTime() {}

  /**
   * Parses a time with an offset, or a date; a date is read as the start of the day in UTC.
   *
   * @throws IllegalArgumentException if the text is neither a time nor a date, or is {@linkplain
   *     #inRange out of range}
   */
  public static Instant parse(String text) {
    try {
      return inRange(
          text.length() <= DATE_LENGTH
              ? LocalDate.parse(text).atStartOfDay(ZoneOffset.UTC).toInstant()
              : OffsetDateTime.parse(text).toInstant());
    } catch (DateTimeException e) {
      throw new IllegalArgumentException(
          "found %s, expected a date such as 2027-03-01 or a time such as 2027-03-01T12:00:00Z"
              .formatted(SafeText.quote(text)),
          e);
    }
  }

  /**
   * Checks that stores can represent a time as nanoseconds since the Unix epoch.
   *
   * @throws IllegalArgumentException if the time is before the epoch or after the year 2262
   */
  public static Instant inRange(Instant end) {
    if (end.isBefore(Instant.EPOCH) || end.isAfter(LATEST)) {
      throw new IllegalArgumentException(
          "found %s, expected an instant from %s to %s".formatted(end, Instant.EPOCH, LATEST));
    }
    return end;
  }
}
