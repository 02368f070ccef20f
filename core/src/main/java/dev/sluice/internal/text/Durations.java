// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import java.time.Duration;

/** Checks durations in settings. */
public final class Durations {

  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE);

  private Durations() {}

  /**
   * Throws if a duration is not positive, or too long for a {@code long} of nanoseconds.
   *
   * @param field the name of the setting, for the message
   * @return the value, from 1 to 2^63 − 1 ns (about 292 years)
   * @throws IllegalArgumentException for a duration out of its range
   */
  public static Duration positive(String field, Duration found) {
    if (found.isNegative() || found.isZero() || found.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "%s: found %s, expected a duration > 0 and at most 292 years".formatted(field, found));
    }
    return found;
  }
}
