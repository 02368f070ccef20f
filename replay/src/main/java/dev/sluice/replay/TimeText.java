// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/*
 * The times of one minute differ only in the digits after the minute. If a time has the same minute
 * as the time before, the minute is not parsed again. This saves a third of the time per line.
 */
/**
 * Parses the times of logs: {@code 26/Nov/2026:00:00:03 +0100}, ISO 8601 with or without a zone,
 * and numbers since the epoch in seconds, milliseconds, microseconds or nanoseconds. Not
 * thread-safe.
 */
final class TimeText {

  /** The result of {@link #nanos} for a text that is not a time. */
  static final long NONE = Long.MIN_VALUE;

  private static final long SECOND = 1_000_000_000;
  private static final String MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
  // The smallest number that is read as milliseconds; read as seconds, this number would be a time
  // in the year 5138.
  private static final long MILLIS_FROM = 100_000_000_000L;
  private static final long MICROS_FROM = 100_000_000_000_000L;
  private static final long NANOS_FROM = 100_000_000_000_000_000L;
  private static final int MOST_DIGITS = 18;

  private final ZoneId zone;
  private byte[] minute = new byte[0];
  private byte[] offset = new byte[0];
  private long minuteNanos;
  private long lastNanos = Long.MIN_VALUE;
  private @Nullable ZoneId shown;

  /** Creates a parser. Times that have no zone are read in {@code zone}. */
  TimeText(ZoneId zone) {
    this.zone = zone;
  }

  /**
   * Sets the latest time that was read from the current file; {@link #NONE} at the start of a file.
   */
  void after(long nanos) {
    lastNanos = nanos;
  }

  /**
   * Returns the offset of the first time; if the first time has no offset, the zone for times
   * without a zone.
   */
  ZoneId shown() {
    return shown == null ? zone : shown;
  }

  /** Returns the value of a number that consists only of digits; -1 for any other text. */
  static long digits(byte[] text, int from, int to) {
    if (from >= to || to - from > MOST_DIGITS) {
      return -1;
    }
    long value = 0;
    for (int i = from; i < to; i++) {
      int digit = text[i] - '0';
      if (digit < 0 || digit > 9) {
        return -1;
      }
      value = value * 10 + digit;
    }
    return value;
  }

  /** Returns a time in nanoseconds since the epoch; {@link #NONE} if the text is not a time. */
  long nanos(byte[] text, int from, int to) {
    int length = to - from;
    if (length >= 20 && text[from + 2] == '/') {
      return withMinute(text, from, to, 17);
    }
    if (length >= 19 && text[from + 4] == '-') {
      return withMinute(text, from, to, 16);
    }
    return sinceEpoch(text, from, to);
  }

  /**
   * Parses a time that consists of the minute, {@code :SS}, an optional fraction, and an optional
   * offset.
   */
  private long withMinute(byte[] text, int from, int to, int minuteLength) {
    int second = from + minuteLength;
    if (text[second] != ':') {
      return NONE;
    }
    long seconds = digits(text, second + 1, second + 3);
    int at = second + 3;
    long fraction = 0;
    if (at < to && (text[at] == '.' || text[at] == ',')) {
      long unit = SECOND;
      for (at++; at < to && text[at] >= '0' && text[at] <= '9'; at++) {
        unit /= 10;
        fraction += unit * (text[at] - '0');
      }
    }
    if (at < to && text[at] == ' ') {
      at++;
    }
    if (seconds < 0 || seconds > 60) {
      return NONE;
    }
    if (!Arrays.equals(minute, 0, minute.length, text, from, second)
        || !Arrays.equals(offset, 0, offset.length, text, at, to)) {
      long read = readMinute(text, from, minuteLength, at, to);
      if (read == NONE) {
        return NONE;
      }
      minute = Arrays.copyOfRange(text, from, second);
      offset = Arrays.copyOfRange(text, at, to);
      minuteNanos = read;
    }
    long nanos = minuteNanos + seconds * SECOND + fraction;
    lastNanos = Math.max(lastNanos, nanos);
    return nanos;
  }

  private long readMinute(byte[] text, int from, int minuteLength, int offsetFrom, int to) {
    try {
      LocalDateTime local = minuteLength == 17 ? ofCommonLog(text, from) : ofIso(text, from);
      if (local == null) {
        return NONE;
      }
      ZoneOffset known = offsetOf(text, offsetFrom, to);
      if (known == null && to > offsetFrom) {
        return NONE;
      }
      if (shown == null) {
        shown = known == null ? zone : known;
      }
      return Math.multiplyExact(
          local.toEpochSecond(known == null ? offsetAt(local) : known), SECOND);
    } catch (DateTimeException | ArithmeticException e) {
      return NONE;
    }
  }

  /**
   * Returns the offset of a local time. When the clocks are set back, an hour occurs twice: if the
   * log has passed the first occurrence of this hour, returns the offset of the second occurrence.
   */
  private ZoneOffset offsetAt(LocalDateTime local) {
    ZoneOffsetTransition change = zone.getRules().getTransition(local);
    if (change == null || change.isGap()) {
      return zone.getRules().getOffset(local);
    }
    long first = local.toEpochSecond(change.getOffsetBefore()) * SECOND;
    long hour = 3600 * SECOND;
    return lastNanos != Long.MIN_VALUE && lastNanos - first > hour / 2
        ? change.getOffsetAfter()
        : change.getOffsetBefore();
  }

  private static @Nullable LocalDateTime ofCommonLog(byte[] text, int from) {
    int month = month(text, from + 3);
    boolean marks = text[from + 6] == '/' && text[from + 11] == ':' && text[from + 14] == ':';
    return marks && month > 0 ? at(text, from + 7, month, from, from + 12, from + 15) : null;
  }

  private static @Nullable LocalDateTime ofIso(byte[] text, int from) {
    int between = text[from + 10];
    boolean marks = text[from + 7] == '-' && (between == 'T' || between == ' ' || between == '\t');
    int month = (int) digits(text, from + 5, from + 7);
    return marks && text[from + 13] == ':'
        ? at(text, from, month, from + 8, from + 11, from + 14)
        : null;
  }

  private static LocalDateTime at(byte[] text, int year, int month, int day, int hour, int minute) {
    return LocalDateTime.of(
        LocalDate.of((int) digits(text, year, year + 4), month, (int) digits(text, day, day + 2)),
        LocalTime.of((int) digits(text, hour, hour + 2), (int) digits(text, minute, minute + 2)));
  }

  private static int month(byte[] text, int from) {
    for (int i = 0; i < MONTHS.length(); i += 3) {
      if (text[from] == MONTHS.charAt(i)
          && text[from + 1] == MONTHS.charAt(i + 1)
          && text[from + 2] == MONTHS.charAt(i + 2)) {
        return i / 3 + 1;
      }
    }
    return 0;
  }

  /**
   * Parses {@code Z}, {@code +0100}, {@code +01:00} or {@code UTC}; returns null for any other
   * text.
   */
  private static @Nullable ZoneOffset offsetOf(byte[] text, int from, int to) {
    String name = new String(text, from, Math.max(0, to - from), StandardCharsets.US_ASCII);
    if (name.equals("Z") || name.equals("UTC") || name.equals("GMT")) {
      return ZoneOffset.UTC;
    }
    boolean signed = name.startsWith("+") || name.startsWith("-");
    return signed ? ZoneOffset.of(name) : null;
  }

  private static long sinceEpoch(byte[] text, int from, int to) {
    int dot = from;
    while (dot < to && text[dot] != '.') {
      dot++;
    }
    long whole = digits(text, from, dot);
    if (whole < 0 && dot - from == MOST_DIGITS + 1) { // nanoseconds have 19 digits
      long high = digits(text, from, dot - 1);
      long last = digits(text, dot - 1, dot);
      whole = high < 0 || last < 0 || high > Long.MAX_VALUE / 10 - 1 ? -1 : high * 10 + last;
    }
    if (whole < 0) {
      return NONE;
    }
    if (whole >= NANOS_FROM) {
      return whole;
    }
    long unit = whole >= MICROS_FROM ? 1_000 : whole >= MILLIS_FROM ? 1_000_000 : SECOND;
    if (whole > Long.MAX_VALUE / unit - 1) {
      return NONE;
    }
    long fraction = 0;
    long digit = unit;
    for (int i = dot + 1; i < to; i++) {
      if (text[i] < '0' || text[i] > '9') {
        return NONE;
      }
      digit /= 10;
      fraction += digit * (text[i] - '0');
    }
    return whole * unit + fraction;
  }
}
