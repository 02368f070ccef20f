// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Parses durations, quotas, shares and words of options, and formats durations for people. */
final class Quantities {

  private static final Pattern QUOTA =
      Pattern.compile("(\\d{1,18})/([^,]+)(?:,burst=(\\d{1,18}))?");
  private static final Pattern PERCENT = Pattern.compile("([0-9]{1,3}(?:[.][0-9]{1,9})?)\\s*%");
  private static final long HOURS_PER_DAY = 24;
  private static final long SECONDS_PER_MINUTE = 60;
  private static final long SECONDS_PER_HOUR = 3600;
  private static final long SECONDS_PER_DAY = 86_400;

  private Quantities() {}

  /**
   * Formats a duration for people, in a form that limit files accept: {@code 1m}, {@code 1h30m},
   * {@code 24h}, and {@code 7d} for two or more whole days.
   */
  static String brief(Duration duration) {
    long hours = duration.toHours();
    if (hours > HOURS_PER_DAY
        && hours % HOURS_PER_DAY == 0
        && duration.equals(Duration.ofHours(hours))) {
      return hours / HOURS_PER_DAY + "d";
    }
    return GoDuration.shortened(duration);
  }

  /** Parses the duration of an option, which must be positive. */
  static Duration positive(String option, String text) {
    Duration period;
    try {
      period = GoDuration.parse(text);
    } catch (IllegalArgumentException e) {
      throw new InputException(option + ": " + e.getMessage());
    }
    if (period.isZero() || period.isNegative()) {
      throw new InputException(option + ": found " + text + ", expected a duration > 0");
    }
    return period;
  }

  /**
   * Formats a duration in at most two units, rounded up: {@code 30 s}, {@code 1 min 30 s}, {@code 2
   * h 5 min}, {@code 3 d 4 h}.
   */
  static String rounded(long nanos) {
    long millis = roundedUp(nanos, TimeUnit.MILLISECONDS.toNanos(1));
    if (millis < TimeUnit.SECONDS.toMillis(1)) {
      return millis + " ms";
    }
    long seconds = roundedUp(nanos, TimeUnit.SECONDS.toNanos(1));
    if (seconds < SECONDS_PER_HOUR) {
      return two(seconds, SECONDS_PER_MINUTE, "min", 1, "s");
    }
    // Rounds up to minutes before the unit is chosen: 23 h 59 min 56 s is 1 d, not 24 h.
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

  /**
   * Parses the percentage of an option, such as {@code 99.9%}, without its sign.
   *
   * @param expected which percentages the option accepts, for the message of a mistake
   */
  static BigDecimal percent(String option, String text, String expected) {
    Matcher parts = PERCENT.matcher(text);
    if (!parts.matches()) {
      throw new InputException(
          "%s: found %s, expected %s".formatted(option, SafeText.quote(text), expected));
    }
    return new BigDecimal(parts.group(1));
  }

  /** Parses the word of an option: the name of a constant in any case, with hyphens. */
  static <E extends Enum<E>> E word(String option, String text, Class<E> type) {
    List<String> words = new ArrayList<>();
    for (E constant : type.getEnumConstants()) {
      String word = constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
      if (word.equalsIgnoreCase(text)) {
        return constant;
      }
      words.add(word);
    }
    String last = words.remove(words.size() - 1);
    throw new InputException(
        "%s: found %s, expected %s or %s"
            .formatted(option, SafeText.quote(text), String.join(", ", words), last));
  }

  /** Whether a text is a quota, not a limit's name: only a quota contains a slash. */
  static boolean isQuota(String text) {
    return text.indexOf('/') >= 0;
  }

  /**
   * Reads a quota: {@code 100/1h}, or {@code 100/1h,burst=20} if the burst is not the count.
   *
   * @throws IllegalArgumentException if the text is not a quota; the message states the expected
   *     form
   */
  static Quota quota(String text) {
    Matcher parts = QUOTA.matcher(text);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "found %s, expected COUNT/PERIOD such as 100/1h, or 100/1h,burst=20"
              .formatted(SafeText.quote(text)));
    }
    String count = parts.group(1);
    String burst = parts.group(3) == null ? count : parts.group(3);
    return Quota.burst(Long.parseLong(burst))
        .refill(Long.parseLong(count), GoDuration.parse(parts.group(2)));
  }
}
