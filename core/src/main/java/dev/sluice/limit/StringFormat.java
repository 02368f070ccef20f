// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Locale;

/** Any text, taken as it is. Text that could be written in two ways as bytes is rejected. */
final class StringFormat implements IdFormat {

  static final StringFormat INSTANCE = new StringFormat();

  private static final VarHandle WORD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long EACH = 0x0101010101010101L;
  private static final long HIGH_BITS = EACH << 7;

  private StringFormat() {}

  @Override
  public String name() {
    return "string";
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdFormat.requireLength(text, "a text");
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (Character.isISOControl(c)) { // also the second range, U+0080 to U+009F
        throw new InvalidIdException(
            String.format(
                Locale.ROOT,
                "invalid string, %s has the control character U+%04X at position %d",
                SafeText.quote(text),
                (int) c,
                i + 1));
      }
      if (Character.isSurrogate(c)) {
        // Lone surrogates all become "?" in UTF-8: different ids would share a bucket.
        if (i + 1 == text.length() || !Character.isSurrogatePair(c, text.charAt(i + 1))) {
          throw new InvalidIdException(
              "invalid string, found half of a surrogate pair at position %s, expected Unicode text"
                  .formatted(i + 1));
        }
        i++;
      }
    }
    return text;
  }

  /** Eight at a time where there are eight; the last ones twice rather than one by one. */
  @Override
  public boolean isCanonical(byte[] ascii, int length) {
    if (length < 8) {
      return length > 0 && isPrintable(ascii, length);
    }
    long printable = printable((long) WORD.get(ascii, length - 8));
    for (int at = 0; at < length - 8; at += 8) {
      printable &= printable((long) WORD.get(ascii, at));
    }
    return printable == HIGH_BITS && length <= MAX_LENGTH;
  }

  private static boolean isPrintable(byte[] ascii, int length) {
    for (int i = 0; i < length; i++) {
      if (ascii[i] < ' ' || ascii[i] == 0x7f) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns a word with the high bit set for each byte that is not a control character. Each is
   * below 0x80, so that no sum goes over to the next: 0x60 more sets the bit from 0x20 on, 1 more
   * sets it for 0x7f alone.
   */
  private static long printable(long word) {
    return (word + 0x60 * EACH) & ~(word + EACH) & HIGH_BITS;
  }
}
