// SPDX-License-Identifier: Apache-2.0
package dev.sluice.wire;

import java.math.BigDecimal;

/** Seconds as decimal numbers. Stateless and thread-safe. */
final class Seconds {

  private static final int DIGITS_OF_NANOS = 9;
  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private Seconds() {}

  /**
   * Writes nanoseconds as seconds, exactly, without trailing zeros: {@code 28800}, {@code 0.05}.
   */
  static String format(long nanos) {
    if (nanos % NANOS_PER_SECOND == 0) {
      return Long.toString(nanos / NANOS_PER_SECOND); // as most times of an answer are
    }
    return BigDecimal.valueOf(nanos, DIGITS_OF_NANOS).stripTrailingZeros().toPlainString();
  }
}
