// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import dev.sluice.text.GoDuration;
import dev.sluice.text.SafeText;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Limits as people type them: {@code 100/1h}, {@code 100/1h,burst=20}. */
public final class QuotaText {

  private static final Pattern FORM = Pattern.compile("(\\d{1,18})/([^,]+)(?:,burst=(\\d{1,18}))?");

  private QuotaText() {}

  /**
   * Returns whether a text is a quota, and not the name of a limit.
   *
   * @param text the text that somebody typed
   * @return true if the text has a slash, which no name has
   */
  public static boolean isMeant(String text) {
    return text.indexOf('/') >= 0;
  }

  /**
   * Reads a quota.
   *
   * @param text the count, a slash, and the period; the burst is the count unless the text says
   *     otherwise
   * @return the quota
   * @throws IllegalArgumentException for any other text; the message says which form is expected
   */
  public static Quota parse(String text) {
    Matcher parts = FORM.matcher(text);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "found %s, expected COUNT/PERIOD such as 100/1h, or 100/1h,burst=20"
              .formatted(SafeText.quote(text)));
    }
    long count = Long.parseLong(parts.group(1));
    Duration period = GoDuration.parse(parts.group(2));
    return Quota.of(parts.group(3) == null ? count : Long.parseLong(parts.group(3)), count, period);
  }

  /**
   * Writes a quota.
   *
   * @param quota the quota
   * @return text that {@link #parse} reads
   */
  public static String format(Quota quota) {
    String rate = quota.count() + "/" + Format.duration(quota.period().toNanos());
    return quota.burst() == quota.count() ? rate : rate + ",burst=" + quota.burst();
  }
}
