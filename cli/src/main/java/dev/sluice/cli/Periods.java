// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.text.GoDuration;
import java.time.Duration;

/** Options that are a span of time. Stateless. */
final class Periods {

  private Periods() {}

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
