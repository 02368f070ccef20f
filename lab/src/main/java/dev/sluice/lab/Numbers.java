// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Locale;

/** Numbers for people: the same text on every JDK and in every country. Pure and thread-safe. */
public final class Numbers {

  private Numbers() {}

  /**
   * A whole number with its thousands apart.
   *
   * @param number the number
   * @return the text
   */
  public static String whole(long number) {
    return String.format(Locale.ROOT, "%,d", number);
  }

  /**
   * A number to about three digits.
   *
   * @param number finite, not negative
   * @return the text
   */
  public static String brief(double number) {
    if (number >= 100) {
      return whole(Math.round(number));
    }
    return scaled(number, number >= 10 ? 1 : 2);
  }

  /**
   * A share in percent.
   *
   * @param share 0 to 1
   * @return the text with its sign
   */
  public static String percent(double share) {
    return scaled(100 * share, 1) + " %";
  }

  /** At most so many digits after the point, without zeros at the end. */
  static String scaled(double number, int digits) {
    BigDecimal rounded = new BigDecimal(number).setScale(digits, RoundingMode.HALF_UP);
    return rounded.signum() == 0 ? "0" : rounded.stripTrailingZeros().toPlainString();
  }
}
