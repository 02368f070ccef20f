// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads and writes durations in Go's syntax ({@code 1h30m}, {@code 250ms}), for limit files and
 * denial messages, and checks durations of settings. {@link #parse} also accepts days of 24 hours
 * ({@code 7d}), which Go does not have, and ISO-8601 ({@code PT3H}).
 *
 * <p>Source: the documentation of Go's {@code time.ParseDuration} and {@code Duration.String}.
 */
public final class GoDuration {

  private static final int LONGEST = 64;
  private static final Pattern PART =
      Pattern.compile("(\\d+(?:\\.\\d*)?|\\.\\d+)(ns|us|µs|μs|ms|s|m|h|d)");
  private static final Pattern WHOLE = Pattern.compile("(?:" + PART.pattern() + ")+");
  private static final Pattern ISO = Pattern.compile("P[0-9DTHMSdthms.]+");

  private static final long MICRO = 1_000;
  private static final long MILLI = 1_000_000;
  private static final long SECOND = 1_000_000_000;

  private static final Duration LONGEST_SETTING = Duration.ofNanos(Long.MAX_VALUE);

  private GoDuration() {}

  /**
   * Throws if the duration of a setting is not positive, or too long for a {@code long} of
   * nanoseconds.
   *
   * @param field the name of the setting, for the message
   * @return the value, from 1 to 2^63 − 1 ns (about 292 years)
   * @throws IllegalArgumentException for a duration out of its range
   */
  public static Duration positive(String field, Duration found) {
    if (found.isNegative() || found.isZero() || found.compareTo(LONGEST_SETTING) > 0) {
      throw new IllegalArgumentException(
          "%s: found %s, expected a duration > 0 and at most 292 years".formatted(field, found));
    }
    return found;
  }

  /**
   * Reads a duration.
   *
   * @param text the duration, without a sign; at most 64 characters
   * @return the duration, from 0 to 2^63 − 1 ns; fractions of a nanosecond are cut off
   * @throws IllegalArgumentException if the text is not a duration; the message contains examples
   */
  public static Duration parse(String text) {
    if (text.length() <= LONGEST) {
      if (text.equals("0")) {
        return Duration.ZERO;
      }
      if (WHOLE.matcher(text).matches()) {
        return inRange(text, parseGo(text));
      }
      if (ISO.matcher(text).matches()) {
        try {
          Duration parsed = Duration.parse(text);
          return inRange(
              text,
              BigInteger.valueOf(parsed.getSeconds())
                  .multiply(BigInteger.valueOf(SECOND))
                  .add(BigInteger.valueOf(parsed.getNano())));
        } catch (DateTimeParseException | ArithmeticException e) {
          // The text is neither Go's syntax nor ISO-8601: the exception below names both.
        }
      }
    }
    throw new IllegalArgumentException(
        "found %s, expected a duration such as 1s, 180m, 1h30m, 7d, 250ms or PT3H"
            .formatted(SafeText.quote(text)));
  }

  private static BigInteger parseGo(String text) {
    BigInteger nanos = BigInteger.ZERO;
    Matcher part = PART.matcher(text);
    while (part.find()) {
      BigDecimal unit = BigDecimal.valueOf(unitNanos(part.group(2)));
      nanos = nanos.add(new BigDecimal(part.group(1)).multiply(unit).toBigInteger());
    }
    return nanos;
  }

  private static long unitNanos(String unit) {
    return switch (unit) {
      case "ns" -> 1;
      case "us", "µs", "μs" -> MICRO;
      case "ms" -> MILLI;
      case "s" -> SECOND;
      case "m" -> 60 * SECOND;
      case "h" -> 3600 * SECOND;
      default -> 24 * 3600 * SECOND;
    };
  }

  private static Duration inRange(String text, BigInteger nanos) {
    if (nanos.bitLength() > 63) {
      throw new IllegalArgumentException(
          "found %s, expected at most 9223372036854775807 ns (about 292 years)"
              .formatted(SafeText.quote(text)));
    }
    return Duration.ofNanos(nanos.longValueExact());
  }

  /**
   * Writes a duration as Go prints it: {@code 168h0m0s}, {@code 1.5s}, {@code 250ms}, {@code 0s}.
   */
  public static String format(Duration duration) {
    long nanos = duration.toNanos();
    if (nanos < SECOND) {
      if (nanos == 0) {
        return "0s";
      }
      if (nanos < MICRO) {
        return nanos + "ns";
      }
      return nanos < MILLI ? decimal(nanos, MICRO) + "µs" : decimal(nanos, MILLI) + "ms";
    }
    long hours = nanos / (3600 * SECOND);
    long minutes = nanos / (60 * SECOND) % 60;
    String seconds = decimal(nanos % (60 * SECOND), SECOND) + "s";
    if (hours > 0) {
      return hours + "h" + minutes + "m" + seconds;
    }
    return minutes > 0 ? minutes + "m" + seconds : seconds;
  }

  /**
   * Formats a duration without zero parts at the end: {@code 1h}, {@code 1h30m}.
   *
   * @return the text, which {@link #parse} reads
   */
  public static String shortened(Duration duration) {
    String text = format(duration);
    int zeros = text.endsWith("h0m0s") ? 4 : text.endsWith("m0s") ? 2 : 0;
    return text.substring(0, text.length() - zeros);
  }

  /** Formats nanoseconds in a larger unit; must be fast, since HTTP decisions call this method. */
  private static String decimal(long nanos, long unit) {
    long whole = nanos / unit;
    long rest = nanos % unit;
    if (rest == 0) {
      return Long.toString(whole);
    }
    String digits = Long.toString(unit + rest).substring(1); // keeps the leading zeros
    int end = digits.length();
    while (digits.charAt(end - 1) == '0') {
      end--;
    }
    return whole + "." + digits.substring(0, end);
  }
}
