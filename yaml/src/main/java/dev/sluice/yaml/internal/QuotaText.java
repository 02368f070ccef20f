// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A quota as one line, such as {@code 10 per 1s, burst 20}. Immutable and thread-safe. */
public final class QuotaText {

  static final String EXPECTED =
      "COUNT per PERIOD, such as 10 per 1s, or 10 per 1s, burst 20, or {burst, count, period}";
  private static final Pattern TEXT =
      Pattern.compile("(\\d{1,64}) per (\\S{1,64}?)(?:, burst (\\d{1,64}))?");

  private final long burst;
  private final long count;
  private final Duration period;

  private QuotaText(long burst, long count, Duration period) {
    this.burst = burst;
    this.count = count;
    this.period = period;
  }

  /**
   * Parses a quota. A quota without a burst has a burst equal to its count.
   *
   * @param text {@code COUNT per PERIOD}, optionally followed by {@code , burst BURST}
   * @return the quota
   * @throws IllegalArgumentException if the text is not a quota; the message says what was found
   *     and what was expected
   */
  public static Quota parse(String text) {
    QuotaText read = read(text);
    return Quota.burst(read.burst).refill(read.count, read.period);
  }

  /** Returns the faults of the numbers in a text; empty if {@link #parse} accepts the text. */
  static List<Quota.Fault> faults(String text) {
    QuotaText read = read(text);
    return Quota.faults(read.burst, read.count, read.period);
  }

  private static QuotaText read(String text) {
    Matcher matcher = TEXT.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "found %s, expected %s".formatted(SafeText.quote(text), EXPECTED));
    }
    long count = number(matcher.group(1), text);
    long burst = matcher.group(3) == null ? count : number(matcher.group(3), text);
    try {
      return new QuotaText(burst, count, GoDuration.parse(matcher.group(2)));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("period: " + e.getMessage(), e);
    }
  }

  private static long number(String digits, String text) {
    try {
      return Long.parseLong(digits);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "found %s, expected numbers of at most 9223372036854775807 (64 bits)"
              .formatted(SafeText.quote(text)),
          e);
    }
  }

  /**
   * Formats a quota.
   *
   * @param quota the quota
   * @return a text that {@link #parse} accepts
   */
  public static String of(Quota quota) {
    String rate = "%s per %s".formatted(quota.count(), GoDuration.shortened(quota.period()));
    return quota.burst() == quota.count() ? rate : rate + ", burst " + quota.burst();
  }
}
