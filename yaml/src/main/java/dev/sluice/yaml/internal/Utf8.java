// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.scanner.StreamReader;

/** Decodes UTF-8, with or without a byte order mark. A control character is a mistake. */
final class Utf8 {

  private static final char BYTE_ORDER_MARK = '\ufeff';

  private Utf8() {}

  /** Returns the text; null after a mistake. Reports the mistake. */
  static @Nullable String decode(byte[] bytes, Problems problems) {
    if (isUtf16(bytes)) {
      problems.mistake("found UTF-16 or UTF-32, expected UTF-8");
      return null;
    }
    ByteBuffer in = ByteBuffer.wrap(bytes);
    CharBuffer out = CharBuffer.allocate(bytes.length);
    CoderResult result = StandardCharsets.UTF_8.newDecoder().decode(in, out, true);
    String text = out.flip().toString();
    int start = !text.isEmpty() && text.charAt(0) == BYTE_ORDER_MARK ? 1 : 0;
    int odd = firstUnprintable(text, start);
    if (odd < text.length()) {
      report(
          text,
          start,
          odd,
          String.format(
              Locale.ROOT,
              "found the control character U+%04X, expected text",
              text.codePointAt(odd)),
          problems);
      return null;
    }
    if (result.isError()) {
      report(
          text,
          start,
          odd,
          String.format(
              Locale.ROOT, "found the byte 0x%02x, expected text in UTF-8", bytes[in.position()]),
          problems);
      return null;
    }
    return text.substring(start);
  }

  /** Recognizes UTF-16 and UTF-32 by the byte order mark, or by NUL bytes beside ASCII. */
  private static boolean isUtf16(byte[] bytes) {
    if (bytes.length < 4) {
      return false;
    }
    int mark = (bytes[0] & 0xff) << 8 | (bytes[1] & 0xff);
    boolean evenNul = bytes[0] == 0 && bytes[2] == 0;
    boolean oddNul = bytes[1] == 0 && bytes[3] == 0;
    return mark == 0xfeff || mark == 0xfffe || evenNul != oddNul;
  }

  private static int firstUnprintable(String text, int start) {
    int i = start;
    while (i < text.length()) {
      int c = text.codePointAt(i);
      if (!StreamReader.isPrintable(c)) {
        return i;
      }
      i += Character.charCount(c);
    }
    return i;
  }

  private static void report(String text, int start, int at, String message, Problems problems) {
    int line = 1;
    int lineStart = start;
    for (int i = start; i < at; i++) {
      if (text.charAt(i) == '\n') {
        line++;
        lineStart = i + 1;
      }
    }
    problems.mistake(line, text.codePointCount(lineStart, at) + 1, message);
  }
}
