// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Any bytes, as text: printable ASCII as it is, "%" and every other byte as {@code %XX}. */
final class BytesFormat implements IdFormat {

  static final BytesFormat INSTANCE = new BytesFormat();

  private static final String HEX = "0123456789ABCDEF";

  private BytesFormat() {}

  @Override
  public String name() {
    return "bytes";
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdFormat.requireLength(text, "bytes as text");
    String canonical = text(bytes(text));
    IdFormat.requireLength(canonical, "bytes as text");
    return strictness.canonical(text, canonical, name());
  }

  @Override
  public boolean isCanonical(byte[] ascii, int length) {
    for (int i = 0; i < length; i++) {
      if (!isPlain(ascii[i])) {
        return false; // or is, if it is an escape as we write them
      }
    }
    return length > 0 && length <= MAX_LENGTH;
  }

  static String text(byte[] bytes) {
    StringBuilder text = new StringBuilder(bytes.length + 16);
    for (byte b : bytes) {
      if (isPlain(b)) {
        text.append((char) b);
      } else {
        text.append('%').append(HEX.charAt((b & 0xff) >>> 4)).append(HEX.charAt(b & 0xf));
      }
    }
    return text.toString();
  }

  private static boolean isPlain(byte b) {
    return b >= ' ' && b < 0x7f && b != '%';
  }

  private static byte[] bytes(String text) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(text.length());
    for (int i = 0; i < text.length(); ) {
      int c = text.codePointAt(i);
      if (c == '%') {
        bytes.write(escaped(text, i));
        i += 3;
      } else if (Character.getType(c) == Character.SURROGATE) {
        throw new InvalidIdException(
            "invalid bytes, found half of a surrogate pair at position %s, expected Unicode text"
                .formatted(i + 1));
      } else {
        bytes.writeBytes(Character.toString(c).getBytes(StandardCharsets.UTF_8));
        i += Character.charCount(c);
      }
    }
    return bytes.toByteArray();
  }

  private static int escaped(String text, int at) {
    int high = at + 2 < text.length() ? digit(text.charAt(at + 1)) : -1;
    int low = high < 0 ? -1 : digit(text.charAt(at + 2));
    if (low < 0) {
      throw new InvalidIdException(
          "invalid bytes, %s has a %% without two hex digits at position %s; write %%25 for the character %%"
              .formatted(SafeText.quote(text), at + 1));
    }
    return high << 4 | low;
  }

  /** ASCII alone: Character.digit takes the digits of other scripts too. */
  private static int digit(char c) {
    return c < 0x80 ? Character.digit(c, 16) : -1;
  }
}
