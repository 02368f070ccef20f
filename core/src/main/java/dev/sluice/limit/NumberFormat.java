// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import java.util.function.UnaryOperator;

/** Whole numbers in decimal digits, canonical without a plus sign or leading zeros. */
final class NumberFormat implements IdFormat {

  static final NumberFormat REG_ID =
      new NumberFormat(
          "regId",
          "an ACME registration Id, an unsigned 64-bit decimal number",
          text -> Long.toUnsignedString(Long.parseUnsignedLong(text)));

  static final NumberFormat INTEGER =
      new NumberFormat(
          "integer", "a signed 64-bit decimal number", text -> Long.toString(Long.parseLong(text)));

  private static final int DIGITS_OF_LONG = 19;

  private final String name;
  private final String expected;
  private final UnaryOperator<String> canonicalDigits;

  private NumberFormat(String name, String expected, UnaryOperator<String> canonicalDigits) {
    this.name = name;
    this.expected = expected;
    this.canonicalDigits = canonicalDigits;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdFormat.requireLength(text, expected + " (" + name + ")");
    if (!isAsciiNumber(text)) {
      throw notANumber(text);
    }
    String canonical;
    try {
      canonical = canonicalDigits.apply(text);
    } catch (NumberFormatException e) {
      throw notANumber(text);
    }
    return strictness.canonical(text, canonical, name);
  }

  /** The JDK's parsers take the digits of every script, and a plus sign; ids are plain ASCII. */
  private boolean isAsciiNumber(String text) {
    int first = this == INTEGER && text.charAt(0) == '-' ? 1 : 0;
    return text.length() > first && text.chars().skip(first).allMatch(c -> c >= '0' && c <= '9');
  }

  private InvalidIdException notANumber(String text) {
    return new InvalidIdException(
        "invalid %s, %s is not %s".formatted(name, SafeText.quote(text), expected));
  }

  @Override
  public boolean isCanonical(byte[] ascii, int length) {
    for (int i = 0; i < length; i++) {
      if (ascii[i] < '0' || ascii[i] > '9') {
        return false;
      }
    }
    boolean leadingZero = length > 1 && ascii[0] == '0';
    return length > 0 && length < DIGITS_OF_LONG && !leadingZero;
  }
}
