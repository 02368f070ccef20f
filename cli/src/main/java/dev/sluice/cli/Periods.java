// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.text.GoDuration;
import java.time.Duration;

/** Spans of time, as options give them and as people read them. Stateless. */
final class Periods {

  private static final long HOURS_PER_DAY = 24;

  private Periods() {}

  /**
   * Writes a duration for people, in a form that limit files take: {@code 1m}, {@code 1h30m},
   * {@code 24h}, and {@code 7d} for two days and more.
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
}
