// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;

/** Parses the time at which an override or a penalty ends. Stateless. */
public final class EndTime {

  private static final int DATE_LENGTH = "2027-03-01".length();

  private EndTime() {}

  /**
   * Parses a time with an offset, or a date, which means the start of that day in UTC.
   *
   * @param text the text
   * @return the time
   * @throws IllegalArgumentException if the text is neither
   */
  public static Instant parse(String text) {
    try {
      return text.length() <= DATE_LENGTH
          ? LocalDate.parse(text).atStartOfDay(ZoneOffset.UTC).toInstant()
          : OffsetDateTime.parse(text).toInstant();
    } catch (DateTimeException e) {
      throw new IllegalArgumentException(
          "found %s, expected a date such as 2027-03-01 or a time such as 2027-03-01T12:00:00Z"
              .formatted(SafeText.quote(text)),
          e);
    }
  }
}
