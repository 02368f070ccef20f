package dev.sluice.server.resp;

import dev.sluice.limit.IdFormat;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * Ids from keys. A key is any bytes, an id is text: bytes that are no printable UTF-8, and each
 * {@code %}, are written as {@code %} and two hex digits, so that two keys never share a bucket.
 * Stateless and thread-safe.
 */
final class Keys {

  private static final HexFormat HEX = HexFormat.of().withUpperCase();

  /** What no other key becomes: two digits follow each other "%". */
  private static final String EMPTY = "%";

  private Keys() {}

  /** The id of a key, which need not fit {@link IdFormat#MAX_LENGTH}. */
  static String id(byte[] bytes, int start, int length) {
    for (int i = start; i < start + length; i++) {
      if (!isPlain(bytes[i])) {
        return unusual(bytes, start, length);
      }
    }
    return length == 0 ? EMPTY : new String(bytes, start, length, StandardCharsets.US_ASCII);
  }

  private static boolean isPlain(byte b) {
    return b >= ' ' && b < 0x7f && b != '%';
  }

  private static String unusual(byte[] bytes, int start, int length) {
    StringBuilder id = new StringBuilder(length + 16);
    int at = start;
    int end = start + length;
    while (at < end) {
      int size = characterSize(bytes, at, end);
      if (size == 0) {
        id.append('%');
        HEX.toHexDigits(id, bytes[at]);
        at++;
      } else {
        id.append(new String(bytes, at, size, StandardCharsets.UTF_8));
        at += size;
      }
    }
    return id.toString();
  }

  /** The bytes of the printable character that begins here; 0 if there is none. */
  private static int characterSize(byte[] bytes, int at, int end) {
    byte first = bytes[at];
    if (first >= 0) {
      return isPlain(first) ? 1 : 0;
    }
    int size = first >= (byte) 0xF0 ? 4 : first >= (byte) 0xE0 ? 3 : first >= (byte) 0xC2 ? 2 : 0;
    if (size == 0 || at + size > end) {
      return 0;
    }
    try {
      String text =
          StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes, at, size)).toString();
      return text.codePointCount(0, text.length()) == 1
              && !Character.isISOControl(text.codePointAt(0))
          ? size
          : 0;
    } catch (CharacterCodingException e) {
      return 0;
    }
  }
}
