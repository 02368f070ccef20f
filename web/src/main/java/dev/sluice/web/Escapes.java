// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Decodes the escapes of URLs and cookies. Takes time linear in the text's length. */
final class Escapes {

  private static final Pattern RUN = Pattern.compile("(?:%[0-9A-Fa-f]{2})+");
  private static final Pattern SLASHED = Pattern.compile("\\\\([0-3][0-7]{2}|.)", Pattern.DOTALL);

  private Escapes() {}

  /** Decodes percent escapes of UTF-8, keeping plus signs; null for a malformed escape. */
  static @Nullable String decoded(String text) {
    return percent(text, false, true);
  }

  /** Decodes each run of consecutive escapes in a charset, and keeps the text between the runs. */
  static String inRuns(String text, Charset charset) {
    return RUN.matcher(text)
        .replaceAll(
            run -> {
              byte[] bytes = HexFormat.of().parseHex(run.group().replace("%", ""));
              return Matcher.quoteReplacement(new String(bytes, charset));
            });
  }

  /** Decodes all bytes together in a charset, including the bytes between the escapes. */
  static String asAWhole(String text, Charset charset) {
    return new String(
        inRuns(text, StandardCharsets.ISO_8859_1).getBytes(StandardCharsets.ISO_8859_1), charset);
  }

  /** Decodes a form's value, in which a plus is a space; null for a malformed escape. */
  static @Nullable String ofForm(String text) {
    return percent(text, true, true);
  }

  /** Decodes a form's value; if it is not UTF-8, only replaces plus signs. */
  static @Nullable String ofUtf8Form(String text) {
    String decoded = ofForm(text);
    boolean replaced = decoded != null && decoded.indexOf('\uFFFD') >= 0;
    return replaced ? text.replace('+', ' ') : decoded;
  }

  /** Decodes a text as lenient applications do, which keep malformed escapes unchanged. */
  static String lenient(String text, boolean plusIsSpace) {
    String decoded = percent(text, plusIsSpace, false);
    return decoded == null ? text : decoded;
  }

  /** Decodes percent escapes; an unescaped character beyond ASCII stands for its UTF-8 bytes. */
  private static @Nullable String percent(String text, boolean plusIsSpace, boolean strict) {
    if (text.chars().allMatch(c -> c != '%' && c < 0x80 && !(plusIsSpace && c == '+'))) {
      return text; // nearly all texts contain no escape
    }
    ByteBuffer bytes = ByteBuffer.allocate(3 * text.length());
    ByteBuffer ofBytes = ByteBuffer.allocate(3 * text.length());
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      int value = c == '%' ? hexadecimal(text, i + 1) : -1;
      if (c == '%' && value < 0 && strict) {
        return null;
      }
      if (value >= 0) {
        bytes.put((byte) value);
        ofBytes.put((byte) value);
        i += 2;
      } else {
        int end = Character.isHighSurrogate(c) && i + 1 < text.length() ? i + 2 : i + 1;
        String one = plusIsSpace && c == '+' ? " " : text.substring(i, end);
        i = end - 1;
        bytes.put(one.getBytes(StandardCharsets.UTF_8));
        ofBytes.put(one.getBytes(c < 0x100 ? StandardCharsets.ISO_8859_1 : StandardCharsets.UTF_8));
      }
    }
    String whole = wellFormed(ofBytes.flip());
    return whole != null ? whole : StandardCharsets.UTF_8.decode(bytes.flip()).toString();
  }

  private static @Nullable String wellFormed(ByteBuffer bytes) {
    try {
      CharBuffer text = StandardCharsets.UTF_8.newDecoder().decode(bytes);
      return text.toString();
    } catch (CharacterCodingException e) {
      return null;
    }
  }

  private static int hexadecimal(String text, int start) {
    if (start + 2 > text.length()) {
      return -1;
    }
    int high = digit(text.charAt(start));
    int low = digit(text.charAt(start + 1));
    return high < 0 || low < 0 ? -1 : 16 * high + low;
  }

  private static int digit(char c) {
    return c < 0x80 ? Character.digit(c, 16) : -1;
  }

  /** Decodes a quoted cookie, in which a backslash precedes three octal digits or one character. */
  static String unslashed(String text) {
    return SLASHED
        .matcher(text)
        .replaceAll(
            escape -> {
              String escaped = escape.group(1);
              return Matcher.quoteReplacement(
                  escaped.length() == 3
                      ? Character.toString(Integer.parseInt(escaped, 8))
                      : escaped);
            });
  }
}
