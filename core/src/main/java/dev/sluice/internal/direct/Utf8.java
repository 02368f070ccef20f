// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import java.io.ByteArrayOutputStream;

/**
 * UTF-8 encoding without loss: an unpaired surrogate is encoded in three bytes, where the JDK's
 * encoder writes a question mark. Two different texts never have the same bytes.
 */
final class Utf8 {

  private Utf8() {}

  static byte[] encode(CharSequence text) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(3 * text.length());
    text.codePoints().forEach(point -> encode(point, bytes));
    return bytes.toByteArray();
  }

  private static void encode(int point, ByteArrayOutputStream bytes) {
    if (point < 0x80) {
      bytes.write(point);
    } else if (point < 0x800) {
      bytes.write(0xc0 | (point >> 6));
      bytes.write(continuation(point));
    } else if (point < 0x10000) {
      bytes.write(0xe0 | (point >> 12));
      bytes.write(continuation(point >> 6));
      bytes.write(continuation(point));
    } else {
      bytes.write(0xf0 | (point >> 18));
      bytes.write(continuation(point >> 12));
      bytes.write(continuation(point >> 6));
      bytes.write(continuation(point));
    }
  }

  private static int continuation(int bits) {
    return 0x80 | (bits & 0x3f);
  }
}
